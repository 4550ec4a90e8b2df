"""What all benches share: each measurement in a process of its own, medians, targets, a table."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any, TypeVar

from results.shared.page import (
    BEGIN,
    END,
    collect,
    comma_separated,
    command_line,
    discard,
    environment,
    markdown,
    named,
    replace_tables,
    report,
    where,
)
from spmopt.core.clock import cpu_s
from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.experiments.executors import REPLACED, end_with
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.io.document import require_writable, write_text

T = TypeVar("T")
Figures = Mapping[str, Any]
"""Numbers, also true and false, texts, or None where nothing is known."""
Runs = Mapping[str, Sequence[Figures]]
NETWORKS = ("resnet50", "mobilenetv2", "transformer")
SIZES = ("24MB", "64MB", "128MB", "296MB", "442MB", "1000MB")
GNMT: tuple[Mapping[str, int], ...] = ({"plain": 1}, {})
"""Without and with the second direction and residual connections: 18,619, 22,357 operations."""
_LIVES = 3
"""How often a measurement is begun whose process is killed."""
SHOWN_LINES = 6  # of a table on a page
FORMS = {"s": ".2f", "%": ".3g", "ms": "#.5g", "n": ",.0f", "x": ".1f"}


@dataclass(frozen=True)
class BenchLine:
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
    long
        Measured once, and only where ``--long`` asks for it.
    """

    cells: tuple[str, ...]
    parts: Mapping[str, Callable[..., Figures]]
    targets: Mapping[str, str] = field(default_factory=dict)
    sums: tuple[str, ...] = ()
    long: bool = False

    @property
    def name(self) -> str:
        """Unique in its bench."""
        return " ".join(self.cells)

    def missed(self, figures: Figures) -> list[str]:
        """List figures that do not reach their targets."""
        return [name for name, text in self.targets.items() if not is_met(figures.get(name), text)]

    def mark(self, figures: Figures) -> str:
        """Return ``failed``, ``miss`` or ``pass``; ``done`` where there was no target."""
        if "error" in figures:
            return "failed"
        return "miss" if self.missed(figures) else "pass" if self.targets else "done"

    def cell(self, figures: Figures, name: str, heading: str) -> str:
        """Write a figure, with its target in brackets, bold when missed."""
        value, target, form = figures.get(name), self.targets.get(name), form_of(heading)
        text = "-" if value is None else str(value)
        if isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, int | float):
            scaled = round(100 * value, 9) if form == "%" else value  # less is solvers' rounding
            text = format(scaled, FORMS[form])
        if target is None:
            return text
        sign, limit = target.split()
        aim = float(limit) * (100 if form == "%" else 1)
        bold = "**" if name in self.missed(figures) else ""
        return f"{bold}{text}{bold} ({sign} {aim:{',.0f' if form == 'n' else 'g'}})"


def _titles(columns: Mapping[str, str]) -> list[str]:
    return [heading.partition("|")[0] for heading in columns.values()]


def is_met(figure: Any, target: str) -> bool:
    """Return whether a figure reaches its target; none does not."""
    sign, limit = target.split()
    if not isinstance(figure, int | float):
        return False
    return figure >= float(limit) if sign == "≥" else figure <= float(limit)


