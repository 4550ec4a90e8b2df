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
    from spmopt.report.picture import Picture

_TIMINGS = {
    "steps": "one step after the other, as the makespan has them (default)",
    "replay": "as the replay ran them, without barriers between steps",
}
Timing = Annotated[str, Option(help=choices("When things happen:", _TIMINGS))]


def require_output(output: Path, schedules: Sequence[Path], timing: str) -> None:
    """Fail before the work unless ``output`` can be written, and is none of the ``schedules``.

    Raises
    ------
    InputError
        It cannot, or there is no such ``timing``.
    """
    from spmopt.core.suggest import unknown
    from spmopt.io.document import require_writable

    if timing not in _TIMINGS:
        raise unknown("choice for --timing", timing, _TIMINGS)
    for schedule in schedules:
        if output.is_file() and schedule.is_file() and output.samefile(schedule):
            raise InputError(f"--output {output}: would replace the schedule; name another file")
    require_writable(output)


def pictured(schedules: Sequence[Path], timing: str, report: Report) -> list[Picture]:
    """Read and verify the schedules; raises as :meth:`spmopt.report.picture.Picture.of`."""
    from spmopt.io.files import read_result
    from spmopt.report.picture import Picture

    found = []
    for schedule in schedules:
        report(f"reading {schedule}", None)
        stored = read_result(schedule)
        report(f"verifying {schedule}", None)
        found.append(Picture.of(stored, timing=timing))
    return found
