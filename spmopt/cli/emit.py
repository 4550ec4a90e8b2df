"""The command that writes the commands of a schedule for the back end of a compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from spmopt.api import emitting, inputs
from spmopt.cli.options import LoadOptions, Printing, Result, Target, option_record, require_output
from spmopt.core.errors import InputError

_NETWORK = (
    "Scheduled network, with the options that it was loaded with, for kernels reference; only a "
    "result in pieces has it."
)


@option_record(emitting.emit)
class EmitOptions:
    """Options of ``emitting.emit``."""

    kernels: str | None = None
    data: str | None = None
    seed: int = 0


def emit(
    schedule: Result,
    network: Annotated[str | None, Parameter(help=_NETWORK)] = None,
    /,
    *,
    output: Target,
    options: EmitOptions = EmitOptions(),
    load: LoadOptions = LoadOptions(),
    printing: Printing = Printing(),
) -> None:
    """Write the commands of a verified schedule, with addresses, for the back end of a compiler.

    Parameters
    ----------
    output
        Folder to write; existing files are replaced.
    """
    from spmopt.cli.terminal.output import print_json, print_line
    from spmopt.cli.terminal.progress import watching

    if output == Path("-"):
        raise InputError("--output -: several files are written; name a folder")
    for name in {name for each in emitting.FILES.values() for name in each}:
        require_output(output / name, [schedule])
    with watching() as callbacks:
        workload = None
        if network is not None:
            workload = inputs.load(network, **vars(load), callbacks=callbacks)
        found = emitting.emit(schedule, workload, **vars(options), callbacks=callbacks)
        callbacks.progress(f"writing {output}", None)
        found.save(output)
    if printing.json:
        print_json({"folder": str(output), **found.record})
    else:
        print_line(f"{output}: {found.title}")
