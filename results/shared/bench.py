"""What all benches share: each measurement in a process of its own, medians, targets, a table."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any, TypeVar

from results.shared.page import (
    BEGIN,
    END,
    Table,
    collect,
    environment,
    named,
    replace_tables,
    tell,
    where,
)
from spmopt.core.clock import cpu_s
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine

T = TypeVar("T")
Figures = Mapping[str, Any]
"""Numbers, also true and false, texts, or None where nothing is known."""
Runs = Mapping[str, Sequence[Figures]]
NETWORKS = ("resnet50", "mobilenetv2", "transformer")
GNMT: tuple[Mapping[str, int], ...] = ({"plain": 1}, {})
"""Without and with the second direction and residual connections: 18,619, 22,357 operations."""
FORMS: Mapping[str, Callable[[Any], str]] = {
    "s": lambda value: f"{value:.2f}",
    "%": lambda value: f"{round(100 * value, 9):.3g}",  # less is rounding of the solver
    "ms": lambda value: f"{value:#.5g}",
    "n": lambda value: f"{value:,.0f}",
    "x": lambda value: f"{value:.1f}",
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a table.

    Attributes
    ----------
    cells
        Texts of its first columns; together they name it.
    parts
        Measurements by label; a figure of a part with a label is called ``label.figure``.
    targets
        What figures are to reach, as ``≤ 1`` or ``≥ 10``.
    sums
        Names of lines before this one: its figures are the sums of theirs.
    """

    cells: tuple[str, ...]
    parts: Mapping[str, Callable[..., Figures]]
    targets: Mapping[str, str]
    sums: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Unique in its bench."""
        return " ".join(self.cells)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Figures of a line over its runs, with ``error`` if one failed, and targets missed."""

    line: Line
    figures: Figures
    runs: Runs

    @property
    def missed(self) -> list[str]:
        """Figures that do not reach their targets."""
        return [name for name, target in self.line.targets.items() if not self._met(name, target)]

    def _met(self, name: str, target: str) -> bool:
        figure, (sign, value) = self.figures.get(name), target.split()
        if not isinstance(figure, int | float):
            return False
        return figure >= float(value) if sign == "≥" else figure <= float(value)

    @property
    def mark(self) -> str:
        """``failed``, ``miss`` or ``pass``; ``done`` where there was no target."""
        if "error" in self.figures:
            return "failed"
        return "miss" if self.missed else "pass" if self.line.targets else "done"

    def cell(self, name: str, heading: str) -> str:
        """A figure as text, with its target in brackets, bold when missed."""
        value, target, form = self.figures.get(name), self.line.targets.get(name), form_of(heading)
        text = "-" if value is None else str(value)
        if isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, int | float):
            text = FORMS[form](value)
        if target is None:
            return text
        sign, limit = target.split()
        scaled = FORMS["n"](float(limit)) if form == "n" else f"{float(limit) * _scale(form):g}"
        return f"{f'**{text}**' if name in self.missed else text} ({sign} {scaled})"

    def record(self, heads: Sequence[str]) -> dict[str, Any]:
        """Everything measured, as JSON values."""
        return {
            "name": self.line.name,
            "case": dict(zip(heads, self.line.cells, strict=True)),
            "mark": self.mark,
            "targets": [
                {"figure": name, "target": target, "met": name not in self.missed}
                for name, target in self.line.targets.items()
            ],
            "figures": self.figures,
            "runs": self.runs,
        }


def _scale(form: str) -> int:
    return 100 if form == "%" else 1


