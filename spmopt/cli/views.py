"""The commands that draw schedules, sweeps and searches, or write them for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from spmopt.api import searches, sweep_tables, verifying, views
from spmopt.cli.binding import Call, command
from spmopt.cli.options import INPUTS, SCHEDULES, Json, Network, Output, require_output
from spmopt.cli.schedule import BUILT, build
from spmopt.core.border import is_file
from spmopt.core.errors import InputError
from spmopt.core.filetypes import SQLITE

if TYPE_CHECKING:
    from spmopt.api.callbacks import Callbacks

_Schedule = Annotated[
    Path | None,
    Argument(
        help="Result file, as 'spmopt solve -o' writes it, or the CSV file of a sweep.",
        show_default=False,
    ),
]
_Other = Annotated[
    Path | None,
    Argument(
        metavar="SCHEDULE2",
        help="Another of the same instance, to compare with.",
        show_default=False,
    ),
]


_FRONT: dict[str, Any] = {"Front of a search": searches.read_search}


@command(SCHEDULES, Options=views.trace)
def trace(
    *,
    call: Call,
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    other: Annotated[
        Path | None,
        Argument(metavar="SCHEDULE2", help="Another, to stand beside it.", show_default=False),
    ] = None,
    output: Output,
    json: Json = False,
) -> None:
    """Write a schedule, or two, as a trace for https://ui.perfetto.dev.

    chrome://tracing reads it too. What runs and moves when, tensors on chip with their addresses
    and why they came and went, counters. A file whose name ends in .gz is compressed.
    """
    from spmopt.cli.terminal.output import emit_file
    from spmopt.cli.terminal.progress import watching

    files = [each for each in (schedule, other) if each is not None]
    _require_output(call, output, files)
    with watching() as callbacks:
        for path in files:
            _require_result(path)
        solutions = [verifying.unverified(path, callbacks) for path in files]
        found = call(views.trace, solutions, callbacks=callbacks)
        callbacks.progress(f"writing {output}", None)
        found.save(output)
    emit_file(found, output, json)


@command(SCHEDULES, Options=views.plot, **_FRONT)
def plot(
    *,
    call: Call,
    output: Output,
    schedule: _Schedule = None,
    other: _Other = None,
    json: Json = False,
) -> None:
    """Draw a schedule, two of one instance, a sweep or a search, as .png, .svg or .pdf."""
    from spmopt.cli.terminal.output import emit_file
    from spmopt.cli.terminal.progress import watching
    from spmopt.reporting.plots.style import require_format

    files = _files(call, schedule, other)
    require_format(output)
    _require_output(call, output, files)
    with watching() as callbacks:
        subject = _subject(call, files, callbacks)
        found = call(views.plot, subject, callbacks=callbacks)
        callbacks.progress(f"drawing {output}", None)
        found.save(output)
    emit_file(found, output, json, **_read(files))


@command(SCHEDULES, Options=views.report, **_FRONT)
def report(
    *,
    call: Call,
    output: Output,
    schedule: _Schedule = None,
    other: _Other = None,
    open: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    json: Json = False,
) -> None:
    """Make a page (HTML) of a schedule, of two of one instance, of a sweep or of a search.

    One file for any browser, which loads nothing: scratchpad and lanes over time, tables,
    roofline; curves with bounds as bands; the front of a search.
    """
    from spmopt.cli.terminal.output import emit_file
    from spmopt.cli.terminal.progress import watching

    files = _files(call, schedule, other)
    _require_output(call, output, files)
    views.require_page(output)
    with watching() as callbacks:
        subject = _subject(call, files, callbacks)
        found = call(views.report, subject, callbacks=callbacks)
        callbacks.progress(f"writing {output}", None)
        found.save(output)
    emit_file(found, output, json, **_read(files))
    if open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


@command(INPUTS, Options=views.export, **BUILT)
def export(call: Call, network: Network, output: Output, json: Json = False) -> None:
    """Write the program of the scheduler whole as MPS or LP, for any solver.

    Columns and rows bear the names of tensors and steps, counted from 0.
    """
    from spmopt.cli.terminal.output import emit_file
    from spmopt.cli.terminal.progress import watching

    given = call.values["format"] if "format" in call.given else None
    format = (given or output.suffix.removeprefix(".")).lower()
    if format not in ("mps", "lp"):
        what = f"--format {given}" if given else f"{output}"
        raise InputError(f"{what}: no such format; give --format mps or --format lp")
    require_output(output)
    with watching() as callbacks:
        instance = build(call, network, callbacks)
        found = call(views.export, instance, format=format, callbacks=callbacks)
        found.save(output)
    emit_file(found, output, json)


def _files(call: Call, schedule: Path | None, other: Path | None) -> list[Path]:
    """Return the files that are read, none for a search; options must go together."""
    files = [each for each in (schedule, other) if each is not None]
    is_search = "storage" in call.given or "study" in call.given
    is_sweep = schedule is not None and schedule.suffix.lower() == ".csv"
    if is_search and files:
        raise InputError(f"{files[0]}: name a file, or a study by --storage, not both")
    if not is_search and not files:
        raise InputError("name a result file, the CSV file of a sweep, or --storage of a search")
    if "top" in call.given and not is_search:
        raise InputError("--top: is for the front of a search; add --storage")
    if is_sweep and other is not None:
        raise InputError(
            f"{schedule}: holds the rows of a sweep, which is shown by itself, one sweep "
            f"at a time; leave {other} out"
        )
    if "timing" in call.given and (is_search or is_sweep):
        raise InputError("--timing: is for schedules; leave it out")
    call(views.require_options, not (is_search or is_sweep))
    return files


def _subject(call: Call, files: list[Path], callbacks: Callbacks) -> views.Subject:
    """Read what is drawn; schedules are verified as they are laid out."""
    if not files:
        callbacks.progress("reading the study", None)
        found = call(searches.read_search)
        found.require_feasible()
        return found
    if files[0].suffix.lower() == ".csv":
        return sweep_tables.read_sweep(files[0])
    for path in files:
        _require_result(path)
    return [verifying.unverified(path, callbacks) for path in files]


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


def _require_output(call: Call, output: Path, files: list[Path]) -> None:
    """Fail before the work unless ``output`` can be written, and is none of the ``files``."""
    from spmopt.core.errors import unknown

    if call.values["timing"] not in views.TIMINGS:
        raise unknown("choice for --timing", call.values["timing"], views.TIMINGS)
    require_output(output, files)


def _read(files: list[Path]) -> dict[str, object]:
    """Return the files that were read, for JSON."""
    if files and files[0].suffix.lower() == ".csv":
        return {"sweep": str(files[0])}
    return {"schedules": [str(each) for each in files]} if files else {}
