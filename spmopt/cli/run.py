"""The command that executes a schedule on real numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from spmopt.api import executing, inputs
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import SCHEDULES, Json

_NETWORK = (
    "What was scheduled, with the options that it was loaded with: only a result in pieces has it. "
    "Without, kernels are hash."
)


@command(SCHEDULES, Execution=executing.run, Network=inputs.load)
def run(
    call: Call,
    schedule: Annotated[Path, Argument(help="Result file, as 'spmopt solve -o' writes it.")],
    network: Annotated[str | None, Argument(help=_NETWORK)] = None,
    json: Json = False,
) -> int:
    """Execute a verified schedule on real numbers, and compare with plain execution."""
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        loaded = None if network is None else call(inputs.load, network, callbacks=callbacks)
        found = call(executing.run, schedule, loaded, callbacks=callbacks)
    emit(found, json)
    return Code.OK if found.same else Code.NOT_VERIFIED
