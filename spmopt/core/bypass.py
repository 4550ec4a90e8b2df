"""Tensors that bypass the scratchpad, and the instance without them (PROBLEM.md, section 2).

A tensor whose kind is in the machine's ``bypass`` is never resident, so each use streams all of
it. What these streams move, and how long they take, depends on the mode and on nothing that a
schedule decides otherwise. With ``F`` cycles of them in a step of one channel

    d = max(X + F, L + c + S) = F + max(X, L + max(c - F, 0) + S)

because ``X >= L + S``. So the rest is an ordinary instance, whose operations compute for
``max(c - F, 0)`` cycles and do not name these tensors; schedules of it are those of the instance,
their streams apart, and cost less by what is the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.operation import Mode, Operation
from spmopt.core.order import dependences


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """What the streams of an operation's bypassing tensors take, in one mode or all operations."""

    cycles: int = 0
    in_bytes: int = 0
    out_bytes: int = 0

    def value(self, objective: Objective) -> Fraction:
        """Return their part of the objective."""
        return (
            objective.cycle * self.cycles
            + objective.dram_in_byte * self.in_bytes
            + objective.dram_out_byte * self.out_bytes
        )


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """An instance without the tensors that bypass the scratchpad.

    Attributes
    ----------
    instance
        With the same tensors and operations; none uses those that bypass.
    streams
        What the streams left out take at least, whatever the modes.
    """

    instance: Instance
    streams: Streams


def without_bypass(instance: Instance) -> Remainder:
    """Take the tensors that bypass the scratchpad out, in the instance's own order."""
    if not instance.bypassing:
        return Remainder(instance=instance, streams=Streams())
    live, before = _live_after(instance), dependences(instance)
    operations, least = list[Operation](), list[Streams]()
    for step, operation in enumerate(instance.operations):
        found = [_streams(instance, operation, mode, live[step]) for mode in operation.modes]
        remaining = _remaining(instance, operation, found)
        # Orders keep to what follows from the tensors that are gone.
        operations.append(replace(remaining, predecessors=tuple(sorted(before[step]))))
        least.append(
            Streams(
                cycles=min(each.cycles for each in found),
                in_bytes=min(each.in_bytes for each in found),
                out_bytes=min(each.out_bytes for each in found),
            )
        )
    tensors = tuple(
        replace(tensor, in_dram=True, keep=False) if index in instance.bypassing else tensor
        for index, tensor in enumerate(instance.tensors)
    )
    return Remainder(
        instance=replace(
            instance,
            machine=replace(instance.machine, bypass=()),
            tensors=tensors,
            operations=tuple(operations),
            listed=None,
        ),
        streams=Streams(
            cycles=sum(each.cycles for each in least),
            in_bytes=sum(each.in_bytes for each in least),
            out_bytes=sum(each.out_bytes for each in least),
        ),
    )


def _live_after(instance: Instance) -> list[set[int]]:
    """Return of each operation the bypassing tensors whose contents are needed after it."""
    live = {t for t in instance.bypassing if instance.tensors[t].keep}
    after = list[set[int]]()
    for operation in reversed(instance.operations):
        after.append(set(live))
        live -= {*operation.writes} - {*operation.reads}
        live |= instance.bypassing & {*operation.reads}
    return after[::-1]


def _streams(instance: Instance, operation: Operation, mode: Mode, live: set[int]) -> Streams:
    """Return what a mode streams of bypassing tensors, by rules R3, R4 and R6."""
    into, out = list[int](), list[int]()
    for tensor, operand in zip(operation.tensors, mode.operands, strict=True):
        if tensor not in instance.bypassing:
            continue
        size, passes, written = instance.tensors[tensor].size_bytes, operand.passes, tensor in live
        if tensor in operation.reads:
            into.append(passes * size)
        elif written and passes > 1:
            into.append((passes - 1) * size)
        if tensor in operation.writes and written:
            out.append(passes * size)
    cycles = sum(_cycles(instance.machine, size) for size in into + out)
    return Streams(cycles=cycles, in_bytes=sum(into), out_bytes=sum(out))


def _cycles(machine: Machine, size: int) -> int:
    """Return the cycles of one command."""
    rate = machine.bytes_per_cycle
    return machine.dma_setup_cycles - (-size * rate.denominator // rate.numerator)


def _remaining(instance: Instance, operation: Operation, streams: list[Streams]) -> Operation:
    bypassing = instance.bypassing
    kept = [k for k, tensor in enumerate(operation.tensors) if tensor not in bypassing]
    if len(kept) == len(operation.tensors):
        return operation
    modes = tuple(
        replace(
            mode,
            compute_cycles=max(0, mode.compute_cycles - each.cycles),
            operands=tuple(mode.operands[k] for k in kept),
        )
        for mode, each in zip(operation.modes, streams, strict=True)
    )
    return replace(
        operation,
        reads=tuple(t for t in operation.reads if t not in bypassing),
        writes=tuple(t for t in operation.writes if t not in bypassing),
        modes=modes,
    )
