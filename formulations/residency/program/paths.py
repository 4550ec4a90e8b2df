"""Cheapest paths themselves: the columns that each tensor takes at given prices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.residency.bound.dual import Arcs, Forward
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import ColumnKind, PathColumns, of_kind
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

_DIRTY, _CLEAN, _GONE = 0, 1, 2
States = NDArray[np.int8]


def path_columns(intervals: RankedIntervals, arc: Arcs, ahead: Forward) -> PathColumns:
    """Columns on one cheapest path of every tensor; each carries the whole tensor."""
    arrive_for, came_from = _pointers(intervals, arc, ahead)
    after, arrived, before = _trace(intervals, arc, ahead, arrive_for, came_from)
    return _columns(intervals, arc, after, arrived, before)


def _pointers(intervals: RankedIntervals, arc: Arcs, ahead: Forward) -> tuple[States, States]:
    """(3, a) Best arrival for each state after an access; best origin of each arrival."""
    read = intervals.kind == Access.READ
    d, r, n = ahead.dirty_in, ahead.clean_in, ahead.gone_in + arc.load_here
    inside = _least(d, r, n)
    lowest = np.minimum(np.minimum(d, r), n) + arc.keep_here
    streams = ahead.gone_in + arc.stream
    arrive = np.empty((3, read.size), np.int8)
    arrive[_DIRTY] = np.where(read, _DIRTY, inside)
    arrive[_CLEAN] = np.where(read, _least(d + arc.clean_here, r, n), inside)
    # A dead update may end from SPM; elsewhere N means that the bytes were streamed.
    ends_inside = ~read & intervals.dead & (lowest <= streams)
    arrive[_GONE] = np.where(ends_inside, inside + 4, _GONE)
    before = intervals.previous
    first = before < 0
    pd, pr, pn = (
        np.where(first, np.inf, state[before]) for state in (ahead.dirty, ahead.clean, ahead.gone)
    )
    origin = np.empty((3, read.size), np.int8)
    left = _least(pd + arc.drop, pr, pn)
    origin[_DIRTY] = _DIRTY
    through_dram = np.minimum(np.minimum(pd + arc.drop, pr), pn) + arc.load
    through_dram = np.where(first, ahead.gone_in + arc.load, through_dram)
    held = np.minimum(pr + arc.hold, pd + arc.clean)
    kept = np.where(pr + arc.hold <= pd + arc.clean, _CLEAN, _DIRTY)
    origin[_CLEAN] = np.where(held <= through_dram, kept, left + 4)
    origin[_GONE] = left
    return arrive, origin


def _least(dirty: Floats, clean: Floats, gone: Floats) -> States:
    """State with the least cost; the later one of equals, which holds less."""
    best = np.where(clean <= dirty, _CLEAN, _DIRTY)
    result: States = np.where(gone <= np.minimum(clean, dirty), _GONE, best).astype(np.int8)
    return result


def _trace(
    intervals: RankedIntervals, arc: Arcs, ahead: Forward, arrive_for: States, came_from: States
) -> tuple[States, States, States]:
    """States after and on arrival of each access (a,), and the origin of its interval."""
    size = intervals.step.size
    after = _least(ahead.dirty, ahead.clean, ahead.gone)
    last = intervals.last
    after[last] = _least(ahead.dirty[last] + arc.final_drop, ahead.clean[last], ahead.gone[last])
    arrived, before = np.zeros(size, np.int8), np.zeros(size, np.int8)
    anything = _least(ahead.dirty, ahead.clean, ahead.gone)
    index = np.arange(size)
    for rank in range(len(intervals.slices) - 1, -1, -1):
        begin, end = intervals.slices[rank]
        here = slice(begin, end)
        arrived[here] = arrive_for[after[here], index[here]]
        before[here] = came_from[arrived[here] & 3, index[here]]
        if rank:
            start = intervals.slices[rank - 1][0]
            there = slice(start, start + end - begin)
            after[there] = np.where(intervals.live[here], before[here] & 3, anything[there])
    return after, arrived, before


def _columns(
    intervals: RankedIntervals, arc: Arcs, after: States, arrived: States, before: States
) -> PathColumns:
    read, write = intervals.kind == Access.READ, intervals.kind == Access.WRITE
    came = ~write
    state, via = arrived & 3, before >= 4
    enters = came & (state == _GONE)
    streamed = (after == _GONE) & (arrived < 4) & ~intervals.stationary & (came | ~intervals.dead)
    cleaned_here = came & read & (state == _DIRTY) & (after == _CLEAN)
    held_clean = came & (state == _CLEAN) & (intervals.previous >= 0)
    dropped = came & ((state == _GONE) | via) & ((before & 3) == _DIRTY) & intervals.dirty
    cleaned = held_clean & ~via & (before == _DIRTY)
    loads = came & (state == _CLEAN) & (via | (intervals.previous < 0))

    def some(kind: ColumnKind, where: Bools, step: Ints | None = None) -> PathColumns:
        at = np.flatnonzero(where)
        return of_kind(kind, at, -1 if step is None else step[at])

    last_dirty = intervals.last[after[intervals.last] == _DIRTY]
    final_step = arc.final_at[after[intervals.last] == _DIRTY]
    return PathColumns.together(
        some(ColumnKind.HOLD_DIRTY, came & (state == _DIRTY) & ~cleaned_here),
        some(ColumnKind.HOLD_CLEAN, held_clean & ~via & (before == _CLEAN)),
        some(ColumnKind.STREAM, streamed),
        some(ColumnKind.LOAD_HERE, enters & ~streamed),
        some(ColumnKind.WRITE_THROUGH, ~read & ~intervals.dead & (after == _CLEAN)),
        some(ColumnKind.LOAD, loads, arc.load_at),
        some(ColumnKind.DROP, dropped, arc.drop_at),
        some(ColumnKind.CLEAN, cleaned, arc.clean_at),
        some(ColumnKind.CLEAN, cleaned_here, intervals.step),
        of_kind(ColumnKind.FINAL, last_dirty, final_step),
    )
