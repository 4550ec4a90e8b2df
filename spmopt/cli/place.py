"""The command that gives buffers of known lifetimes their addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from spmopt.cli import Code
from spmopt.cli.options import Json, Output, choices
from spmopt.core.errors import InfeasibleError, InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from collections.abc import Callable, Sequence

    from spmopt.cli.terminal.progress import Board
    from spmopt.core.placement import Buffer, Placed, Placement

_TARGET = "formulations.placement.place"  # by name: it loads a solver
_FILE = "CSV file as MiniMalloc's; a blank line ends it. Columns, by the names in its first line:"
_COLUMNS = {
    "id": "name (also buffer, buffer_id)",
    "lower, upper": "the buffer lives from lower until before upper (also start or begin; "
    "end in place of upper is inclusive, and so are ends of gaps then)",
    "size": "bytes",
    "alignment": "the offset is to be a multiple of it; may be empty",
    "offset": "fixes the buffer there; empty: it is free. What was placed stays so when it is "
    "placed again: take the column out first",
    "hint": "an offset to try; empty or negative: none. Where all buffers have hints that are "
    "a placement, that is the answer, and --minimize looks for a lower one",
    "gaps": "times that need less, with blanks between: 3-5 needs nothing from 3 until before 5, "
    "3-5@0:4 only the buffer's bytes from 0 until before 4",
}


def place(
    *,
    file: Annotated[Path, Argument(help=choices(_FILE, _COLUMNS))],
    output: Output,
    capacity: Annotated[
        str | None,
        Option(help="Size, as 1MiB or 1048576; enough, unless --minimize is given too."),
    ] = None,
    minimize: Annotated[
        bool, Option("--minimize", help="Place as low as can be, and prove a bound.")
    ] = False,
    time_limit: Annotated[float, Option(help="Seconds to look for a placement.")] = 60.0,
    json: Json = False,
) -> int:
    """Give buffers with known lifetimes their offsets in one memory.

    What is written is the table with the column offset. The height is the end of the topmost
    buffer; "needed" is a proved bound. Exit code 4: no placement found within the limits.
    """
    if capacity is None and not minimize:
        raise InputError("give --capacity SIZE, or --minimize for the least height")
    if not time_limit > 0:
        raise InputError(f"--time-limit {time_limit}: must be more than 0 seconds")
    from importlib import import_module

    from spmopt.cli.terminal.interrupt import interruptible
    from spmopt.cli.terminal.output import messages, print_json, tell, warn
    from spmopt.cli.terminal.progress import watched
    from spmopt.core.result import Status
    from spmopt.core.units import Dimension, parse_quantity
    from spmopt.io.document import require_writable
    from spmopt.io.minimalloc import read_buffers, write_buffers

    size = None
    if capacity is not None:
        size = parse_quantity(capacity, Dimension.BYTES, "--capacity")
    require_writable(output)
    buffers = read_buffers(file, warn)
    search = import_module(_TARGET)
    with interruptible(tell) as stopped:
        way: Callable[..., Placed] = search.minimize if minimize else search.place
        with watched(messages()) as (report, show):
            report("placing", None)
            found = way(buffers, size, time_limit, stopped, _shown(file.name, show))
        if found.status is Status.INFEASIBLE and not json:
            raise InfeasibleError(found.conflict or f"{file}: infeasible")
        if found.placement is not None:
            write_buffers(output, buffers, found.placement.offsets_bytes)
            if buffers and _fixed(buffers) == len(buffers):
                warn(f"{file}: all offsets are fixed; to place anew, take the column offset out")
        if json:
            print_json(_record(found, buffers))
        else:
            _say(found, buffers, output, minimize=minimize, interrupted=stopped())
        if stopped():
            return Code.INTERRUPTED
    if found.placement is not None:
        return Code.OK
    return Code.INFEASIBLE if found.status is Status.INFEASIBLE else Code.NOTHING_FOUND


def _shown(name: str, show: Callable[[Board], None]) -> Callable[[int | None, int], None]:
    """Show heights and bounds as they are told."""
    from spmopt.cli.terminal.live import Live
    from spmopt.core.scheduler import Incumbent

    columns = ("buffers", "height", "bound", "gap", "seconds")
    live = Live(lambda height: f"{int(height):,} B", columns=columns)
    show(live)

    def hear(height: int | None, bound: int) -> None:
        live.hear(Incumbent(scheduler=name, value=height, bound=bound, certified=True))

    return hear


def _record(found: Placed, buffers: Sequence[Buffer]) -> dict[str, object]:
    from spmopt.report.results import conflict_record

    placement = found.placement
    return {
        "buffers": len(buffers),
        "fixed": _fixed(buffers),
        "status": found.status.value,
        "height_bytes": None if placement is None else placement.height_bytes,
        "bound_bytes": found.bound_bytes,
        "gap": found.gap,
        "method": found.method,
        "conflict": conflict_record(found.conflict),
    }


def _fixed(buffers: Sequence[Buffer]) -> int:
    return sum(buffer.fixed_bytes is not None for buffer in buffers)


def _say(
    found: Placed, buffers: Sequence[Buffer], output: Path, *, minimize: bool, interrupted: bool
) -> None:
    from spmopt.cli.terminal.output import say

    if found.placement is None:
        say(_nothing(found, interrupted=interrupted))
    else:
        say(f"{_sentence(found, buffers, found.placement, minimize=minimize)}: {output}")


def _nothing(found: Placed, *, interrupted: bool) -> str:
    until = "until the interruption" if interrupted else "within the limits"
    return f"no placement found {until}; none is lower than {found.bound_bytes} bytes"


def _sentence(
    found: Placed, buffers: Sequence[Buffer], placement: Placement, *, minimize: bool
) -> str:
    from spmopt.report.quantities import percent

    above = percent(found.gap or 0).removeprefix("+")
    known = "the least" if found.gap == 0 else f"at most {above} over the least"
    more = ""
    what = "1 buffer" if len(buffers) == 1 else f"{len(buffers)} buffers"
    fixed = _fixed(buffers)
    if fixed:
        what += ", all fixed by the file," if fixed == len(buffers) else f", {fixed} of them fixed,"
        known += " with fixed offsets as they are"
    if found.method == "hints":
        what += " where the hints have them"
        more = "" if minimize or found.gap == 0 else "; --minimize looks for less"
    return f"{what} in {placement.height_bytes} bytes ({known}, {found.bound_bytes} needed{more})"
