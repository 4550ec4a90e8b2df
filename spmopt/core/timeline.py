"""A problem as arrays, in one order and with one mapping per step.

Every algorithm walks these arrays instead of the records. ``timeline`` gives the operations
as a schedule runs them; ``relaxed_timeline`` takes, where an operation has several mappings, the
least of each figure, as a bound for all mappings must assume.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from spmopt.core.compression import MovedBytes
from spmopt.core.mappings import fitting_mappings
from spmopt.core.operands import READ, UPDATE, WRITE, MappingTable, ranges
from spmopt.core.operation import FIGURES, relax_mapping
from spmopt.core.problem import Problem
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
        Operation and mapping of each step (mapping -1 in a relaxed timeline).
    compute_cycles, scratch_bytes, macs, spm_read_bytes, spm_write_bytes, own_picojoules : (n,)
        Of the step's mapping.
    first : (n + 1,)
        Accesses of step ``i`` are ``first[i]:first[i + 1]``.
    step, tensor, kind, passes : (a,)
        One row an access, by step and then in operand order; ``kind`` is an :class:`Access`.
    required-resident : (a,) bool
    previous, next : (a,)
        The neighboring access of the same tensor, or -1.
    live_after : (a,) bool
        The contents after this access are needed: read before the next blind write, or final
        and kept. Between an access and its next one the tensor is live iff this is set.
    size_bytes : (m,)
    in_dram, keep : (m,) bool
    moved
        Bytes that move per byte of each tensor.
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
    fetches: Ints
    required_resident: Bools
    previous: Ints
    next: Ints
    live_after: Bools
    size_bytes: Ints
    in_dram: Bools
    keep: Bools
    moved: MovedBytes
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

    @property
    def written(self) -> Bools:
        """(m,) Some operation writes the tensor."""
        result: Bools = np.zeros(self.size_bytes.size, bool)
        result[self.tensor[self.kind != Access.READ]] = True
        return result


def timeline(problem: Problem, steps: Steps) -> Timeline:
    """Return the arrays of ``problem`` as ``steps`` run it."""
    table = problem.operands
    mapping = table.mapping[table.first_mapping[steps.operation] + steps.mapping]
    return _build(problem, steps, table.mappings, mapping)


def timeline_in_order(problem: Problem) -> Timeline:
    """Return the arrays of ``problem`` in its own order, every operation in its first mapping."""
    return timeline(problem, Steps.listed(np.zeros(len(problem.operations), np.int64)))


def fitting_timeline(problem: Problem) -> Timeline:
    """Return arrays of ``problem`` in its own order.

    Every operation in its first mapping that fits.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM in any mapping.
    """
    return timeline(problem, Steps.listed(fitting_mappings(problem)))


def relax_timeline(problem: Problem) -> Timeline:
    """Arrays of ``problem`` in its own order with the least of each figure over its mappings."""
    count = len(problem.operations)
    steps = Steps.listed(np.full(count, -1, np.int64))
    if not problem.several_mappings:
        return _build(problem, steps, problem.operands.mappings, problem.operands.mapping)
    # By identity: equal operations share their mappings, and to compare them takes longer.
    every = {id(each.mappings): each.mappings for each in problem.operations}
    number = {key: place for place, key in enumerate(every)}
    mappings = MappingTable.of([relax_mapping(own) for own in every.values()])
    rows = np.array([number[id(each.mappings)] for each in problem.operations], np.int64)
    return _build(problem, steps, mappings, rows)


def timeline_of_mappings(problem: Problem) -> Timeline:
    """Return the relaxed timeline with a row for each access in each mapping of its operation.

    Rows of an access follow each other, by the mapping's number. ``previous``, ``next`` and the
    like are the first rows of other accesses.
    """
    line, table = relax_timeline(problem), problem.operands
    counts = np.diff(table.first_mapping)[line.step]
    first = np.cumsum(counts) - counts
    access = np.repeat(np.arange(counts.size), counts)
    step = line.step[access]
    mapping = table.mapping[table.first_mapping[step] + np.arange(access.size) - first[access]]
    operand = table.mappings.first[mapping] + access - line.first[step]

    def row_of(other: Ints) -> Ints:
        return np.where(other < 0, -1, np.append(first, -1)[other])

    return replace(
        line,
        first=np.append(first, access.size)[line.first],
        step=step,
        tensor=line.tensor[access],
        kind=line.kind[access],
        fetches=table.mappings.fetches[operand],
        required_resident=table.mappings.required_resident[operand],
        previous=row_of(line.previous)[access],
        next=row_of(line.next)[access],
        live_after=line.live_after[access],
        first_access=row_of(line.first_access),
        last_access=row_of(line.last_access),
    )


def _build(problem: Problem, steps: Steps, mappings: MappingTable, mapping: Ints) -> Timeline:
    """Return the arrays of ``steps``, each in the row ``mapping`` of ``mappings``."""
    table, operation = problem.operands, steps.operation
    counts = np.diff(table.first)[operation]
    rows, of_mapping = (
        ranges(table.first[operation], counts),
        ranges(mappings.first[mapping], counts),
    )
    tensor, kind = table.tensor[rows], table.kind[rows]
    count = len(problem.tensors)
    previous, following, first_access, last_access = links(tensor, count)
    followed = following >= 0
    return Timeline(
        chosen=steps,
        **dict(zip(FIGURES, mappings.figures[:, mapping], strict=True)),
        first=np.concatenate(([0], np.cumsum(counts))),
        step=np.repeat(np.arange(operation.size), counts),
        tensor=tensor,
        kind=kind,
        fetches=mappings.fetches[of_mapping],
        required_resident=mappings.required_resident[of_mapping],
        previous=previous,
        next=following,
        # The next access reads: needed. A blind write: dead. None: needed if kept.
        live_after=np.where(followed, kind[following] != Access.WRITE, problem.keep[tensor]),
        size_bytes=problem.size_bytes,
        in_dram=problem.in_dram,
        keep=problem.keep,
        moved=problem.moved,
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
    # Stable: accesses of one tensor stay in the order of steps.
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
