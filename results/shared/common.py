"""What all studies share: cases become rows, kept and resumed; rows become the tables of a page."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

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
    table_file,
    where,
)
from spmopt.core.errors import SpmoptError
from spmopt.experiments.executors import processors
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.store import RowTable
from spmopt.io.document import write_text
from spmopt.sweeps.cases import SweepCase
from spmopt.sweeps.rows import SweepColumns
from spmopt.sweeps.run import Sweep, run_sweeps
from spmopt.sweeps.work import SolveOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MB = 10**6
TABLES = "tables"
SHOWN_CELLS = 64
"""Cells of tables on a page: of the first as many lines as fit, of others all or none."""
Row = Mapping[str, Any]
Tables = Mapping[str, pd.DataFrame]
"""Tables of texts by title; levels of the index are the first columns, left-aligned."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A question whose answer is made of rows.

    Attributes
    ----------
    file
        The script: its folder has ``rows.csv``, the page ``README.md``, the picture and its title.
    cases
        By name, in the order of their rows, what ``work`` (by default :func:`sweep`) is called
        with, each in some process.
    quick
        A tiny case, for a look at the rows within seconds.
    tables
        Made of rows, as :func:`read` gives them.
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
    tables: Callable[[pd.DataFrame], Tables]
    work: Callable[[Any], Sequence[Row]] = field(default_factory=lambda: swept)
    draw: Callable[[pd.DataFrame], Figure] | None = None
    figures: Callable[[], Mapping[str, float]] = dict
    finish: Callable[[Sequence[Row]], Sequence[Row]] = lambda rows: ()
    assume: Callable[[Mapping[str, str]], Study] | None = None

    @property
    def folder(self) -> Path:
        """Where rows, page and picture are."""
        return Path(self.file).parent

    def page(self, rows: pd.DataFrame) -> str:
        """Return the text between the marks of the page: where, short tables, links to others."""
        shown: list[str] = []
        linked: list[str] = []
        cells = 0
        for title, whole, left in self._texts(rows):
            most = SHOWN_CELLS // whole.shape[1] if not shown else len(whole)
            if shown and cells + whole.size > SHOWN_CELLS:
                lines = []
            else:
                heads, lines = [*map(str, whole)], whole.to_numpy().tolist()[:most]
                shown.append(markdown(heads, lines, left=left, title=title))
                cells += whole.size
            if len(lines) < len(whole):
                name = title or "The whole table"
                linked.append(f"* [{name}]({TABLES}/{table_file(title)}), {len(whole)} rows")
        more = ["\n".join(["## More tables\n", *linked])] if linked else []
        return "\n\n".join([BEGIN, where(rows.attrs), *shown, *more, END])

    def files(self, rows: pd.DataFrame) -> dict[str, str]:
        """Return the texts of the CSV files, one a table, by name in the folder ``tables``."""
        return {
            table_file(title): comma_separated([*map(str, whole)], whole.to_numpy().tolist())
            for title, whole, _ in self._texts(rows)
        }

    def _texts(self, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, int]]:
        for title, table in self.tables(rows).items():
            yield title, table.reset_index(), table.index.nlevels

    def publish(self, folder: Path) -> None:
        """Write tables and picture anew, from recorded rows."""
        rows = read(folder / "rows.csv")
        replace_tables(folder / "README.md", self.page(rows))
        (folder / TABLES).mkdir(exist_ok=True)
        texts = self.files(rows)
        for path in (folder / TABLES).glob("*.csv"):
            if path.name not in texts:
                path.unlink()  # of a table that the study has no longer
        for name, text in texts.items():
            write_text(folder / TABLES / name, text)
        if self.draw is not None:
            figure = self.draw(rows)
            title = (self.folder / "title.txt").read_text(encoding="utf-8").strip()
            figure.suptitle(title, fontsize=8.5, linespacing=1.5)
            figure.savefig(folder / "plot.png", metadata={"Software": None})

    def measure(self, folder: Path, command: str, jobs: int) -> bool:
        """Run what a killed run left to do; write ``rows.csv``, unless it is interrupted."""
        here, cases = environment(), self.cases()
        kept = collect(folder, command, here, cases, self.work, jobs=jobs)
        if kept is None:
            return False
        rows = [row for name in cases for row in kept[name]]
        head = {"study": self.folder.name, "command": command, **here, "figures": self.figures()}
        write(folder / "rows.csv", head, [*rows, *self.finish(rows)])
        discard(folder)
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
            lines.writerow({k: _cell(v) for k, v in row.items()})


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


class _Figures(dict[str, Any]):
    """Figures that no copy of rows copies: pandas copies ``attrs`` in each of its steps."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Figures:
        return self


def read(path: Path) -> pd.DataFrame:
    """Return rows that :func:`write` wrote; the head is in ``attrs``."""
    with path.open(encoding="utf-8") as file:
        head: dict[str, Any] = json.loads(file.readline().removeprefix("# "))
        rows = pd.read_csv(file, keep_default_na=False, na_values=[""])
    rows.attrs = head | {"figures": _Figures(head["figures"])}
    return rows


def sweeps(
    parts: Iterable[tuple[str, SweepCase, Sequence[str], SolveOptions]],
) -> dict[str, Sweep]:
    """Return sweeps of schedulers at all capacities of a case.

    They are named by part, network, step, batch and rates, which tell cases apart; the part is in
    the column of that name.
    """
    found = {}
    for part, case, schedulers, search in parts:
        network, machine = case.network, case.machine
        step = "training" if network.training else "forward"
        about = (part, network.label, step, network.batch_size)
        rates = (machine.dram_bytes_per_s, machine.operations_per_s)
        found[" ".join(map(str, (*about, *rates)))] = Sweep(
            cases=(replace(case, extra=(("part", part),)),),
            schedulers=tuple(schedulers),
            search=search,
        )
    return found


def swept(sweep: Sweep) -> list[Row]:
    """Run a sweep in this process: a row for each capacity and scheduler, all verified."""
    table = RowTable(None, SweepColumns(["part"]), {})
    with TaskQueue() as queue:
        run_sweeps([sweep], table, queue, warn=report)
    return list(table.rows)


def tabulated(heads: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> pd.DataFrame:
    """Return lines of texts as a table; the first ``left`` columns are its index."""
    return pd.DataFrame([*lines], columns=[*heads]).set_index([*heads[:left]])


def texts(values: Any, form: str | Callable[[float], str]) -> Any:
    """Write numbers of a table or column as texts; what is missing is ``-``."""
    write_one = form.format if isinstance(form, str) else form
    return values.map(lambda value: "-" if pd.isna(value) else write_one(value))


def in_percent(share: float) -> str:
    """Return a share of one in percent with one digit, under a heading that says so."""
    return f"{100 * share:z.1f}"


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


def points(found: float, paper: float, limit: float = 5.0) -> str:
    """Return percents, bold with their deviation where they are too far from the paper's."""
    text, off = f"{found:z.1f}", found - paper
    return text if abs(off) <= limit else f"**{text}** ({signed(off)})"


def megabytes(size_bytes: float) -> str:
    """Return a capacity or traffic, as ``24 MB``, ``1.25 GB``."""
    return f"{size_bytes / 1e9:.4g} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.4g} MB"


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, four digits."""
    return f"{1e3 * seconds:#.4g}".rstrip(".")
