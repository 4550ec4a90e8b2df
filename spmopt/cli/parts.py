"""The commands on parts of a network: addresses of buffers, a layer in tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument

from spmopt.api import gradients, inputs, placing
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import PARTS, Jobs, Json, Output, choices, require_output
from spmopt.core.errors import InfeasibleError, InputError

_MACHINE = (
    *("spm", "bandwidth", "throughput", "clock", "page", "dma_setup", "duplex", "technology"),
    "banks",
)
_Layers = Annotated[
    str | None,
    Argument(
        metavar="LAYERS",
        help="Network (see 'spmopt networks'), ONNX file, or SCALE-Sim topology (.csv). "
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


@command(PARTS, Options=placing.place)
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
    from spmopt.cli.terminal.output import print_json, print_line, print_warning
    from spmopt.cli.terminal.progress import watching

    require_output(output)
    columns = ("buffers", "height", "bound", "gap", "seconds")
    live = Live(lambda height: f"{int(height):,} B", columns=columns)
    with interruptible() as stopped:
        with watching(live) as callbacks:
            found = call(placing.place, file, callbacks=replace(callbacks, stop=stopped))
        if found.is_infeasible and not json:
            raise InfeasibleError(found.placed.conflict or f"{file}: infeasible")
        found.save(output)
        placed = found.placed.placement is not None
        if placed and found.buffers and found.fixed == len(found.buffers):
            fixed = "all offsets are fixed; to place anew, remove the column offset"
            print_warning(f"{file}: {fixed}")
        if json:
            print_json(found.record())
        else:
            print_line(f"{found.sentence()}: {output}" if placed else found.sentence())
        if stopped():
            return Code.INTERRUPTED
    if placed:
        return Code.OK
    return Code.INFEASIBLE if found.is_infeasible else Code.NOTHING_FOUND


@command(PARTS, without=("base", "bank"), Options=gradients.gradients, Machine=inputs.machine)
def tiles(call: Call, source: _Layers = None, jobs: Jobs = None, json: Json = False) -> int:
    """Compare orders of a layer's gradients in tiles, and replacements under them."""
    from spmopt.cli.terminal.output import emit, exit_code
    from spmopt.cli.terminal.progress import watching

    values = call.values
    if values["output"] is not None:
        require_output(Path(values["output"]), (source, values["machine"], values["cfg"]))
    own = {name: values[name] for name in _MACHINE if values[name] is not None}
    settings = {**values["settings"], **own}
    with watching(remaining=True) as callbacks:
        found = call(gradients.gradients, source, settings=settings, jobs=jobs, callbacks=callbacks)
    code = exit_code(found.left)
    emit(found, json)
    return code
