"""Analyses of a schedule: time, traffic and reuse, causes of stalls, shadow prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.analysis import Analysis
    from spmopt.analysis.explanation import Explanation
    from spmopt.analysis.shadow_prices import ShadowPrices
    from spmopt.reporting.tables import Part

PER = {
    "operation": "each operation, in the order of the schedule",
    "layer": "each operation with its gradients, forward and backward",
    "tensor": "each tensor",
}


@dataclass(frozen=True, eq=False, repr=False)
class Breakdowns(Shown):
    """Time, traffic and reuse of a schedule, by kinds of operations and by scopes.

    Attributes
    ----------
    solution
        Analyzed schedule.
    analysis
        All figures, as arrays.
    per
        Unit of the rows: a key of :data:`PER`, or None for the tables alone.
    """

    solution: Solution
    analysis: Analysis
    per: str | None = None

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield the tables."""
        from spmopt.reporting.analysis import analysis_parts

        del width
        yield from analysis_parts(self.analysis, self.solution.result, self.per)

    def record(self) -> Mapping[str, object]:
        """Return all figures, as ``spmopt analyze --json``."""
        from spmopt.reporting.analysis import analysis_record

        return analysis_record(self.analysis, self.solution.result, self.per)

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return a row for each operation, layer or tensor, as ``per`` says."""
        from spmopt.reporting.analysis import detail, records

        return records(detail(self.analysis, self.per or "operation"))

    def save_csv(self, path: str | Path) -> None:
        """Write :meth:`rows` as CSV."""
        from spmopt.io.document import write_text
        from spmopt.reporting.analysis import detail
        from spmopt.reporting.tables import csv_text

        write_text(Path(path), csv_text(detail(self.analysis, self.per or "operation")))


@check
def analyze(solution: Solution, *, per: str | None = None) -> Breakdowns:
    """Break down time, traffic and reuse of a schedule.

    Parameters
    ----------
    solution
        Solution, from :func:`solve` or :func:`read`.
    per
        Also show figures of each operation, layer or tensor.

    Returns
    -------
    Breakdowns
        Tables, and rows by ``per``.

    Raises
    ------
    InputError
        There is no schedule, or no such ``per``.
    """
    from spmopt.analysis import Analysis
    from spmopt.core.errors import unknown

    if per is not None and per not in PER:
        raise unknown("choice for per", per, PER)
    problem = solution.problem
    return Breakdowns(solution, Analysis.of(problem, solution.schedule), per)


@dataclass(frozen=True, eq=False, repr=False)
class Stalls(Shown):
    """Stalls of a schedule, their causes, and shadow prices of resources.

    Attributes
    ----------
    solution
        Explained schedule.
    explanation
        All figures, as arrays.
    shadow_prices
        Shadow prices of scratchpad and bandwidth; None without a certificate for its order.
    steps
        Steps that are shown.
    in_full
        Whether all of their transfers are shown.
    """

    solution: Solution
    explanation: Explanation
    shadow_prices: ShadowPrices | None
    steps: Sequence[int]
    in_full: bool = False

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield the summary, the steps and the shadow prices."""
        from spmopt.reporting.explanation import explanation_parts

        del width
        yield from explanation_parts(
            self.explanation,
            self.shadow_prices,
            self.solution.result,
            self.steps,
            in_full=self.in_full,
        )

    def record(self) -> Mapping[str, object]:
        """Return all figures, as ``spmopt explain --json``."""
        from spmopt.reporting.explanation import explanation_record

        return explanation_record(
            self.explanation, self.shadow_prices, self.solution.result, self.steps
        )

    def save_csv(self, path: str | Path) -> None:
        """Write every transfer that a step waits for as CSV."""
        from spmopt.io.document import write_text
        from spmopt.reporting.explanation import csv_text

        steps = self.steps if self.in_full else None
        write_text(Path(path), csv_text(self.explanation, steps))


@check
def explain(solution: Solution, *, top: int = 5, step: int | None = None) -> Stalls:
    """Explain the stalls of a schedule, and the worth of more scratchpad and bandwidth.

    Parameters
    ----------
    solution
        Solution, from :func:`solve` or :func:`read`.
    top
        Number of steps to show, those with the longest stalls.
    step
        Show this step instead, counted from 0, in full.

    Returns
    -------
    Stalls
        Causes, steps and shadow prices.

    Raises
    ------
    InputError
        There is no schedule or no such step.
    """
    from spmopt.analysis.explanation import Explanation
    from spmopt.analysis.shadow_prices import ShadowPrices

    problem, schedule, result = solution.problem, solution.schedule, solution.result
    if top < 1:
        raise ArgumentError("top", f" {top}: must be at least 1")
    found = Explanation.of(problem, schedule, result.objective, result.fusion_certificate)
    count = len(schedule.steps)
    if step is not None and not 0 <= step < count:
        raise ArgumentError("step", f" {step}: there are steps 0 to {count - 1}")
    duals = ShadowPrices.of_result(problem, result)
    steps = found.largest(top) if step is None else [step]
    return Stalls(solution, found, duals, steps, in_full=step is not None)
