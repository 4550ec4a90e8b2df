"""The command that gives buffers of known lifetimes their addresses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Typer

from spmopt.api import placing
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import PARTS, Json, Output, choices
from spmopt.core.errors import InfeasibleError, InputError

_FILE = "CSV file as MiniMalloc's; a blank line ends it. Columns, by the names in its first line:"
_COLUMNS = {
    "id": "name (also buffer, buffer_id)",
    "lower, upper": "the buffer lives from lower until before upper (also start or begin; "
    "end instead of upper is inclusive, and so are ends of gaps then)",
    "size": "bytes",
    "alignment": "the offset must be a multiple of it; may be empty",
    "offset": "fixes the buffer there; empty: it is free. What was placed stays so when it is "
    "placed again: remove the column first",
    "hint": "an offset to try; empty or negative: none. Where all buffers have hints that form "
    "a placement, that is the answer, and --minimize looks for a lower one",
    "gaps": "times that need less, with blanks between: 3-5 needs nothing from 3 until before 5, "
    "3-5@0:4 only the buffer's bytes from 0 until before 4",
}


def add(app: Typer) -> None:
    """Add the command."""
    command(app, panel=PARTS, Options=placing.place)(place)


def place(
    call: Call,
    file: Annotated[Path, Argument(help=choices(_FILE, _COLUMNS))],
    output: Output,
    json: Json = False,
) -> int:
    """Give buffers with known lifetimes their offsets in one memory.

    The table is written with the column offset. The height is the end of the topmost
    buffer; "needed" is a proved bound. Exit code 4: no placement found within the limits.
    """
    if call.values["capacity"] is None and not call.values["minimize"]:
        raise InputError("give --capacity SIZE, or --minimize for the least height")
    from spmopt.cli.terminal.interrupt import interruptible
    from spmopt.cli.terminal.live import Live
    from spmopt.cli.terminal.output import print_json, say, tell, warn
    from spmopt.cli.terminal.progress import watching_rows
    from spmopt.io.document import require_writable

    require_writable(output)
    columns = ("buffers", "height", "bound", "gap", "seconds")
    with interruptible(tell) as stopped:
        with watching_rows() as (callbacks, show):
            live = Live(lambda height: f"{int(height):,} B", columns=columns)
            show(live)
            heard = replace(callbacks, stop=stopped, on_incumbent=live.hear)
            found = call(placing.place, file, callbacks=heard)
        if found.is_infeasible and not json:
            raise InfeasibleError(found.placed.conflict or f"{file}: infeasible")
        found.save(output)
        placed = found.placed.placement is not None
        if placed and found.buffers and found.fixed == len(found.buffers):
            warn(f"{file}: all offsets are fixed; to place anew, remove the column offset")
        if json:
            print_json(found.record())
        else:
            say(f"{found.sentence()}: {output}" if placed else found.sentence())
        if stopped():
            return Code.INTERRUPTED
    if placed:
        return Code.OK
    return Code.INFEASIBLE if found.is_infeasible else Code.NOTHING_FOUND