def form_of(heading: str) -> str:
    """How a column shows numbers: told behind ``|``, else percent, else seconds."""
    _, _, told = heading.partition("|")
    return told or ("%" if heading.endswith("%") else "s")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A table to measure.

    Attributes
    ----------
    file
        The script: its folder has ``rows.json`` and the page ``README.md``.
    heads
        Headings of the lines' cells.
    columns
        Headings by figure, with the form of :data:`FORMS` behind ``|`` where it needs one.
    quick
        A measurement within seconds.
    derive
        Further figures of a line from those measured.
    seeded
        Whether parts take the number of the run as ``seed``.
    versions
        Of what is measured with beside packages.
    peered
        The lines with another program measured beside, by its command.
    """

    file: str
    heads: Sequence[str]
    lines: Sequence[Line]
    columns: Mapping[str, str]
    quick: Callable[..., Figures]
    derive: Callable[[Figures], Figures] = lambda figures: {}
    seeded: bool = False
    versions: Callable[[], Mapping[str, str]] = dict
    peered: Callable[[str], Sequence[Line]] | None = None

    @property
    def folder(self) -> Path:
        """Where what was measured and the page are."""
        return Path(self.file).parent

    def outcomes(self, runs: Mapping[str, Runs]) -> list[Outcome]:
        """Fold runs by line and label into lines of the table."""
        found: dict[str, Outcome] = {}
        for line in (line for line in self.lines if line.name in runs):
            if line.sums:
                parts = [found[name].figures for name in line.sums]
                names = dict.fromkeys(name for figures in parts for name in figures)
                measured = {name: summed([each.get(name) for each in parts]) for name in names}
            else:
                parts = [fold(some) for some in runs[line.name].values()]
                measured = {
                    f"{label}.{name}" if label else name: value
                    for label, figures in zip(runs[line.name], parts, strict=True)
                    for name, value in figures.items()
                }
            errors = [figures["error"] for figures in parts if "error" in figures]
            more = {"error": errors[0]} if errors else self.derive(measured)
            figures = {**measured, **more}
            found[line.name] = Outcome(line=line, figures=figures, runs=runs[line.name])
        return list(found.values())

    def page(self, head: Mapping[str, Any], outcomes: Sequence[Outcome]) -> str:
        """Return what stands between the marks of the page: where, the table, failures."""
        load, runs = head["load_average"], head["runs"]
        busy = "" if load is None else f", load average {load} at the start"
        times = "one run of each" if runs == 1 else f"medians of {runs} runs, of gaps the worst"
        place = where(head, busy).removesuffix(".")
        aimed = [outcome for outcome in outcomes if outcome.line.targets]
        table = Table(
            heads=[*self.heads, *(h.partition("|")[0] for h in self.columns.values())]
            + ["targets"] * bool(aimed),
            lines=[
                [*outcome.line.cells, *(outcome.cell(*each) for each in self.columns.items())]
                + [bold_unless_met(outcome.mark)] * bool(aimed)
                for outcome in outcomes
            ],
            left=len(self.heads),
        )
        failed = [outcome for outcome in outcomes if "error" in outcome.figures]
        why = "\n".join(f"* {each.line.name}: {each.figures['error']}" for each in failed)
        reached = sum(outcome.mark == "pass" for outcome in aimed)
        score = f"{reached} of {len(aimed)} lines reach their targets." if aimed else ""
        parts = [BEGIN, f"{place}; {times}; every run in a process of its own.", table.markdown()]
        return "\n\n".join([*parts, *filter(None, (why, score)), END])

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Do what the command line says."""
        parser = ArgumentParser(description=sys.modules["__main__"].__doc__)
        parser.add_argument("--page", action="store_true", help="the table of known runs again")
        parser.add_argument("--quick", action="store_true", help="one tiny measurement, printed")
        parser.add_argument("--only", metavar="WORDS", help="lines so named, printed")
        parser.add_argument("--runs", type=int, default=3, help="of each measurement")
        parser.add_argument("--output", type=Path, default=self.folder, help="another folder")
        parser.add_argument("--one", nargs=3, metavar="", help="for a process of its own")
        if self.peered is not None:
            parser.add_argument("--peer", metavar="COMMAND", help="another program to measure too")
        given = parser.parse_args(arguments)
        peer = getattr(given, "peer", None)
        try:
            bench = replace(self, lines=self.peered(peer)) if self.peered and peer else self
        except InputError as error:
            parser.error(str(error))
        if given.quick:
            print(json.dumps(self.quick(), indent=1))
            return 0
        if given.one:
            print(json.dumps(dict(bench.one(*given.one)), allow_nan=False))
            return 0
        if given.page:
            head, runs = read(given.output / "rows.json")
            replace_tables(given.output / "README.md", bench.page(head, bench.outcomes(runs)))
            return 0
        lines = {line.name: line for line in bench.lines}
        chosen = named(lines, given.only or "")
        if not chosen or given.runs < 1:
            parser.error(f"--only {given.only!r}, --runs {given.runs}: nothing to measure")
        whole = [line for line in chosen.values() if {*line.sums} <= {*chosen}]
        bench = replace(bench, lines=whole)
        words = ["python", f"results/{self.folder.name}/run.py", "--runs", str(given.runs)]
        words += [] if peer is None else ["--peer", f"'{peer}'"]
        return bench.measure(words, given, [] if peer is None else ["--peer", peer])

    def measure(self, words: Sequence[str], given: Any, more: Sequence[str]) -> int:
        """Measure what a killed run left to do; write ``rows.json`` and the table, or print it."""
        here = environment()
        here["versions"] |= self.versions()
        head = {"command": " ".join(words), "format": "spmopt-bench", "version": 1}
        head |= {"suite": self.folder.name, **here, "runs": given.runs}
        cases = {
            json.dumps([line.name, label, number]): (line.name, label, str(number))
            for line in self.lines
            for label in line.parts
            for number in range(given.runs)
        }
        work, folder = partial(launch, self.file, more), None if given.only else given.output
        kept = collect(folder, " ".join(words), head, cases, work)
        if kept is None:
            return 130
        runs: dict[str, dict[str, list[Figures]]] = {line.name: {} for line in self.lines}
        for key, (name, label, _) in cases.items():
            runs[name].setdefault(label, []).append(kept.get(key))
        outcomes = self.outcomes(runs)
        if given.only:
            print(self.page(head, outcomes))
        else:
            rows = [outcome.record(self.heads) for outcome in outcomes]
            text = json.dumps({**head, "rows": rows}, indent=1, ensure_ascii=False)
            (given.output / "rows.json").write_text(f"{text}\n", encoding="utf-8")
            replace_tables(given.output / "README.md", self.page(head, outcomes))
            kept.remove()
        return 70 if any("error" in outcome.figures for outcome in outcomes) else 0

    def one(self, name: str, label: str, number: str) -> Figures:
        """Measure a part of a line in this process."""
        (part,) = (line.parts[label] for line in self.lines if line.name == name)
        return part(seed=int(number)) if self.seeded else part()


