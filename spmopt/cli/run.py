"""The command that executes a schedule on real numbers."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from spmopt.api import executing, inputs
from spmopt.cli.codes import Code
from spmopt.cli.options import LoadOptions, Options, Printing, Result

_NETWORK = (
    "Scheduled network, with the options that it was loaded with; only a fused result has it. "
    "Without it, kernels are hash."
)


class RunOptions(Options, of=executing.run):
    """Options of an execution."""


def run(
    schedule: Result,
    network: Annotated[str | None, Parameter(help=_NETWORK)] = None,
    /,
    *,
    options: RunOptions = RunOptions(),
    load: LoadOptions = LoadOptions(),
    printing: Printing = Printing(),
) -> int:
    """Execute a verified schedule on real numbers, and compare with plain execution."""
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    with watching() as callbacks:
        workload = None
        if network is not None:
            workload = inputs.load(network, **vars(load), callbacks=callbacks)
        found = executing.run(schedule, workload, **vars(options), callbacks=callbacks)
    emit(found, printing.json)
    return Code.OK if found.same else Code.NOT_VERIFIED