def form_of(heading: str) -> str:
    """Return how a column shows numbers: as behind ``|``, else percent, else seconds."""
    return heading.partition("|")[2] or ("%" if heading.endswith("%") else "s")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A table to measure.

    Attributes
    ----------
    file
        The script: its folder has ``rows.json``, the page ``README.md``, and ``table.toml``:
        headings of the lines' cells, of columns by figure, with the form of :data:`FORMS`
        behind ``|`` where they need one, and the figures ``shown`` on the page.
    quick
        A measurement within seconds.
    derive
        Further figures of a line from those measured.
    note
        What stands below the table, from the figures by line.
    seeded
        Whether parts take the number of the run as ``seed``.
    versions
        Of what is measured with beside packages.
    peered
        The lines with another program measured beside, by its command.
    by_parts
        Whether the first part of every line is measured before the second of any.
    options
        Options of the script's own, by which it records, each after a blank.
    """

    file: str
    lines: Sequence[BenchLine]
    quick: Callable[..., Figures]
    derive: Callable[[Figures], Figures] = lambda figures: {}
    note: Callable[[Mapping[str, Figures]], str] = lambda found: ""
    seeded: bool = False
    versions: Callable[[], Mapping[str, str]] = dict
    peered: Callable[[str], Sequence[BenchLine]] | None = None
    by_parts: bool = False
    options: str = ""

    @property
    def folder(self) -> Path:
        """Where the measurements and the page are."""
        return Path(self.file).parent

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Headings: ``heads`` of cells, ``columns`` of figures; figures ``shown`` on the page."""
        path = self.folder / "table.toml"
        return tomllib.loads(path.read_text(encoding="utf-8"))

    def figures(self, runs: Mapping[str, Runs]) -> dict[str, Figures]:
        """Fold runs by line and label into figures by line, with ``error`` if a run failed."""
        found: dict[str, Figures] = {}
        for line in (line for line in self.lines if line.name in runs):
            if line.sums:
                parts = [found[name] for name in line.sums]
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
            found[line.name] = {**measured, **more}
        return found

    def page(self, head: Mapping[str, Any], found: Mapping[str, Figures]) -> str:
        """Return what stands between the marks of the page: where, the table, failures."""
        load, runs = head["load_average"], head["runs"]
        busy = "" if load is None else f", load average {load} at the start"
        times = "one run of each" if runs == 1 else f"medians of {runs} runs, of gaps the worst"
        shown = [(line, found[line.name]) for line in self.lines if line.name in found]
        marks = [line.mark(figures) for line, figures in shown if line.targets]
        heads, columns = self.table["heads"], self.table["columns"]
        few = {name: columns[name] for name in self.table["shown"]}
        lines = []
        for line, figures in shown:
            case = ", ".join(filter(None, line.cells))
            lines.append([case, *(line.cell(figures, *each) for each in few.items())])
            if marks:
                mark = line.mark(figures)
                lines[-1].append(mark if mark in ("pass", "done") else f"**{mark}**")
        titles = [", ".join(heads), *_titles(few), *["targets"] * bool(marks)]
        table = markdown(titles, lines[:SHOWN_LINES])
        errors = {name: each["error"] for name, each in found.items() if "error" in each}
        why = "\n".join(f"* {name}: {error}" for name, error in errors.items())
        met = f"{marks.count('pass')} of {len(marks)} lines reach their targets." if marks else ""
        place = where(head, busy).removesuffix(".")
        parts = [BEGIN, f"{place}; {times}; every run in a process of its own.", table]
        more = f"All {len(lines)} lines and all columns: [table.csv](table.csv)."
        return "\n\n".join([*parts, *filter(None, (why, met, more, self.note(found))), END])

    def whole_table(self, found: Mapping[str, Figures]) -> str:
        """Return the whole table as a CSV file."""
        columns = self.table["columns"]
        lines = [
            [*line.cells, *(line.cell(found[line.name], *each) for each in columns.items())]
            for line in self.lines
            if line.name in found
        ]
        marks = [line.mark(found[line.name]) for line in self.lines if line.name in found]
        heads = [*self.table["heads"], *_titles(columns), "targets"]
        return comma_separated(
            heads, [[*line, mark] for line, mark in zip(lines, marks, strict=True)]
        )

    def publish(self, folder: Path, head: Mapping[str, Any], found: Mapping[str, Figures]) -> None:
        """Write the page and the whole table."""
        replace_tables(folder / "README.md", self.page(head, found))
        write_text(folder / "table.csv", self.whole_table(found))

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Do what the command line says."""
        parser = command_line(self.folder)
        parser.add_argument("--runs", type=int, default=3, help="of each measurement")
        parser.add_argument("--one", nargs=3, metavar="", help="for a process of its own")
        parser.add_argument("--parent", type=int, default=os.getppid(), help="which ends with it")
        if self.peered is not None:
            parser.add_argument("--peer", metavar="COMMAND", help="another program to measure too")
        if any(line.long for line in self.lines):
            parser.add_argument("--long", action="store_true", help="long lines too, once each")
        given = parser.parse_args(arguments)
        long = getattr(given, "long", False)
        peer = getattr(given, "peer", None)
        try:
            bench = replace(self, lines=self.peered(peer)) if self.peered and peer else self
        except InputError as error:
            parser.error(str(error))
        if given.quick:
            print(json.dumps(self.quick(), indent=1))
            return 0
        if given.one:
            end_with(given.parent)
            print(json.dumps(dict(bench.one(*given.one)), allow_nan=False))
            return 0
        if given.page:
            head, runs = read(given.output / "rows.json")
            bench.publish(given.output, head, bench.figures(runs))
            return 0
        lines = {line.name: line for line in bench.lines if long or not line.long}
        chosen = named(lines, given.only or "")
        if not chosen or given.runs < 1:
            parser.error(f"--only {given.only!r}, --runs {given.runs}: nothing to measure")
        whole = [line for line in chosen.values() if {*line.sums} <= {*chosen}]
        return replace(bench, lines=whole).measure(given, peer)

    def measure(self, given: Any, peer: str | None) -> int:
        """Measure what a killed run left to do; write ``rows.json`` and the table, or print it."""
        more = [] if peer is None else ["--peer", peer]
        command = f"python results/{self.folder.name}/run.py{self.options} --runs {given.runs}"
        command += "" if peer is None else f" --peer '{peer}'"
        command += " --long" if any(line.long for line in self.lines) else ""
        here = environment()
        here["versions"] |= self.versions()
        head = {"command": command, "format": "spmopt-bench", "version": 1}
        head |= {"suite": self.folder.name, **here, "runs": given.runs}
        parts = [(line, *each) for line in self.lines for each in enumerate(line.parts)]
        if self.by_parts:
            parts.sort(key=lambda each: each[1])
        cases = {
            json.dumps([line.name, label, number]): (line.name, label, str(number))
            for line, _, label in parts
            for number in range(1 if line.long else given.runs)
        }
        folder = None if given.only else given.output
        kept = collect(folder, command, head, cases, partial(launch, self.file, more))
        if kept is None:
            return 130
        runs: dict[str, dict[str, list[Figures]]] = {line.name: {} for line in self.lines}
        for key, (name, label, _) in cases.items():
            runs[name].setdefault(label, []).append(kept[key])
        found = self.figures(runs)
        if given.only:
            print(self.page(head, found))
        else:
            rows = [self.record(line, found[line.name], runs[line.name]) for line in self.lines]
            text = json.dumps({**head, "rows": rows}, indent=1, ensure_ascii=False)
            rows_file = given.output / "rows.json"
            require_writable(rows_file)
            write_text(rows_file, f"{text}\n")
            self.publish(given.output, head, found)
            discard(folder)
        return 70 if any("error" in figures for figures in found.values()) else 0

    def record(self, line: BenchLine, figures: Figures, runs: Runs) -> dict[str, Any]:
        """Return everything measured of a line, as JSON values."""
        targets = [
            {"figure": name, "target": target, "met": name not in line.missed(figures)}
            for name, target in line.targets.items()
        ]
        about = {"name": line.name, "case": dict(zip(self.table["heads"], line.cells, strict=True))}
        return {
            **about,
            "mark": line.mark(figures),
            "targets": targets,
            "figures": figures,
            "runs": runs,
        }

    def one(self, name: str, label: str, number: str) -> Figures:
        """Measure a part of a line in this process."""
        (part,) = (line.parts[label] for line in self.lines if line.name == name)
        return part(seed=int(number)) if self.seeded else part()


def launch(file: str, more: Sequence[str], case: tuple[str, str, str]) -> dict[str, Any]:
    """Measure in a process of its own; a failure is a figure ``error`` with one line.

    One that is killed, for want of memory for example, is replaced up to twice.
    """
    report(" ".join(case))
    words = [sys.executable, file, *more, "--parent", str(os.getpid()), "--one", *case]
    for left in reversed(range(_LIVES)):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode >= 0 or not left:
            break
        report(REPLACED)
    if done.returncode == 0:
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures
    reason = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
    report(f"{case[0]}: failed: {reason}")
    return {"error": reason}


def read(path: Path) -> tuple[dict[str, Any], dict[str, Runs]]:
    """Return the head of the measurements, and runs by line and label."""
    head: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return head, {row["name"]: row["runs"] for row in head["rows"]}


def fold(runs: Sequence[Figures]) -> dict[str, Any]:
    """Fold runs to one figure for each name: the median; of gaps, yes and no the worst.

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
    """Return the sum; of yes and no, the worst. Nothing if one is no number."""
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
    """Return the most memory that this process had so far, 10^6 bytes.

    On Linux that is at least what its parent had when it started it, so the parent is kept small.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


@dataclass(frozen=True)
class Case:
    """One training step of a network of the zoo, to be lowered for a machine."""

    network: str
    spm: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    mapper: str = "panel"
    machine: str = "rtx2080ti"

    @property
    def title(self) -> str:
        """Network and parameters."""
        return ", ".join([self.network, *(f"{k}={v}" for k, v in self.parameters.items())])

    def problem(self) -> Problem:
        """Build and lower it."""
        graph = training_graph(zoo.network(self.network, **self.parameters))
        machine = load_machine(self.machine, {"spm": self.spm})
        return lower(graph, machine, mapper=self.mapper)


TINY = Case("bert-tiny", "1MB", {"batch": 1, "sequence": 8, "layers": 1})
"""A network of 64 operations."""
