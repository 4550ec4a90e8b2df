"""The commands that draw schedules, sweeps and searches, or write them for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from spmopt.api import searches, sweep_tables, verifying, views
from spmopt.cli.options import (
    Network,
    Options,
    Output,
    Printing,
    ProblemOptions,
    Result,
    require_output,
)
from spmopt.cli.schedule import build
from spmopt.core.errors import InputError
from spmopt.core.filetypes import SQLITE
from spmopt.core.validation import is_file

if TYPE_CHECKING:
    from spmopt.api.callbacks import Callbacks
    from spmopt.api.shown import Document, Drawing
    from spmopt.api.solutions import Solution

_Schedule = Annotated[
    Path | None, Parameter(help="Result file, written by 'spmopt solve -o', or CSV of a sweep.")
]
_Other = Annotated[
    Path | None, Parameter(help="Another result of the same problem, to compare with.")
]
_STEPS = "step"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class _Subject:
    """Subject of a picture: files, or the front of a search.

    Parameters
    ----------
    storage
        SQLite file, database URL, or journal:FILE of a search.
    study
        Name of the study; default: the only one in the storage.
    top
        Number of the best trials by the first objective to show instead of the front.
    timing
        Time axis: step (one after the other, as in the makespan) or async (no step barriers).
    """

    storage: str | None = None
    study: str | None = None
    top: int | None = None
    timing: str = _STEPS

    @property
    def is_search(self) -> bool:
        return self.storage is not None or self.study is not None

    def files(self, schedule: Path | None, other: Path | None) -> list[Path]:
        """Return the files that are read, none for a search; options must go together."""
        files = [each for each in (schedule, other) if each is not None]
        # The name decides, as the sweep itself requires .csv.
        is_sweep = schedule is not None and schedule.suffix.lower() == ".csv"
        if self.is_search and files:
            raise InputError(f"{files[0]}: name a file, or a study by --storage, not both")
        if not self.is_search and not files:
            raise InputError(
                "name a result file, the CSV file of a sweep, or --storage of a search"
            )
        if self.top is not None and not self.is_search:
            raise InputError("--top: is for the front of a search; add --storage")
        if is_sweep and other is not None:
            raise InputError(
                f"{schedule}: holds the rows of a sweep, which is shown by itself, one sweep "
                f"at a time; leave {other} out"
            )
        if self.timing != _STEPS and (self.is_search or is_sweep):
            raise InputError("--timing: is for schedules; leave it out")
        return files

    def read(self, files: list[Path], callbacks: Callbacks) -> views.Subject:
        """Read the subject; schedules are verified as they are laid out."""
        if not files:
            callbacks.progress("reading the study", None)
            storage = self.storage or searches.STORAGE
            found = searches.read_search(storage, study=self.study, top=self.top)
            found.require_feasible()
            return found
        if files[0].suffix.lower() == ".csv":
            return sweep_tables.read_sweep(files[0])
        return _read(files, callbacks)


class PlotOptions(Options, of=views.plot, without=("timing",)):
    """Options of a picture."""


def trace(
    schedule: Result,
    other: Annotated[Path | None, Parameter(help="Another result, to stand beside it.")] = None,
    /,
    *,
    output: Output,
    timing: str = _STEPS,
    printing: Printing = Printing(),
) -> None:
    """Write a schedule, or two, as a trace for https://ui.perfetto.dev.

    chrome://tracing reads it too. It holds engine and DMA lanes, tensors on chip with addresses
    and causes, and counters. A file whose name ends in .gz is compressed.

    Parameters
    ----------
    timing
        Time axis: step (one after the other, as in the makespan) or async (no step barriers).
    """
    files = [each for each in (schedule, other) if each is not None]
    _require_output(timing, output, files)
    views.require_trace(output)

    def make(callbacks: Callbacks) -> Document:
        return views.trace(_read(files, callbacks), timing=timing, callbacks=callbacks)

    _write(make, output, printing)


def plot(
    schedule: _Schedule = None,
    other: _Other = None,
    /,
    *,
    output: Output,
    options: PlotOptions = PlotOptions(),
    subject: _Subject = _Subject(),
    printing: Printing = Printing(),
) -> None:
    """Draw a schedule, two of one problem, a sweep or a search, as .png, .svg or .pdf."""
    from spmopt.reporting.plots.style import require_format

    files = subject.files(schedule, other)
    is_of_schedules = bool(files) and files[0].suffix.lower() != ".csv"
    # Before files are read: large results take seconds.
    views.require_options(is_of_schedules, **vars(options))
    require_format(output)
    _require_output(subject.timing, output, files)

    def make(callbacks: Callbacks) -> Drawing:
        drawn = subject.read(files, callbacks)
        return views.plot(drawn, timing=subject.timing, **vars(options), callbacks=callbacks)

    _write(make, output, printing, files)


def report(
    schedule: _Schedule = None,
    other: _Other = None,
    /,
    *,
    output: Output,
    open: bool = False,
    subject: _Subject = _Subject(),
    printing: Printing = Printing(),
) -> None:
    """Make a page (HTML) of a schedule, of two of one problem, of a sweep or of a search.

    One file for any browser, without a network: scratchpad and lanes over time, tables,
    roofline; curves with bounds as stripes; the front of a search. Two schedules must be of one
    fusion plan; plot and trace take any two.

    Parameters
    ----------
    open
        Open the page in a browser.
    """
    files = subject.files(schedule, other)
    _require_output(subject.timing, output, files)
    views.require_page(output)

    def make(callbacks: Callbacks) -> Document:
        shown = subject.read(files, callbacks)
        return views.report(shown, timing=subject.timing, callbacks=callbacks)

    _write(make, output, printing, files)
    if open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def export(
    network: Network,
    /,
    *,
    output: Output,
    objective: str = "time",
    format: str | None = None,
    problem_options: ProblemOptions = ProblemOptions(),
    printing: Printing = Printing(),
) -> None:
    """Write the program of the scheduler whole as MPS or LP, for any solver.

    Columns and rows bear the names of tensors and steps, counted from 0.

    Parameters
    ----------
    objective
        Objective: time, traffic or energy.
    format
        File format: mps or lp; default: that of the name of the file.
    """
    chosen = (format or output.suffix.removeprefix(".")).lower()
    if chosen not in ("mps", "lp"):
        named = f"--format {format}" if format else f"{output}"
        raise InputError(f"{named}: no such format; give --format mps or --format lp")
    require_output(output)

    def make(callbacks: Callbacks) -> Document:
        problem = build(problem_options, network, callbacks)
        return views.export(problem, objective=objective, format=chosen, callbacks=callbacks)

    _write(make, output, printing)


def _write(
    make: Callable[[Callbacks], Document | Drawing],
    output: Path,
    printing: Printing,
    files: Sequence[Path] = (),
) -> None:
    """Make the content of a file, write it, and print a summary; JSON names the ``files`` read."""
    from spmopt.cli.terminal.output import print_json, print_line
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        found = make(callbacks)
        callbacks.progress(f"writing {output}", None)
        found.save(output)
    if not printing.json:
        print_line(f"{output}: {found.title}")
        return
    record: dict[str, object] = {"file": str(output)}
    if files and files[0].suffix.lower() == ".csv":
        record["sweep"] = str(files[0])
    elif files:
        record["schedules"] = [str(each) for each in files]
    print_json({**record, **found.record})


def _read(files: Sequence[Path], callbacks: Callbacks) -> list[Solution]:
    """Read result files, which are verified when they are laid out."""
    for path in files:
        _require_result(path)
    return [verifying.find_unverified(path, callbacks) for path in files]


def _require_result(path: Path) -> None:
    """Raise :class:`InputError` for the rows of a sweep, and for the storage of a search."""
    if path.suffix.lower() == ".csv":
        raise InputError(
            f"{path}: holds rows of a sweep, no schedule; 'spmopt report' and 'spmopt plot' "
            "show one sweep by itself"
        )
    if _is_database(path):
        raise InputError(
            f"{path}: is the storage of a search, no schedule; 'spmopt report' and "
            f"'spmopt plot' show its front by --storage {path}"
        )


def _is_database(path: Path) -> bool:
    if not is_file(path):  # a pipe would be waited for
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False  # said by who reads it


def _require_output(timing: str, output: Path, files: list[Path]) -> None:
    """Fail before the work unless ``output`` can be written, and is none of the ``files``."""
    from spmopt.core.errors import unknown

    if timing not in views.TIMINGS:
        raise unknown("choice for --timing", timing, views.TIMINGS)
    require_output(output, files)
