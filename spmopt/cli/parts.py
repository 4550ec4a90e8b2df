"""The commands on parts of a network: addresses of buffers, a layer in tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from spmopt.api import allocation, gradients
from spmopt.cli.codes import Code
from spmopt.cli.options import (
    Counts,
    Jobs,
    MachineSettings,
    Names,
    Output,
    Printing,
    choices,
    option_record,
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


@option_record(allocation.place)
class PlaceOptions:
    """Options of ``allocation.place``."""

    capacity: str | None = None
    minimize: bool = False
    time_limit: float = 60.0
    params: Annotated[str | None, Parameter(metavar="FILE")] = None


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


@option_record(gradients.gradients)
class TilesOptions:
    """Options of ``gradients.gradients``."""

    gemm: Annotated[str | None, Parameter(metavar="MxKxN")] = None
    batch: int | None = None
    parameters: Counts | None = None
    assume_pointwise: bool = False
    operators: str | None = None
    products_of_activations: bool = False
    only: str | None = None
    all_input_gradients: bool = False
    im2col: bool = False
    order: Names = ("sequential", "interleaved", "dx-major", "dw-major", "algorithm-1")
    replacement: Names = ("double-buffer",)
    partition: Names | None = None
    cores: int = 1
    tile: Annotated[str | None, Parameter(metavar="MxKxN")] = None
    element_bytes: int = 4
    add_early: bool = False
    machine: str = "small-npu"
    objective: str = "time"
    time_limit: float = 60.0
    tolerance: float = 1e-4
    jobs: Jobs = None
    output: Annotated[str | None, Parameter(name=("--output", "-o"))] = None


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
