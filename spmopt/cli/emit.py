"""The command that writes the commands of a schedule for the back end of a compiler."""

from __future__ import annotations

from pathlib import Path

from spmopt.api import emitting
from spmopt.cli.options import Printing, Result, Target, require_output
from spmopt.core.errors import InputError


def emit(
    schedule: Result,
    /,
    *,
    output: Target,
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
    for name in emitting.FILES:
        require_output(output / name, [schedule])
    with watching() as callbacks:
        found = emitting.emit(schedule, callbacks=callbacks)
        callbacks.progress(f"writing {output}", None)
        found.save(output)
    if printing.json:
        print_json({"folder": str(output), **found.record})
    else:
        print_line(f"{output}: {found.title}")
