"""Fewer, larger transfers for the same objective.

An interior solution spreads a load over every step that is as good as another. How many bytes
all loads together move in each step fixes the step's duration, and, as each load remains until
its access, the SPM that is in use: whose bytes they are does not matter. So the bytes of each
step go to the loads with the earliest deadline first, which by the usual exchange argument
meets every deadline that the given solution meets, and leaves at most one piece per load and
one per step. Stores likewise: of bytes that remain, and of bytes that leave, each for themselves.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import product

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import ColumnKind, PathColumns, of_kind
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints

_LEAST_BYTES = 0.5  # less is noise of the solver: bytes are whole


def consolidate(
    intervals: RankedIntervals, columns: PathColumns, amounts: Floats
) -> tuple[PathColumns, Floats]:
    """Return the columns and amounts (c,) with the transfers of each interval in few steps."""
    kind, access = columns.kind, columns.access
    some = amounts >= _LEAST_BYTES
    here = (kind == ColumnKind.LOAD_HERE) & ~intervals.required_resident[access]
    step = np.where(here, intervals.step[access], columns.step)
    loads, drops = some & ((kind == ColumnKind.LOAD) | here), some & (kind == ColumnKind.DROP)
    tidy, last_drop = _leave_before_they_return(intervals, access, step, loads, drops)
    # Where bytes return before others have left, their order matters: those intervals keep their
    # steps.
    loads, drops = loads & tidy[access], drops & tidy[access]
    cleans = some & (kind == ColumnKind.CLEAN)
    rest = some & ~loads & ~drops & ~cleans
    groups = (
        (ColumnKind.LOAD, loads, intervals.step - intervals.required_resident),
        (ColumnKind.DROP, drops, last_drop),
        (ColumnKind.CLEAN, cleans, intervals.step - ~intervals.read),
    )
    parts, sizes = [columns.take(rest)], [amounts[rest]]
    # Bytes trade places with those that move as many.
    of_ratio = [intervals.ratio[access] == ratio for ratio in np.unique(intervals.ratio).tolist()]
    for (group, every, deadline), some_of in product(groups, of_ratio):
        chosen = every & some_of
        owner, when, moved = _earliest_deadline_first(
            access[chosen], step[chosen], amounts[chosen], deadline
        )
        late = (when == intervals.step[owner]) & (group == ColumnKind.LOAD)
        parts += [
            of_kind(group, owner[~late], when[~late]),
            of_kind(ColumnKind.LOAD_HERE, owner[late]),
        ]
        sizes += [moved[~late], moved[late]]
    return PathColumns.together(*parts), np.concatenate(sizes)


def _leave_before_they_return(
    intervals: RankedIntervals, access: Ints, step: Ints, loads: Bools, drops: Bools
) -> tuple[Bools, Ints]:
    """Find intervals (a,) in which all drops come before all loads; the last step for drops."""
    first_load = intervals.step + 1
    np.minimum.at(first_load, access[loads], step[loads])
    last_drop = np.full(intervals.step.size, -1, np.int64)
    np.maximum.at(last_drop, access[drops], step[drops])
    loaded = np.zeros(intervals.step.size, bool)
    loaded[access[loads]] = True
    return last_drop < first_load, np.where(loaded, last_drop, intervals.step - 1)


def _earliest_deadline_first(
    owner: Ints, step: Ints, amount: Floats, deadline: Ints
) -> tuple[Ints, Ints, Floats]:
    """Deal out each step's bytes anew; ``deadline[owner]`` is the last step that will do.

    No owner gets bytes before its first step in the given solution.
    """
    owners, place = np.unique(owner, return_inverse=True)
    left = np.bincount(place, amount, owners.size)
    # Not earlier than the solution loads: that would take room it does not have.
    release = np.full(owners.size, np.iinfo(np.int64).max)
    np.minimum.at(release, place, step)
    steps, turn = np.unique(step, return_inverse=True)
    budgets = np.bincount(turn, amount, steps.size).tolist()
    waiting = np.argsort(release, kind="stable").tolist()
    due, open_at, remaining = deadline[owners].tolist(), release.tolist(), left.tolist()
    heap: list[tuple[int, int]] = []
    pieces: list[tuple[int, int, float]] = []
    next_one = 0
    for now, budget in zip(steps.tolist(), budgets, strict=True):
        while next_one < len(waiting) and open_at[waiting[next_one]] <= now:
            heappush(heap, (due[waiting[next_one]], waiting[next_one]))
            next_one += 1
        free = budget
        # The rounding of sums must not make a load miss its deadline.
        while heap and (free >= _LEAST_BYTES or heap[0][0] <= now):
            task = heap[0][1]
            taken = remaining[task] if heap[0][0] <= now else min(free, remaining[task])
            pieces.append((task, now, taken))
            free -= taken
            remaining[task] -= taken
            if remaining[task] < _LEAST_BYTES:
                heappop(heap)
    chosen = np.array([task for task, _, _ in pieces], np.int64)
    when = np.array([now for _, now, _ in pieces], np.int64)
    return owners[chosen], when, np.array([taken for _, _, taken in pieces], np.float64)
