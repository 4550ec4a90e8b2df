"""What an order of tile products costs under double buffering, quickly and exactly.

The figures are those of the verified schedule of ``solve(backward(grid, machine, order),
"double-buffer")``; neither the instance nor the schedule is made. They serve to choose: what is
shown is verified.
"""

from __future__ import annotations

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, links
from spmopt.policies.double_buffer.figures import Figures, figures
from spmopt.tiles.build import require_room
from spmopt.tiles.grid import Grid
from spmopt.tiles.matrices import INPUTS
from spmopt.tiles.program import Program


def evaluate(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    reuse: str = "shared",
    add_early: bool = False,
) -> Figures:
    """Traffic and makespan of an order by the policy ``double-buffer``.

    Parameters
    ----------
    grid, machine, order, element_bytes, add_early
        As for :func:`~spmopt.tiles.backward.backward`, or :func:`~spmopt.tiles.forward.forward`.
    reuse
        The policy's option.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = Program.of(grid, machine, order, element_bytes=element_bytes, add_early=add_early)
    require_room(program)
    return figures(machine, timeline(program), shared=reuse == "shared")


def timeline(program: Program) -> Timeline:
    """Arrays of the instance of ``program`` in its own order, all operands resident."""
    tensor = program.tensor
    operations, accesses, tensors = program.place.size, tensor.size, program.size_bytes.size
    keep = np.zeros(tensors, bool)
    in_dram = np.zeros(tensors, bool)
    for matrix, sizes in program.tiles.size_bytes.items():
        first = program.tiles.first[matrix]
        (keep if matrix in INPUTS else in_dram)[first : first + sizes.size] = True
    previous, following, first_access, last_access = links(tensor, tensors)
    nothing = np.zeros(operations, np.int64)
    return Timeline(
        operation=np.arange(operations),
        mode=nothing,
        compute_cycles=program.compute_cycles,
        scratch_bytes=nothing,
        macs=program.macs,
        spm_read_bytes=program.moved_bytes(without=Access.WRITE),
        spm_write_bytes=program.moved_bytes(without=Access.READ),
        first=program.first,
        step=np.arange(operations).repeat(np.diff(program.first)),
        tensor=tensor,
        kind=program.kind,
        passes=np.ones(accesses, np.int64),
        stationary=np.ones(accesses, bool),
        previous=previous,
        next=following,
        live_after=(following >= 0) | keep[tensor],  # only a first access is a blind write
        size_bytes=program.size_bytes,
        in_dram=in_dram,
        keep=keep,
        first_access=first_access,
        last_access=last_access,
    )
