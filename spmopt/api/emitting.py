"""Commands of schedules as files, for compilers and back ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Titled
from spmopt.api.solutions import Solution
from spmopt.api.verifying import find_unverified, require_feasible

HEADER = "spmopt_commands.h"
FILES = ("commands.jsonl", "commands.bin", HEADER)
"""Names of the files, in the order of writing."""


@dataclass(frozen=True, eq=False, repr=False)
class Emission(Titled):
    """Files to be written to a folder.

    Attributes
    ----------
    files
        Contents by name.
    """

    files: Mapping[str, bytes]

    def save(self, folder: str | Path) -> None:
        """Write the files, and the folder where there is none; existing files are replaced.

        Raises
        ------
        InputError
            That cannot be.
        """
        from spmopt.io.document import require_folder, write_bytes

        require_folder(Path(folder))
        for name, content in self.files.items():
            write_bytes(Path(folder) / name, content)


@check
def emit(result: str | Path | Solution, *, callbacks: Callbacks = QUIET) -> Emission:
    """Make files of a verified schedule's commands, for the back end of a compiler.

    They hold every DMA command, move and operation in the order of execution, with addresses,
    descriptors of contiguous bytes, and the commands that each waits for where engines run at the
    same time.

    Parameters
    ----------
    result
        Result file, or solution.
    callbacks
        Receive progress.

    Returns
    -------
    Emission
        ``save`` writes them to a folder.

    Raises
    ------
    InputError
        The file cannot be read, or holds no schedule.
    ScheduleError
        The schedule is not legal.
    """
    from importlib.resources import files

    import numpy as np

    from spmopt.execution.commands import Kind, machine_program
    from spmopt.execution.emission.binary import binary
    from spmopt.execution.emission.lines import json_lines, records_of
    from spmopt.execution.waits import waits
    from spmopt.verifier import require_legal

    if not isinstance(result, Solution):
        result = find_unverified(result, callbacks)
    require_feasible(result)
    callbacks.progress("verifying", None)
    # Files may have been edited: no command of an unverified schedule is written.
    require_legal(result.problem, result.schedule, result.result.totals)
    callbacks.progress("deriving commands", None)
    program = machine_program(result.problem, result.schedule)
    rows = waits(program)
    streams = int(np.isin(program.commands.kind, (Kind.STREAM_IN, Kind.STREAM_OUT)).sum())
    counts = {
        "commands": len(program.commands),
        "descriptors": len(program.segments) + streams,
        "waits": len(rows),
    }
    records = records_of(program, rows)
    header = (files("spmopt.execution.emission") / HEADER).read_bytes()
    contents = (json_lines(records).encode(), binary(records), header)
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return Emission(
        title=f"{result.problem.name}: {words}",
        files=dict(zip(FILES, contents, strict=True)),
        record={"problem": result.problem.name, **counts, "files": list(FILES)},
    )
