"""The command that computes gradients in tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Typer

from spmopt.api import gradients, inputs
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import PARTS, Jobs, Json
from spmopt.core.errors import InputError

_MACHINE = ("spm", "bandwidth", "throughput", "clock", "page", "dma_setup", "duplex", "technology")
_Layers = Annotated[
    str | None,
    Argument(
        metavar="LAYERS",
        help="Network (see 'spmopt networks'), ONNX file, or SCALE-Sim topology (.csv). "
        "Convolutions are products of im2col rows.",
    ),
]


def add(app: Typer) -> None:
    """Add the command."""
    functions: dict[str, Any] = {"Options": gradients.gradients, "Machine": inputs.machine}
    command(app, panel=PARTS, without=("base", "bank"), **functions)(tiles)


def tiles(call: Call, source: _Layers = None, jobs: Jobs = None, json: Json = False) -> int:
    """Compare orders of a layer's gradients in tiles, and replacements under them."""
    from spmopt.cli.terminal.output import emit, tell
    from spmopt.cli.terminal.progress import watching
    from spmopt.io.document import require_writable

    values = call.values
    if values["output"] is not None:
        output = Path(values["output"])
        for name in (source, values["machine"], values["cfg"]):
            if name and output.is_file() and Path(name).is_file() and output.samefile(name):
                raise InputError(f"-o {output}: would replace the file that is read; name another")
        require_writable(output)
    settings = dict(values["settings"])
    settings |= {n: values[n] for n in (*_MACHINE, "banks") if values[n] is not None}
    with watching(remaining=True) as callbacks:
        found = call(gradients.gradients, source, settings=settings, jobs=jobs, callbacks=callbacks)
    if found.left:
        tell(f"interrupted: {found.left}")
    emit(found, json)
    return Code.INTERRUPTED if found.left else Code.OK
