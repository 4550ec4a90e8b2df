"""The mapping that a scheduler of one mapping runs each operation in.

And operations that have none.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import ceil

import numpy as np

from spmopt.core.errors import Conflict, InfeasibleError, Member, irreducible
from spmopt.core.machine import Machine
from spmopt.core.operands import ranges
from spmopt.core.operation import FIGURES, Operation, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints

SEVERAL_MAPPINGS = "every operation runs in its first mapping that fits the scratchpad"
SCRATCH = -1


def fitting_mappings(problem: Problem) -> Ints:
    """Return (n,) first mapping of every operation whose resident operands and scratch fit.

    Raises
    ------
    InfeasibleError
        An operation has no such mapping, so that no legal schedule exists (R1 and R3).
    """
    table = problem.operands
    fit, several = fits_alone(problem), np.diff(table.first_mapping)
    place = np.arange(fit.size) - np.repeat(table.first_mapping[:-1], several)
    # A mapping that does not fit gets a number that no operation has, which loses each minimum.
    chosen: Ints = np.minimum.reduceat(np.where(fit, place, fit.size), table.first_mapping[:-1])
    if (chosen == fit.size).any():
        raise InfeasibleError(_conflict(problem))
    return chosen


def fits_alone(problem: Problem) -> Bools:
    """Return (k,) of each mapping whether its resident operands and scratch fit the scratchpad."""
    table, page = problem.operands, problem.machine.page_bytes
    pages = -(-problem.size_bytes // page)
    # One row per mapping, not per operation: operations have different numbers of them.
    several = np.diff(table.first_mapping)
    counts = np.repeat(np.diff(table.first), several)
    used = table.tensor[ranges(np.repeat(table.first[:-1], several), counts)]
    stays = table.mappings.required_resident[ranges(table.mappings.first[table.mapping], counts)]
    # A difference of sums is right even where these are beyond 64 bits.
    sums = np.concatenate(([0], np.cumsum(np.where(stays, pages[used], 0))))
    ends = np.cumsum(counts)
    scratch = table.mappings.figures[FIGURES.index("scratch_bytes"), table.mapping]
    # Minus the floor of the negative: pages of scratch, rounded up.
    needed = sums[ends] - sums[ends - counts] - (-scratch // page)
    fit: Bools = needed <= problem.machine.spm_pages
    return fit


def in_mappings(problem: Problem, mapping: Ints) -> Problem:
    """Return the problem whose operations have one mapping each (n,), without fusion tiles."""
    chosen = zip(problem.operations, mapping.tolist(), strict=True)
    operations = tuple(replace(each, mappings=(each.mappings[m],)) for each, m in chosen)
    return replace(problem, operations=operations, listed=None, fused_from=None, fusion_plan=())


def waiting_cycles(machine: Machine, size_bytes: int) -> int:
    """Return the cycles in which computing waits for bytes of tiles of one buffer."""
    return ceil(size_bytes / machine.bytes_per_cycle)


def on_channel(problem: Problem, machine: Machine) -> Problem:
    """Return a problem on a machine that computes as its own does; waiting is for the channel."""
    before = problem.machine

    def waits(mapping: OpMapping) -> OpMapping:
        size = mapping.waiting_bytes
        cycles = waiting_cycles(machine, size) - waiting_cycles(before, size)
        return replace(mapping, compute_cycles=mapping.compute_cycles + cycles)

    if not problem.waits or before.bytes_per_cycle == machine.bytes_per_cycle:
        return replace(problem, machine=machine)
    operations = tuple(
        replace(each, mappings=tuple(map(waits, each.mappings))) for each in problem.operations
    )
    return replace(problem, machine=machine, operations=operations)


def unfit(problem: Problem) -> Conflict | None:
    """Return why no legal schedule exists; None if one does.

    Where every operation fits in some mapping, all the rest can stream.
    """
    try:
        fitting_mappings(problem)
    except InfeasibleError as error:
        return error.conflict
    return None


def _conflict(problem: Problem) -> Conflict:
    """Return the operation that needs most, in the mapping that needs least."""
    needs = [
        min(_pages(problem, op, mapping) for mapping in op.mappings) for op in problem.operations
    ]
    step = int(np.argmax(needs))
    operation, page = problem.operations[step], problem.machine.page_bytes
    capacity = problem.machine.spm_pages
    parts = _parts(problem, operation)
    crowd = irreducible(
        # Smallest first: `irreducible` leaves out first members first, so large ones stay.
        sorted(parts, key=lambda part: parts[part], reverse=True)[::-1],
        lambda kept: any(
            _pages(problem, operation, m, kept) <= capacity for m in operation.mappings
        ),
    )
    several = "" if len(operation.mappings) == 1 else " at least, in any mapping"
    return Conflict(
        where=f"operation {operation.name}",
        need=f"its {_whats(parts)}",
        required_bytes=needs[step] * page,
        available_bytes=capacity * page,
        members=tuple(_member(problem, part, parts[part]) for part in reversed(crowd)),
        kind=f"of SPM in pages of {page} in step {step}{several}",
        step=step,
        advice="give a larger --spm",
    )


def _parts(problem: Problem, operation: Operation) -> dict[int, int]:
    """Pages required on chip in some mapping: tensors and, by its least size, the scratch."""
    pages = problem.machine.pages
    parts = {
        tensor: pages(problem.tensors[tensor].size_bytes)
        for mapping in operation.mappings
        for tensor, operand in zip(operation.tensors, mapping.operands, strict=True)
        if operand.required_resident
    }
    scratch = [
        pages(mapping.scratch_bytes) for mapping in operation.mappings if mapping.scratch_bytes
    ]
    return {**parts, SCRATCH: min(scratch)} if scratch else parts


def _pages(
    problem: Problem, operation: Operation, mapping: OpMapping, kept: Collection[int] | None = None
) -> int:
    """Return the pages that ``mapping`` needs, or if only the parts ``kept`` were needed."""
    machine = problem.machine
    pages = machine.pages(mapping.scratch_bytes) if kept is None or SCRATCH in kept else 0
    for tensor, operand in zip(operation.tensors, mapping.operands, strict=True):
        if operand.required_resident and (kept is None or tensor in kept):
            pages += machine.pages(problem.tensors[tensor].size_bytes)
    return pages


def _whats(parts: Collection[int]) -> str:
    if SCRATCH not in parts:
        return "required-resident operands need"
    return "required-resident operands and scratch need" if len(parts) > 1 else "scratch needs"


def _member(problem: Problem, part: int, pages: int) -> Member:
    name = "scratch" if part == SCRATCH else problem.tensors[part].name
    return Member(name=name, size_bytes=pages * problem.machine.page_bytes)
