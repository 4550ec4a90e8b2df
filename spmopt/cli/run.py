"""The command that executes a schedule on real numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from spmopt.api import executing
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import SCHEDULES, Json


@command(SCHEDULES, Execution=executing.run)
def run(
    call: Call,
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    json: Json = False,
) -> int:
    """Execute a verified schedule on real numbers, and compare with plain execution."""
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        found = call(executing.run, schedule, callbacks=callbacks)
    emit(found, json)
    return Code.OK if found.same else Code.NOT_VERIFIED
