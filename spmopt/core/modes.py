"""The mode that a scheduler of one mode runs each operation in, and operations that have none."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spmopt.core.errors import Conflict, InfeasibleError, Member, irreducible
from spmopt.core.instance import Instance
from spmopt.core.operands import FIGURES, ranges
from spmopt.core.operation import Mode, Operation
from spmopt.core.table import Ints

SEVERAL_MODES = "every operation runs in its first mode that fits the scratchpad"
SCRATCH = -1


def fitting_modes(instance: Instance) -> Ints:
    """Return (n,) first mode of every operation whose stationary operands and scratch fit.

    Raises
    ------
    InfeasibleError
        An operation has no such mode, so that no legal schedule exists (R1 and R3).
    """
    table, page = instance.operands, instance.machine.page_bytes
    pages = -(-instance.size_bytes // page)
    several = np.diff(table.first_mode)
    counts = np.repeat(np.diff(table.first), several)
    used = table.tensor[ranges(np.repeat(table.first[:-1], several), counts)]
    stays = table.modes.stationary[ranges(table.modes.first[table.mode], counts)]
    # A difference of sums is right even where these are beyond 64 bits.
    sums = np.concatenate(([0], np.cumsum(np.where(stays, pages[used], 0))))
    ends = np.cumsum(counts)
    scratch = table.modes.figures[FIGURES.index("scratch_bytes"), table.mode]
    needed = sums[ends] - sums[ends - counts] - (-scratch // page)
    place = np.arange(needed.size) - np.repeat(table.first_mode[:-1], several)
    fits = np.where(needed <= instance.machine.spm_pages, place, needed.size)
    chosen: Ints = np.minimum.reduceat(fits, table.first_mode[:-1])
    if (chosen == needed.size).any():
        raise InfeasibleError(_conflict(instance))
    return chosen


def unfit(instance: Instance) -> Conflict | None:
    """Return why no legal schedule exists; None if one does.

    Where every operation fits in some mode, all the rest can stream.
    """
    try:
        fitting_modes(instance)
    except InfeasibleError as error:
        return error.conflict
    return None


def _conflict(instance: Instance) -> Conflict:
    """Return the operation that needs most, in the mode that needs least."""
    needs = [min(_pages(instance, op, mode) for mode in op.modes) for op in instance.operations]
    step = int(np.argmax(needs))
    operation, page = instance.operations[step], instance.machine.page_bytes
    capacity = instance.machine.spm_pages
    parts = _parts(instance, operation)
    crowd = irreducible(
        sorted(parts, key=lambda part: parts[part], reverse=True)[::-1],
        lambda kept: any(_pages(instance, operation, m, kept) <= capacity for m in operation.modes),
    )
    several = "" if len(operation.modes) == 1 else " at least, in any mode"
    return Conflict(
        where=f"operation {operation.name}",
        need=f"its {_whats(parts)}",
        required_bytes=needs[step] * page,
        available_bytes=capacity * page,
        members=tuple(_member(instance, part, parts[part]) for part in reversed(crowd)),
        kind=f"of SPM in pages of {page} in step {step}{several}",
        step=step,
        advice="give a larger --spm",
    )


def _parts(instance: Instance, operation: Operation) -> dict[int, int]:
    """Pages of what must be on chip in some mode: tensors and, by its least size, the scratch."""
    pages = instance.machine.pages
    parts = {
        tensor: pages(instance.tensors[tensor].size_bytes)
        for mode in operation.modes
        for tensor, operand in zip(operation.tensors, mode.operands, strict=True)
        if operand.stationary
    }
    scratch = [pages(mode.scratch_bytes) for mode in operation.modes if mode.scratch_bytes]
    return {**parts, SCRATCH: min(scratch)} if scratch else parts


def _pages(
    instance: Instance, operation: Operation, mode: Mode, kept: Collection[int] | None = None
) -> int:
    """Return the pages that ``mode`` needs, or if only the parts ``kept`` were needed."""
    machine = instance.machine
    pages = machine.pages(mode.scratch_bytes) if kept is None or SCRATCH in kept else 0
    for tensor, operand in zip(operation.tensors, mode.operands, strict=True):
        if operand.stationary and (kept is None or tensor in kept):
            pages += machine.pages(instance.tensors[tensor].size_bytes)
    return pages


def _whats(parts: Collection[int]) -> str:
    if SCRATCH not in parts:
        return "stationary operands need"
    return "stationary operands and scratch need" if len(parts) > 1 else "scratch needs"


def _member(instance: Instance, part: int, pages: int) -> Member:
    name = "scratch" if part == SCRATCH else instance.tensors[part].name
    return Member(name=name, size_bytes=pages * instance.machine.page_bytes)
