"""Tensors that bypass the scratchpad, and the problem without them (PROBLEM.md, section 2).

A tensor whose kind is in the machine's ``bypass`` is never resident, so each use streams all of
it. Their bytes and their time depend on the mapping and on nothing that a
schedule decides otherwise. With ``F`` cycles of them in a step of one channel

    d = max(X + F, L + c + S) = F + max(X, L + max(c - F, 0) + S)

because ``X >= L + S``. So the rest is an ordinary problem, whose operations compute for
``max(c - F, 0)`` cycles and do not name these tensors; schedules of it are those of the problem,
their streams apart, and cost less by a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import ceil

from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.operation import Operation, OpMapping
from spmopt.core.order import dependences
from spmopt.core.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Bytes and time of the streams of bypassing tensors, of one mapping or of all operations."""

    cycles: int = 0
    in_bytes: int = 0
    out_bytes: int = 0
    unpacked_bytes: int = 0
    packed_bytes: int = 0

    def value(self, objective: Objective) -> Fraction:
        """Return their part of the objective."""
        return (
            objective.cycle * self.cycles
            + objective.dram_in_byte * self.in_bytes
            + objective.dram_out_byte * self.out_bytes
            + objective.unpacked_byte * self.unpacked_bytes
            + objective.packed_byte * self.packed_bytes
        )


_FIGURES = tuple(each.name for each in fields(Streams))


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """A problem without the tensors that bypass the scratchpad.

    Attributes
    ----------
    problem
        With the same tensors and operations; none uses those that bypass.
    streams
        Lower limit of the streams left out, over all mappings.
    """

    problem: Problem
    streams: Streams


def without_bypass(problem: Problem) -> Remainder:
    """Take the tensors that bypass the scratchpad out, in the problem's own order."""
    if not problem.bypassing:
        return Remainder(problem=problem, streams=Streams())
    live, before = _live_after(problem), dependences(problem)
    operations, least = list[Operation](), list[Streams]()
    for step, operation in enumerate(problem.operations):
        found = [
            _streams(problem, operation, mapping, live[step]) for mapping in operation.mappings
        ]
        remaining = _remaining(problem, operation, found)
        # Orders obey dependences through tensors that are gone.
        # Bypassing tensors are gone, but the order that they impose is not.
        operations.append(replace(remaining, predecessors=tuple(sorted(before[step]))))
        least.append(
            Streams(**{name: min(getattr(each, name) for each in found) for name in _FIGURES})
        )
    tensors = tuple(
        # Untouched now: present at the start and not wanted, it constrains nothing.
        replace(tensor, in_dram=True, keep=False) if index in problem.bypassing else tensor
        for index, tensor in enumerate(problem.tensors)
    )
    return Remainder(
        problem=replace(
            problem,
            machine=replace(problem.machine, bypass=()),
            tensors=tensors,
            operations=tuple(operations),
            listed=None,
        ),
        streams=Streams(**{name: sum(getattr(each, name) for each in least) for name in _FIGURES}),
    )


def _live_after(problem: Problem) -> list[set[int]]:
    """Return of each operation the bypassing tensors whose contents are needed after it."""
    live = {t for t in problem.bypassing if problem.tensors[t].keep}
    after = list[set[int]]()
    for operation in reversed(problem.operations):
        after.append(set(live))
        live -= {*operation.writes} - {*operation.reads}
        live |= problem.bypassing & {*operation.reads}
    return after[::-1]


def _streams(problem: Problem, operation: Operation, mapping: OpMapping, live: set[int]) -> Streams:
    """Return the streams of bypassing tensors in a mapping, by rules R3, R4 and R6."""
    into, out = list[tuple[int, int]](), list[tuple[int, int]]()
    for tensor, operand in zip(operation.tensors, mapping.operands, strict=True):
        if tensor not in problem.bypassing:
            continue
        size, fetches, written = problem.tensors[tensor].size_bytes, operand.fetches, tensor in live
        if tensor in operation.reads:
            into.append((tensor, fetches * size))
        # R4: partial sums come back p - 1 times; a dead result is never written.
        elif written and fetches > 1:
            into.append((tensor, (fetches - 1) * size))
        if tensor in operation.writes and written:
            out.append((tensor, fetches * size))
    moved_in, moved_out = (
        [ceil(problem.machine.moved_ratio(problem.tensors[t].kind) * size) for t, size in each]
        for each in (into, out)
    )
    return Streams(
        cycles=sum(_cycles(problem.machine, size) for size in moved_in + moved_out),
        in_bytes=sum(moved_in),
        out_bytes=sum(moved_out),
        unpacked_bytes=sum(size for _, size in into) - sum(moved_in),
        packed_bytes=sum(size for _, size in out) - sum(moved_out),
    )


def _cycles(machine: Machine, size: int) -> int:
    """Return the cycles of one command."""
    rate = machine.bytes_per_cycle
    return machine.dma_setup_cycles - (-size * rate.denominator // rate.numerator)


def _remaining(problem: Problem, operation: Operation, streams: list[Streams]) -> Operation:
    bypassing = problem.bypassing
    kept = [k for k, tensor in enumerate(operation.tensors) if tensor not in bypassing]
    if len(kept) == len(operation.tensors):
        return operation
    mappings = tuple(
        replace(
            mapping,
            # See the module: computation hides behind the streams that are taken out.
            compute_cycles=max(0, mapping.compute_cycles - each.cycles),
            waiting_bytes=0,
            operands=tuple(mapping.operands[k] for k in kept),
        )
        for mapping, each in zip(operation.mappings, streams, strict=True)
    )
    return replace(
        operation,
        reads=tuple(t for t in operation.reads if t not in bypassing),
        writes=tuple(t for t in operation.writes if t not in bypassing),
        mappings=mappings,
    )
