"""What all studies share: cases become rows, kept and resumed; rows become the tables of a page."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from results.shared.page import (
    BEGIN,
    END,
    collect,
    command_line,
    environment,
    markdown,
    named,
    replace_tables,
    report,
    where,
)
from spmopt.core.errors import SpmoptError
from spmopt.experiments.executors import processors
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.store import RowTable
from spmopt.sweeps import run as spmopt_sweep
from spmopt.sweeps.cases import SweepCase
from spmopt.sweeps.rows import SweepColumns
from spmopt.sweeps.work import SolveOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MB = 10**6
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts; the first ``left`` columns are words, the others figures."""

    heads: Sequence[str]
    lines: Iterable[Sequence[str]]
    title: str = ""
    left: int = 1

    def markdown(self) -> str:
        """Return it below its title."""
        return markdown(self.heads, self.lines, left=self.left, title=self.title)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A question whose answer is made of rows.

    Attributes
    ----------
    file
        The script: its folder has ``rows.csv``, the page ``README.md`` and the picture.
    cases
        By name, in the order of their rows, what ``work`` (by default :func:`swept`) is called
        with, each in some process.
    quick
        A tiny case, for a look at the rows within seconds.
    tables
        Made of rows and figures.
    draw
        A picture of the same.
    figures
        Measures what is in no row; kept in the first line of ``rows.csv``.
    finish
        Rows that follow from all others.
    assume
        The same study under other assumptions, texts by name.
    """

    file: str
    cases: Callable[[], Mapping[str, Any]]
    quick: Any
    tables: Callable[[pd.DataFrame, Mapping[str, float]], Iterable[Table]]
    work: Callable[[Any], Sequence[Row]] = field(default_factory=lambda: swept)
    draw: Callable[[pd.DataFrame, Mapping[str, float]], Figure] | None = None
    figures: Callable[[], Mapping[str, float]] = dict
    finish: Callable[[Sequence[Row]], Sequence[Row]] | None = None
    assume: Callable[[Mapping[str, str]], Study] | None = None

    @property
    def folder(self) -> Path:
        """Where rows, page and picture are."""
        return Path(self.file).parent

    def page(self, folder: Path) -> str:
        """Return what stands between the marks of the page: where, and the tables."""
        head, rows = read(folder / "rows.csv")
        tables = [table.markdown() for table in self.tables(rows, head["figures"])]
        return "\n\n".join([BEGIN, where(head), *tables, END])

    def publish(self, folder: Path) -> None:
        """Write tables and picture anew, from recorded rows."""
        replace_tables(folder / "README.md", self.page(folder))
        if self.draw is not None:
            head, rows = read(folder / "rows.csv")
            figure = self.draw(rows, head["figures"])
            figure.savefig(folder / "plot.png", metadata={"Software": None})

    def measure(self, folder: Path, command: str, jobs: int) -> bool:
        """Run what a killed run left to do; write ``rows.csv``, unless it is interrupted."""
        here, cases = environment(), self.cases()
        kept = collect(folder, command, here, cases, self.work, jobs=jobs)
        if kept is None:
            return False
        rows = [row for name in cases for row in kept.get(name)]
        rows += [] if self.finish is None else self.finish(rows)
        head = {"study": self.folder.name, "command": command, **here, "figures": self.figures()}
        write(folder / "rows.csv", head, rows)
        kept.remove()
        return True

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Do what the command line says."""
        parser = command_line(self.folder)
        parser.add_argument("--jobs", type=int, default=processors(), help="processes")
        parser.add_argument("--assume", action="append", default=[], metavar="NAME=VALUE")
        given = parser.parse_args(arguments)
        study = self
        if given.assume:
            if self.assume is None or given.output == self.folder or given.page:
                parser.error("--assume: for studies that have assumptions, with --output FOLDER")
            try:
                study = self.assume(dict(text.split("=", 1) for text in given.assume))
            except (ValueError, SpmoptError) as error:
                parser.error(f"--assume: {error}")
        if given.quick or given.only is not None:
            found = {"quick": study.quick} if given.quick else named(study.cases(), given.only)
            rows = [row for case in found.values() for row in study.work(case)]
            print(pd.DataFrame(rows).T.to_string() if rows else f"no case has {given.only!r}")
            return 0 if rows else 2
        if not given.page:
            words = [f"python results/{self.folder.name}/run.py"]
            words += [f"--assume {text}" for text in given.assume]
            if not study.measure(given.output, " ".join(words), given.jobs):
                return 130
        study.publish(given.output)
        return 0


def write(path: Path, head: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Write rows as CSV, below a line of JSON that tells how they came."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {json.dumps(head)}\n")
        lines = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        lines.writeheader()
        for row in rows:
            lines.writerow(
                {
                    k: str(v).lower() if v in (True, False) and isinstance(v, bool) else v
                    for k, v in row.items()
                }
            )


def read(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return head and rows that :func:`write` wrote."""
    with path.open(encoding="utf-8") as file:
        head: dict[str, Any] = json.loads(file.readline().removeprefix("# "))
    rows = pd.read_csv(path, skiprows=1, keep_default_na=False, na_values=[""])
    return head, rows


class Sweep(NamedTuple):
    """Schedulers at all capacities of a case; ``part`` is in the column of that name."""

    part: str
    case: SweepCase
    schedulers: tuple[str, ...]
    search: SolveOptions = SolveOptions()


def swept(asked: Sweep) -> list[Row]:
    """Run a sweep in this process: a row for each capacity and scheduler, all verified."""
    return run_parts([asked], 0)[0]


def run_parts(parts: Sequence[Sweep], jobs: int) -> tuple[list[Row], int]:
    """Run sweeps in processes; give rows, and how many solutions their curves took."""
    table = RowTable(None, SweepColumns(["part"]), {})
    asked = [
        spmopt_sweep.Sweep(
            cases=(replace(each.case, extra=(("part", each.part), *each.case.extra)),),
            schedulers=each.schedulers,
            search=each.search,
        )
        for each in parts
    ]
    with TaskQueue(jobs) as queue:
        done = spmopt_sweep.run_sweeps(asked, table, queue, warn=report)
    return list(table.rows), done.solves


def sweeps(parts: Iterable[Sweep]) -> dict[str, Sweep]:
    """By part, network, step, batch and rates, which tell cases apart."""
    found = {}
    for each in parts:
        network, machine = each.case.network, each.case.machine
        step = "training" if network.training else "forward"
        about = (each.part, network.label, step, network.known_batch)
        rates = (machine.dram_bytes_per_s, machine.operations_per_s)
        found[" ".join(map(str, (*about, *rates)))] = each
    return found


def one(value: float) -> str:
    """Return a number with one digit; none is ``0.0``."""
    return f"{value:z.1f}"


def in_percent(share: float) -> str:
    """Return a share of one in percent, under a heading that says so."""
    return one(100 * share)


def percent(share: float) -> str:
    """Return a share of one, as ``12.3 %``."""
    return f"{in_percent(share)} %"


def signed(value: float) -> str:
    """Return a number with its sign and one digit, ``0.0`` without one."""
    text = f"{value:+.1f}"
    return text[1:] if float(text) == 0 else text


def change(ratio: float) -> str:
    """Return a change in percent with its sign, as ``-48.1 %`` for 0.519."""
    return f"{signed(100 * (ratio - 1))} %"


def megabytes(size_bytes: float) -> str:
    """Return a capacity or traffic, as ``24 MB``, ``1.25 GB``."""
    return f"{size_bytes / 1e9:.4g} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.4g} MB"


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, four digits."""
    return f"{1e3 * seconds:#.4g}".rstrip(".")
