"""An instance as arrays, in one order and with one mode per step.

Every algorithm walks these arrays instead of the records. ``timeline`` gives the operations
as a schedule runs them; ``relaxed_timeline`` takes, where an operation has several modes, the
least of each figure, which is what a bound for all modes must assume.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

import numpy as np

from spmopt.core.instance import Instance, Mode, Operand, Operation
from spmopt.core.modes import fitting_modes
from spmopt.core.schedule import Steps
from spmopt.core.table import Bools, Ints

_OF_MODE = ("compute_cycles", "scratch_bytes", "macs", "spm_read_bytes", "spm_write_bytes")
"""Figures of a mode."""


class Access(IntEnum):
    """How an operation touches a tensor."""

    READ = 0
    WRITE = 1
    UPDATE = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """Arrays over steps (n), accesses (a) and tensors (m).

    Attributes
    ----------
    chosen : (n,)
        What each step runs (mode -1 in a relaxed timeline).
    compute_cycles, scratch_bytes, macs, spm_read_bytes, spm_write_bytes : (n,)
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
    operations = instance.operations
    return _build(instance, steps, [operations[op].modes[mode] for op, mode in steps.rows()])


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
    modes = [relaxed_mode(op) for op in instance.operations]
    return _build(instance, Steps.listed(np.full(len(modes), -1, np.int64)), modes)


def relaxed_mode(operation: Operation) -> Mode:
    """Return a mode at most as costly as any of ``operation``'s (PROBLEM.md, section 4)."""
    modes = operation.modes
    if len(modes) == 1:
        return modes[0]
    return Mode(
        **{name: min(getattr(mode, name) for mode in modes) for name in _OF_MODE},
        operands=tuple(
            Operand(
                passes=min(o.passes for o in column), stationary=all(o.stationary for o in column)
            )
            for column in zip(*(mode.operands for mode in modes), strict=True)
        ),
    )


def _build(instance: Instance, steps: Steps, modes: list[Mode]) -> Timeline:
    operations = [instance.operations[index] for index in steps.operation.tolist()]
    operands = [op.tensors for op in operations]
    counts = [len(ids) for ids in operands]
    tensor = _ints([t for ids in operands for t in ids])
    kind = _ints([_kind(op, k) for op in operations for k in range(len(op.tensors))])
    step = np.repeat(np.arange(len(operations), dtype=np.int64), _ints(counts))
    count = len(instance.tensors)
    previous, following, first_access, last_access = links(tensor, count)
    keep = np.array([t.keep for t in instance.tensors], bool)
    followed = following >= 0
    live_after = np.where(followed, kind[following] != Access.WRITE, keep[tensor])
    return Timeline(
        chosen=steps,
        **{name: _ints([getattr(m, name) for m in modes]) for name in _OF_MODE},
        first=_ints([0, *accumulate(counts)]),
        step=step,
        tensor=tensor,
        kind=kind,
        passes=_ints([o.passes for m in modes for o in m.operands]),
        stationary=np.array([o.stationary for m in modes for o in m.operands], bool),
        previous=previous,
        next=following,
        live_after=live_after,
        size_bytes=_ints([t.size_bytes for t in instance.tensors]),
        in_dram=np.array([t.in_dram for t in instance.tensors], bool),
        keep=keep,
        first_access=first_access,
        last_access=last_access,
    )


def _kind(operation: Operation, position: int) -> int:
    if position >= len(operation.reads):
        return Access.WRITE
    return Access.UPDATE if operation.reads[position] in operation.writes else Access.READ


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


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
