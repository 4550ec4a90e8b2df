"""The commands on parts of a network: addresses of buffers, a layer in tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from spmopt.api import allocation, gradients
from spmopt.cli.codes import Code
from spmopt.cli.options import (
    MachineSettings,
    Options,
    Output,
    Printing,
    choices,
    require_output,
)
from spmopt.core.errors import InfeasibleError, InputError

_Layers = Annotated[
    str | None,
    Parameter(
        help="Network ('spmopt networks' lists them), ONNX file, or SCALE-Sim topology (.csv). "
        "Convolutions are products of im2col rows.",
    ),
]
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


class PlaceOptions(Options, of=allocation.place):
    """Options of a placement."""


def allocate(
    file: Annotated[Path, Parameter(help=choices(_FILE, _COLUMNS))],
    /,
    *,
    options: PlaceOptions = PlaceOptions(),
    output: Output,
    printing: Printing = Printing(),
) -> int:
    """Assign offsets to buffers with known lifetimes in one memory.

    The output is the table with the column offset. The height is the end of the topmost
    buffer; "needed" is a proved bound. Exit code 4: no placement found within the limits.
    """
    if options.capacity is None and not options.minimize:
        raise InputError("give --capacity SIZE, or --minimize for the least height")
    from spmopt.cli.terminal.interrupt import interruptible
    from spmopt.cli.terminal.live import Live
    from spmopt.cli.terminal.output import print_json, print_line, print_warning
    from spmopt.cli.terminal.progress import watching

    require_output(output)
    columns = ("buffers", "height", "bound", "gap", "seconds")
    live = Live(lambda height: f"{int(height):,} B", columns=columns)
    with interruptible() as stopped:
        with watching(live) as shown:
            callbacks = replace(shown, stop=stopped)
            found = allocation.place(file, **vars(options), callbacks=callbacks)
        if found.is_infeasible and not printing.json:
            raise InfeasibleError(found.placed.conflict or f"{file}: infeasible")
        found.save(output)
        placed = found.placed.placement is not None
        # The output has the column offset: read again as input, nothing can move.
        if placed and found.buffers and found.fixed == len(found.buffers):
            fixed = "all offsets are fixed; to place anew, remove the column offset"
            print_warning(f"{file}: {fixed}")
        if printing.json:
            print_json(found.record())
        else:
            print_line(f"{found.sentence()}: {output}" if placed else found.sentence())
        if stopped():
            return Code.INTERRUPTED
    if placed:
        return Code.OK
    return Code.INFEASIBLE if found.is_infeasible else Code.NOTHING_FOUND


class TilesOptions(Options, of=gradients.gradients, without=("settings",), jobs=None):
    """Options of gradients in tiles."""


def tiles(
    source: _Layers = None,
    /,
    *,
    options: TilesOptions = TilesOptions(),
    machine: MachineSettings = MachineSettings(),
    printing: Printing = Printing(),
) -> int:
    """Compare orders of a layer's gradients in tiles, and replacements under them."""
    from spmopt.cli.terminal.output import emit, exit_code
    from spmopt.cli.terminal.progress import watching

    if options.output is not None:
        require_output(Path(options.output), (source, options.machine))
    # Settings of one key: named options win over --set.
    own = {name: value for name, value in vars(machine).items() if value is not None}
    settings = {**own.pop("settings", {}), **own}
    with watching(remaining=True) as callbacks:
        found = gradients.gradients(source, **vars(options), settings=settings, callbacks=callbacks)
    code = exit_code(found.left)
    emit(found, printing.json)
    return code
