"""The command that writes the commands of a schedule for the back end of a compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from spmopt.api import emitting
from spmopt.cli.binding import Call, command
from spmopt.cli.options import SCHEDULES, Json, require_output
from spmopt.core.errors import InputError

_Folder = Annotated[
    Path, Option("--output", "-o", help="Folder to write to; existing files are replaced.")
]


@command(SCHEDULES)
def emit(
    call: Call,
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    output: _Folder,
    json: Json = False,
) -> None:
    """Write the commands of a verified schedule, with addresses, for the back end of a compiler."""
    from spmopt.cli.terminal.output import print_json, print_line
    from spmopt.cli.terminal.progress import watching

    if output == Path("-"):
        raise InputError("--output -: several files are written; name a folder")
    for name in emitting.FILES:
        require_output(output / name, [schedule])
    with watching() as callbacks:
        found = call(emitting.emit, schedule, callbacks=callbacks)
        callbacks.progress(f"writing {output}", None)
        found.save(output)
    if json:
        print_json({"folder": str(output), **found.record})
    else:
        print_line(f"{output}: {found.title}")
