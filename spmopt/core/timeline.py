"""An instance as arrays, in one order and with one mode per step.

Every algorithm walks these arrays instead of the records. ``timeline`` gives the operations
as a schedule runs them; ``relaxed_timeline`` takes, where an operation has several modes, the
least of each figure, which is what a bound for all modes must assume.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.modes import fitting_modes
from spmopt.core.operands import FIGURES, READ, UPDATE, WRITE, ModeTable, ranges
from spmopt.core.operation import Mode, Operand, Operation
from spmopt.core.schedule import Steps
from spmopt.core.table import Bools, Ints


class Access(IntEnum):
    """How an operation touches a tensor."""

    READ = READ
    WRITE = WRITE
    UPDATE = UPDATE


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """Arrays over steps (n), accesses (a) and tensors (m).

    Attributes
    ----------
    chosen : (n,)
        What each step runs (mode -1 in a relaxed timeline).
    compute_cycles, scratch_bytes, macs, spm_read_bytes, spm_write_bytes, own_picojoules : (n,)
        Of the step's mode.
    first : (n + 1,)
        Accesses of step ``i`` are ``first[i]:first[i + 1]``.
    step, tensor, kind, passes : (a,)
        One row an access, by step and then in operand order; ``kind`` is an :class:`Access`.
    stationary : (a,) bool
    previous, next : (a,)
        The neighboring access of the same tensor, or -1.
    live_after : (a,) bool
        The contents after this access are needed: read before the next blind write, or final
        and kept. Between an access and its next one the tensor is live iff this is set.
    size_bytes : (m,)
    in_dram, keep : (m,) bool
    first_access, last_access : (m,)
        Of each tensor, or -1 for one that no operation touches.
    """

    chosen: Steps
    compute_cycles: Ints
    scratch_bytes: Ints
    macs: Ints
    spm_read_bytes: Ints
    spm_write_bytes: Ints
    own_picojoules: Ints
    first: Ints
    step: Ints
    tensor: Ints
    kind: Ints
    passes: Ints
    stationary: Bools
    previous: Ints
    next: Ints
    live_after: Bools
    size_bytes: Ints
    in_dram: Bools
    keep: Bools
    first_access: Ints
    last_access: Ints

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.order.size)

    @property
    def order(self) -> Ints:
        """(n,) The operation that each step runs."""
        return self.chosen.operation

    @property
    def live_before(self) -> Bools:
        """(m,) The contents at the start are needed."""
        touched = self.first_access >= 0
        kind = self.kind[self.first_access] if self.kind.size else np.zeros_like(self.size_bytes)
        result: Bools = np.where(touched, kind != Access.WRITE, self.keep)
        return result


def timeline(instance: Instance, steps: Steps) -> Timeline:
    """Return the arrays of ``instance`` as ``steps`` run it."""
    table = instance.operands
    mode = table.mode[table.first_mode[steps.operation] + steps.mode]
    return _build(instance, steps, table.modes, mode)


def listed_timeline(instance: Instance) -> Timeline:
    """Return the arrays of ``instance`` in its own order, every operation in its first mode."""
    return timeline(instance, Steps.listed(np.zeros(len(instance.operations), np.int64)))


def fitting_timeline(instance: Instance) -> Timeline:
    """Return arrays of ``instance`` in its own order, every operation in its first mode that fits.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM in any mode.
    """
    return timeline(instance, Steps.listed(fitting_modes(instance)))


def relaxed_timeline(instance: Instance) -> Timeline:
    """Arrays of ``instance`` in its own order with the least of each figure over its modes."""
    count = len(instance.operations)
    steps = Steps.listed(np.full(count, -1, np.int64))
    if not instance.several_modes:
        return _build(instance, steps, instance.operands.modes, instance.operands.mode)
    modes = ModeTable.of([relaxed_mode(op) for op in instance.operations])
    return _build(instance, steps, modes, np.arange(count))


def relaxed_mode(operation: Operation) -> Mode:
    """Return a mode at most as costly as any of ``operation``'s (PROBLEM.md, section 4)."""
    modes = operation.modes
    if len(modes) == 1:
        return modes[0]
    return Mode(
        **{name: min(getattr(mode, name) for mode in modes) for name in FIGURES},
        operands=tuple(
            Operand(
                passes=min(o.passes for o in column), stationary=all(o.stationary for o in column)
            )
            for column in zip(*(mode.operands for mode in modes), strict=True)
        ),
    )


def _build(instance: Instance, steps: Steps, modes: ModeTable, mode: Ints) -> Timeline:
    """Return the arrays of ``steps``, each in the row ``mode`` of ``modes``."""
    table, operation = instance.operands, steps.operation
    counts = np.diff(table.first)[operation]
    rows, of_mode = ranges(table.first[operation], counts), ranges(modes.first[mode], counts)
    tensor, kind = table.tensor[rows], table.kind[rows]
    count = len(instance.tensors)
    previous, following, first_access, last_access = links(tensor, count)
    followed = following >= 0
    return Timeline(
        chosen=steps,
        **dict(zip(FIGURES, modes.figures[:, mode], strict=True)),
        first=np.concatenate(([0], np.cumsum(counts))),
        step=np.repeat(np.arange(operation.size), counts),
        tensor=tensor,
        kind=kind,
        passes=modes.passes[of_mode],
        stationary=modes.stationary[of_mode],
        previous=previous,
        next=following,
        live_after=np.where(followed, kind[following] != Access.WRITE, instance.keep[tensor]),
        size_bytes=instance.size_bytes,
        in_dram=instance.in_dram,
        keep=instance.keep,
        first_access=first_access,
        last_access=last_access,
    )


def links(tensor: Ints, count: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Previous and next access of the same tensor, and each tensor's first and last; -1 for none.

    Parameters
    ----------
    tensor : (a,)
        Of each access, in the order of steps.
    count
        Tensors that there are.
    """
    order = np.argsort(tensor, kind="stable")
    same = tensor[order[1:]] == tensor[order[:-1]]
    previous = np.full(tensor.size, -1, np.int64)
    following = np.full(tensor.size, -1, np.int64)
    previous[order[1:][same]] = order[:-1][same]
    following[order[:-1][same]] = order[1:][same]
    first_access = np.full(count, -1, np.int64)
    last_access = np.full(count, -1, np.int64)
    starts, ends = previous < 0, following < 0
    first_access[tensor[starts]] = np.flatnonzero(starts)
    last_access[tensor[ends]] = np.flatnonzero(ends)
    return previous, following, first_access, last_access
