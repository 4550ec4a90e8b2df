"""Commands of schedules as files, for compilers and back ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.executing import computation
from spmopt.api.inputs import Workload
from spmopt.api.solutions import Solution
from spmopt.api.verifying import require_feasible, unverified
from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.core.graph import Graph
    from spmopt.execution.commands import Program
    from spmopt.execution.computations import Computation
    from spmopt.execution.emission.linking import Linked
    from spmopt.execution.memory import Bytes

_COMMANDS = ("commands.jsonl", "commands.bin", "spmopt_sizes.h")
_OF_REFERENCE = ("operators.bin", "contents.bin", "expected.bin")
_SOURCES = ("spmopt_commands.h", "spmopt_program.h", "main.c", "digest.c")
SOURCES = {
    "hash": (*_SOURCES, "hash.c"),
    "reference": (*_SOURCES, "spmopt_operators.h", "reference.c", "kernels.c"),
}
"""Files that are the same for all schedules, by kernels."""
FILES = {
    "hash": (*_COMMANDS, *SOURCES["hash"]),
    "reference": (*_COMMANDS, *_OF_REFERENCE, *SOURCES["reference"]),
}
"""Names of what is written, in the order of writing, by kernels."""


@dataclass(frozen=True, eq=False, repr=False)
class Emission:
    """Files to be written to a folder.

    Attributes
    ----------
    title
        One line on what they hold.
    files
        Contents by name.
    record
        What they hold, as a JSON object.
    """

    title: str
    files: Mapping[str, bytes]
    record: Mapping[str, object]

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __str__(self) -> str:
        return self.title

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


@checked
def emit(
    result: str | Path | Solution,
    network: Workload | Graph | None = None,
    *,
    kernels: str | None = None,
    data: str | None = None,
    seed: int = 0,
    callbacks: Callbacks = QUIET,
) -> Emission:
    """Make files of a verified schedule's commands, for the back end of a compiler.

    They hold every DMA command, move and operation in the order of execution, with addresses,
    descriptors of contiguous bytes, and what each waits for where engines run at the same time;
    and a program in C that follows them.

    Parameters
    ----------
    result
        Result file, or solution.
    network
        What was scheduled, as it was loaded, for kernels reference: a result file has it only if it
        is in pieces.
    kernels
        Kernels in C: hash (results depend on every operand byte, without meaning; default) or
        reference (the network's operators, with initial and expected DRAM content; default with a
        network or data).
    data
        Initial DRAM content for kernels reference: integer (small whole numbers, exact sums in any
        order; default) or normal (normally distributed).
    seed
        Random seed of the initial DRAM content.
    callbacks
        Receive progress.

    Returns
    -------
    Emission
        ``save`` writes them to a folder.

    Raises
    ------
    InputError
        The file cannot be read, holds no schedule, is of another network, or an operator has no
        kernel in C.
    ScheduleError
        The schedule is not legal.
    """
    from spmopt.execution.commands import machine_program
    from spmopt.execution.emission.linking import link
    from spmopt.verifier import require_legal

    if kernels is not None and kernels not in FILES:
        raise ArgumentError("kernels", f" {kernels}: must be {' or '.join(FILES)}")
    chosen = kernels or ("hash" if network is None and data is None else "reference")
    for name, given in (("network", network), ("data", data), ("seed", seed or None)):
        if given is not None and chosen == "hash":
            raise ArgumentError(name, ": is for kernels reference; leave it or kernels out")
    if not isinstance(result, Solution):
        result = unverified(result, callbacks)
    require_feasible(result)
    callbacks.progress("verifying", None)
    require_legal(result.instance, result.schedule, result.result.totals)
    callbacks.progress("deriving commands", None)
    linked = link(machine_program(result.instance, result.schedule))
    contents = _contents(linked, chosen)
    if chosen == "reference":
        callbacks.progress("executing without a scratchpad", None)
        found = computation(result, network, chosen, data, seed=seed, callbacks=callbacks)
        contents |= _of_reference(linked.program, found, data or "integer")
    counts = {
        "commands": len(linked.program.commands),
        "descriptors": len(linked.descriptors),
        "waits": len(linked.waits),
    }
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    files = {name: contents[name] for name in FILES[chosen]}
    record = {"instance": result.instance.name, "kernels": chosen, **counts, "files": list(files)}
    return Emission(f"{result.instance.name}: {words}; kernels {chosen}", files, record)


def _contents(linked: Linked, kernels: str) -> dict[str, bytes]:
    """Return the commands and sources, by name."""
    from importlib.resources import files

    from spmopt.execution.emission.binary import binary, sizes
    from spmopt.execution.emission.lines import json_lines

    here = files("spmopt.execution.emission")
    return {
        "commands.jsonl": json_lines(linked).encode(),
        "commands.bin": binary(linked),
        "spmopt_sizes.h": sizes(linked).encode(),
        **{name: (here / name).read_bytes() for name in SOURCES[kernels]},
    }


def _of_reference(program: Program, found: Computation, data: str) -> dict[str, bytes]:
    """Return what operators compute, and DRAM at the start and at the end."""
    from spmopt.execution.comparison import allowed_differences
    from spmopt.execution.computations import TOLERANCE
    from spmopt.execution.emission.reference import records, tasks
    from spmopt.execution.graph_kernel import GraphKernel

    kernel = found.kernel
    assert isinstance(kernel, GraphKernel)
    tolerance = 0.0 if data == "integer" else TOLERANCE
    allowed = allowed_differences(program.instance, found.expected, kernel.dtypes, tolerance)
    compared = [
        each if limit is not None else None
        for each, limit in zip(found.expected.contents, allowed, strict=True)
    ]
    return {
        "operators.bin": records.binary(tasks.tasks(kernel), kernel.dtypes, allowed),
        "contents.bin": dram(program, found.contents),
        "expected.bin": dram(program, compared),
    }


def dram(program: Program, contents: Sequence[Bytes | None]) -> bytes:
    """Return all of DRAM with the contents of tensors, all bits set elsewhere."""
    import numpy as np

    from spmopt.execution.memory import POISON

    found = np.full(program.dram_bytes, POISON, np.uint8)
    for offset, each in zip(program.dram_offset.tolist(), contents, strict=True):
        if each is not None:
            found[offset : offset + each.size] = each
    return found.tobytes()
