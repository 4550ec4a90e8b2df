"""Schedules that are looked at: read from result files, verified and laid out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from spmopt.cli.options import choices
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.cli.terminal.progress import Report
    from spmopt.report.schedule_view import ScheduleView

_TIMINGS = {
    "steps": "one step after the other, as the makespan has them (default)",
    "replay": "as the replay ran them, without barriers between steps",
}
_PAGES = (".html", ".htm")
_SQLITE = b"SQLite format 3\0"
"""What a database of SQLite begins with."""
Timing = Annotated[str, Option(help=choices("When things happen:", _TIMINGS))]


def require_output(output: Path, schedules: Sequence[Path], timing: str) -> None:
    """Fail before the work unless ``output`` can be written, and is none of the ``schedules``.

    Raises
    ------
    InputError
        It cannot, or there is no such ``timing``.
    """
    from spmopt.core.errors import unknown
    from spmopt.io.document import require_writable

    if timing not in _TIMINGS:
        raise unknown("choice for --timing", timing, _TIMINGS)
    for schedule in schedules:
        if output.is_file() and schedule.is_file() and output.samefile(schedule):
            raise InputError(f"--output {output}: would replace the schedule; name another file")
    require_writable(output)


def require_page(output: Path) -> None:
    """Raise :class:`InputError` for the name of a file that is no page's."""
    is_file = output.is_file() or not output.exists()
    if is_file and output.suffix.lower() not in _PAGES:
        raise InputError(
            f"--output {output}: a page is HTML; let the name end in .html, or draw a picture "
            "(.png, .svg, .pdf) by 'spmopt plot'"
        )


def require_results(schedules: Sequence[Path]) -> None:
    """Raise :class:`InputError` for the rows of a sweep, and for the storage of a search."""
    for path in schedules:
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
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # said by who reads it


def pictured(schedules: Sequence[Path], timing: str, report: Report) -> list[ScheduleView]:
    """Read and verify the schedules; raises as :meth:`ScheduleView.of`."""
    from spmopt.io.files import read_result
    from spmopt.report.headings import require_schedule
    from spmopt.report.schedule_view import ScheduleView

    require_results(schedules)

    found = []
    for schedule, source in zip(schedules, _sources(schedules), strict=True):
        report(f"reading {schedule}", None)
        stored = read_result(schedule)
        require_schedule(str(schedule), stored.instance, stored.result)
        report(f"verifying {schedule}", None)
        found.append(ScheduleView.of(stored, timing=timing, source=source))
    return found


def _sources(schedules: Sequence[Path]) -> list[str]:
    """Names of files, in full where they are alike."""
    stems = [schedule.stem for schedule in schedules]
    return stems if len({*stems}) == len(stems) else [str(schedule) for schedule in schedules]
