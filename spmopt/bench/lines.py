"""From runs to a line of a table: medians, and the targets that they miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from spmopt.bench.record import Runs
from spmopt.bench.suite import Figure, Figures, Row, Suite, Target


@dataclass(frozen=True, kw_only=True)
class Line:
    """Figures of a row, over its runs; ``error`` is among them if a run failed."""

    row: Row
    figures: Figures
    missed: tuple[Target, ...]

    @property
    def mark(self) -> str:
        """``pass``, ``miss`` or ``failed``; ``done`` where there was no target."""
        if "error" in self.figures:
            return "failed"
        if self.missed:
            return "miss"
        return "pass" if self.row.targets else "done"


def line(suite: Suite, row: Row, runs: Runs) -> Line:
    """Fold the runs of ``row``, and hold them against its targets."""
    folded = {label: fold(figures) for label, figures in runs.items()}
    measured = {
        f"{label}.{name}" if label else name: value
        for label, figures in folded.items()
        for name, value in figures.items()
    }
    return _derived(suite, row, measured, list(folded.values()))


def total(suite: Suite, row: Row, lines: Mapping[str, Line]) -> Line:
    """Add up the figures of the lines that ``row`` names."""
    parts = [lines[name].figures for name in row.sums]
    names = dict.fromkeys(name for figures in parts for name in figures)
    sums = {name: summed([figures.get(name) for figures in parts]) for name in names}
    return _derived(suite, row, sums, parts)


def _derived(suite: Suite, row: Row, measured: Figures, parts: Sequence[Figures]) -> Line:
    errors = [figures["error"] for figures in parts if "error" in figures]
    more = {"error": errors[0]} if errors else suite.derive(measured)
    figures = {**measured, **more}
    missed = tuple(target for target in row.targets if not target.met(figures))
    return Line(row=row, figures=figures, missed=missed)


def summed(values: Sequence[Figure]) -> Figure:
    """The sum; of yes and no, the worst. Nothing if one is no number."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        return None
    if all(isinstance(value, bool) for value in numbers):
        return all(numbers)
    return sum(numbers)


def fold(runs: Sequence[Figures]) -> dict[str, Figure]:
    """One figure for each name: the median; of gaps, and of yes and no, the worst.

    What is not known in every run is not known.
    """
    names = dict.fromkeys(name for figures in runs for name in figures)
    return {name: _fold(name, [figures.get(name) for figures in runs]) for name in names}


def _fold(name: str, values: Sequence[Figure]) -> Figure:
    texts = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    if texts:
        return "; ".join(texts)
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        return None
    if all(isinstance(value, bool) for value in numbers):
        return all(numbers)
    return max(numbers) if name.endswith("gap") else median(numbers)