def bold_unless_met(mark: str) -> str:
    """Return a mark as the table has it."""
    return mark if mark in ("pass", "done") else f"**{mark}**"


def launch(file: str, more: Sequence[str], case: tuple[str, str, str]) -> dict[str, Any]:
    """Measure in a process of its own; a failure is a figure ``error`` with one line."""
    tell(" ".join(case))
    words = [sys.executable, file, *more, "--one", *case]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures
    reason = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
    tell(f"{case[0]}: failed: {reason}")
    return {"error": reason}


def read(path: Path) -> tuple[dict[str, Any], dict[str, Runs]]:
    """Head of what was measured, and runs by line and label."""
    head: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return head, {row["name"]: row["runs"] for row in head["rows"]}


def fold(runs: Sequence[Figures]) -> dict[str, Any]:
    """One figure for each name: the median; of gaps, and of yes and no, the worst.

    What is not known in every run is not known.
    """
    names = dict.fromkeys(name for figures in runs for name in figures)
    return {name: _fold(name, [figures.get(name) for figures in runs]) for name in names}


def _fold(name: str, values: Sequence[Any]) -> Any:
    texts = dict.fromkeys(value for value in values if isinstance(value, str))
    if texts:
        return "; ".join(texts)
    if None in values:
        return None
    if all(isinstance(value, bool) for value in values):
        return all(values)
    return max(values) if name.endswith("gap") else median(values)


def summed(values: Sequence[Any]) -> Any:
    """The sum; of yes and no, the worst. Nothing if one is no number."""
    if not all(isinstance(value, int | float) for value in values):
        return None
    return all(values) if all(isinstance(value, bool) for value in values) else sum(values)


def timed(work: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """Call ``work``; give its value, and wall and CPU seconds.

    CPU seconds are those of all threads, and of solvers' processes.
    """
    wall, cpu = monotonic(), cpu_s()
    value = work()
    return value, {"wall_s": monotonic() - wall, "cpu_s": cpu_s() - cpu}


def peak_mb() -> float:
    """Most memory that this process had so far, 10^6 bytes.

    On Linux that is at least what its parent had when it started it, so the parent is kept small.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


@dataclass(frozen=True, kw_only=True)
class Case:
    """One training step of a network of the zoo, to be lowered for a machine."""

    network: str
    spm: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    lowering: str = "tiled"
    machine: str = "rtx2080ti"

    @property
    def title(self) -> str:
        """Network and parameters."""
        return ", ".join([self.network, *(f"{k}={v}" for k, v in self.parameters.items())])

    def instance(self) -> Instance:
        """Build and lower it."""
        graph = training_graph(zoo.network(self.network, **self.parameters))
        machine = load_machine(self.machine, {"spm": self.spm})
        return lower(graph, machine, lowering=self.lowering)


TINY = Case(network="bert-tiny", spm="1MB", parameters={"batch": 1, "sequence": 8, "layers": 1})
"""A network of 64 operations."""
