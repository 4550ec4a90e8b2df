"""Synchronous moves at uses, asynchronous ones that hide whole under one kernel.

M. Hildebrand, J. Khan, S. Trika, J. Lowe-Power and V. Akella, "AutoTM: automatic tensor movement
in heterogeneous memory systems using integer linear programming", ASPLOS 2020. Its moves: a
synchronous one, before or after a kernel that uses the tensor; an asynchronous one, which runs
beside a single kernel and must be over with it. A kernel may also work on slow memory directly.

Departures. AutoTM chooses tensors and moves by an integer program over profiled kernels; here
Belady's rule chooses the tensors (:mod:`spmopt.policies.belady`), and each move takes the kernel
nearest to its use that has the time and the room until then, if there is one. A move beside a
kernel never lengthens it, while AutoTM may let it. A synchronous move overlaps with the kernel
that it serves, as rows of streams do, where AutoTM stalls for all of it.
"""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, fitting_timeline
from spmopt.policies.belady import distance
from spmopt.policies.gaps import (
    Gaps,
    Transfers,
    earliest_loads,
    free_pages,
    latest_stores,
    plan_of,
    residency_of,
    whole_gaps,
)
from spmopt.policies.idle import idle_beside_streams
from spmopt.policies.policy import in_first_mappings
from spmopt.policies.ranked import keep_by_rank


def autotm(problem: Problem, request: Request) -> Result:
    """Schedule in the problem's own order; the mappings are the first that fit.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    del request
    arrays = fitting_timeline(problem)
    residency_plan = keep_by_rank(problem, arrays, distance(arrays))
    moved = under_kernels(problem.machine, arrays, residency_plan)
    return in_first_mappings(problem, moved)


def under_kernels(
    machine: Machine, timeline: Timeline, residency_plan: ResidencyPlan
) -> ResidencyPlan:
    """Return ``residency_plan``, with the same residency at uses.

    Each move whole and within one step.
    """
    gaps = whole_gaps(timeline, residency_plan.residency)
    none = Transfers.empty()
    inward, outward = idle_beside_streams(machine, timeline, gaps.held)
    room = free_pages(machine, timeline, residency_of(gaps, none, none))
    stores = _stores_under_one(machine, gaps, outward, room)
    # On one channel the stores have taken their time from the loads.
    idle = inward if machine.duplex else outward
    loads = _loads_under_one(machine, gaps, earliest_loads(gaps, stores), idle, room)
    return plan_of(gaps, stores, loads)


def _stores_under_one(machine: Machine, gaps: Gaps, idle: Ints, room: Ints) -> Transfers:
    """Stores, each whole; the ``idle`` cycles (n,) and the ``room`` in pages (n,) get less.

    A store goes under the first step after the use, up to the last one that it may move in, that
    has the time, if the tensor can remain until then; otherwise it moves at the use.
    """
    timeline = gaps.timeline
    access = _by_step(timeline, gaps.saved > 0)
    size, use, write = gaps.saved[access], timeline.step[access], gaps.last_write[access]
    moved = timeline.moved.of(timeline.tensor[access], size)
    cycles, pages, at = transfer_cycles(machine, moved), machine.pages(size), use.copy()
    serial = timeline.required_resident[write] & (timeline.step[write] == use)
    ends = np.minimum(gaps.trimmed, latest_stores(timeline) + 1)[access]
    for k, (begin, end) in enumerate(zip((use + 1).tolist(), ends.tolist(), strict=True)):
        # Up to the first step without room: the tensor must remain until it moves.
        ahead = _first(idle[begin:end], cycles[k], room[begin:end], pages[k])
        if ahead is not None:
            at[k] = begin + ahead
            idle[at[k]] -= cycles[k]
            room[begin : at[k] + 1] -= pages[k]
        elif not serial[k]:
            idle[use[k]] = max(0, idle[use[k]] - cycles[k])
    return Transfers(access=access, step=at, size_bytes=size)


def _loads_under_one(
    machine: Machine, gaps: Gaps, earliest: Ints, idle: Ints, room: Ints
) -> Transfers:
    """Loads, each whole; the ``idle`` cycles (n,) and the ``room`` in pages (n,) get less.

    A load goes under the last step before the use, from ``earliest`` (a,) on, that has the time,
    if there is room for the tensor from then on; otherwise it moves at the use.
    """
    timeline = gaps.timeline
    access = _by_step(timeline, gaps.grown > 0)
    size, use, serial = (
        gaps.grown[access],
        timeline.step[access],
        timeline.required_resident[access],
    )
    moved = timeline.moved.of(timeline.tensor[access], size)
    cycles, pages, at = transfer_cycles(machine, moved), machine.pages(size), use.copy()
    # What the uses must load anyway takes its time first; a load that is hidden gives it back.
    np.subtract.at(idle, use[~serial], cycles[~serial])
    for k, (begin, end) in enumerate(zip(earliest[access].tolist(), use.tolist(), strict=True)):
        back = _first(idle[begin:end][::-1], cycles[k], room[begin:end][::-1], pages[k])
        if back is not None:
            at[k] = end - 1 - back
            idle[at[k]] -= cycles[k]
            room[at[k] : end] -= pages[k]
            if not serial[k]:
                idle[end] += cycles[k]
    return Transfers(access=access, step=at, size_bytes=size)


def _by_step(timeline: Timeline, chosen: Bools) -> Ints:
    """Accesses by step, then tensor."""
    access = np.flatnonzero(chosen)
    return access[np.lexsort((timeline.tensor[access], timeline.step[access]))]


def _first(idle: Ints, cycles: int, room: Ints, pages: int) -> int | None:
    """First place with the time for a transfer, before any without room for its tensor."""
    full = np.flatnonzero(room < pages)
    fitting = np.flatnonzero(idle[: full[0] if full.size else idle.size] >= cycles)
    return int(fitting[0]) if fitting.size else None
