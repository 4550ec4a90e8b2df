"""Cheapest paths themselves: the columns that each tensor takes at given dual values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.residency.bound.compiled import CheapestSteps
from formulations.residency.bound.dual import Arcs, DualFunction, final_drops
from formulations.residency.program.columns import (
    ColumnKind,
    PathColumns,
    Usage,
    candidates,
)
from formulations.solver.program import Floats
from spmopt.core.table import Ints

_DIRTY, _CLEAN, _GONE = 0, 1, 2  # states of a byte between two accesses, rows of the tables
_TAKEN = np.array(
    [
        ColumnKind.HOLD_DIRTY,
        ColumnKind.HOLD_CLEAN,
        ColumnKind.STREAM,
        ColumnKind.LOAD_HERE,
        ColumnKind.WRITE_THROUGH,
        ColumnKind.LOAD,
        ColumnKind.DROP,
        ColumnKind.CLEAN,  # within the interval
        ColumnKind.CLEAN,  # at the access
        ColumnKind.FINAL,
    ]
)
States = NDArray[np.int8]


def path_columns(dual: DualFunction) -> PathColumns:
    """Return the columns on one cheapest path of every tensor; each carries the whole tensor."""
    if dual.kernel is None:
        arrive_for, came_from = _pointers(dual)
        return _columns(dual, dual.arc, *_trace(dual, arrive_for, came_from))
    dual.kernel.evaluate(dual.at_step)
    return _columns(dual, *dual.kernel.states())


def path_use(dual: DualFunction) -> tuple[Floats, Floats, Floats]:
    """Return (n,) bytes that these columns hold in each step, read and write."""
    if dual.kernel is not None:
        dual.kernel.evaluate(dual.at_step)
        return dual.kernel.use()
    columns, steps = path_columns(dual), dual.intervals.steps
    use = Usage(dual.intervals, columns)
    size = dual.intervals.size_bytes[columns.access].astype(np.float64)
    held = use.end > use.begin
    change = np.bincount(use.begin[held], size[held], steps + 1).astype(np.float64)
    change -= np.bincount(use.end[held], size[held], steps + 1)
    at = np.maximum(use.at, 0)
    moved = (use.moved_in, use.moved_out)
    # The same sums as the compiled code, so that both ascend alike.
    used = [np.bincount(at, size * each, steps) for each in moved]
    setups = dual.intervals.setups
    if setups is not None:
        streams, begun = columns.kind == ColumnKind.STREAM, _setup_steps(dual, columns, at)
        more = np.where(streams, setups.used_streamed, setups.used_moved)
        begins = [np.bincount(begun, more * (each > 0), steps) for each in moved]
        used = [bytes_ + each for bytes_, each in zip(used, begins, strict=True)]
    into, out = (each.astype(np.float64) for each in used)
    return np.cumsum(change)[:steps], into, out


def _setup_steps(dual: DualFunction, columns: PathColumns, at: Ints) -> Ints:
    """Return (c,) where set-ups are counted: within an interval in the cheapest step for one.

    Its bytes may move in another, where they are held for less (``dual._with_setups``).
    """
    intervals, kind, access = dual.intervals, columns.kind, columns.access
    stored, result = dual.at_step.cleans, at.copy()
    final = np.zeros_like(intervals.step)
    final[intervals.last] = stored.argmin(intervals.after_last) - intervals.offset[intervals.last]
    within = ((kind == ColumnKind.DROP) | (kind == ColumnKind.CLEAN)) & (
        at < intervals.step[access]
    )
    for where, step in (
        (kind == ColumnKind.LOAD, dual.at_step.entries.argmin(intervals.inner) - intervals.offset),
        (within, stored.argmin(intervals.inner) - intervals.offset),
        (kind == ColumnKind.FINAL, final),
    ):
        result[where] = step[access[where]]
    return result


def _pointers(dual: DualFunction) -> tuple[States, States]:
    """Return (3, a) best arrival for each state after an access; best origin of each arrival."""
    intervals, arc, ahead = dual.intervals, dual.arc, dual.ahead
    read = intervals.read
    d, r, n = ahead.dirty_in, ahead.clean_in, ahead.gone_in + arc.load_here
    inside = _least(d, r, n)
    lowest = np.minimum(np.minimum(d, r), n) + arc.keep_here
    arrive = np.empty((3, read.size), np.int8)
    arrive[_DIRTY] = np.where(read, _DIRTY, inside)
    arrive[_CLEAN] = np.where(read, _least(d + arc.clean_here, r, n), inside)
    # A dead update may end from SPM; elsewhere N means that the bytes were streamed.
    # A dead result may end from chip or by a stream, whichever is cheaper.
    ends_inside = ~read & intervals.dead & (lowest <= ahead.gone_in + arc.stream)
    # 4 marks the way through the scratchpad, beside the state in the low bits.
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
    """Return the state with the least cost; the later one of equals, which holds less."""
    best = np.where(clean <= dirty, _CLEAN, _DIRTY)
    result: States = np.where(gone <= np.minimum(clean, dirty), _GONE, best).astype(np.int8)
    return result


def _trace(
    dual: DualFunction, arrive_for: States, came_from: States
) -> tuple[States, States, States]:
    """Return states after and on arrival of each access (a,), and the origin of its interval."""
    intervals, ahead = dual.intervals, dual.ahead
    index, last = np.arange(intervals.step.size), intervals.last
    anything = _least(ahead.dirty, ahead.clean, ahead.gone)
    after, arrived, before = anything.copy(), np.zeros_like(anything), np.zeros_like(anything)
    stored = ahead.dirty[last] + dual.arc.final_drop
    after[last] = _least(stored, ahead.clean[last], ahead.gone[last])
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
    dual: DualFunction, arc: Arcs | CheapestSteps, after: States, arrived: States, before: States
) -> PathColumns:
    intervals = dual.intervals
    read, came = intervals.read, ~intervals.write
    state, via = arrived & 3, before >= 4
    streamed = (
        (after == _GONE) & (arrived < 4) & ~intervals.required_resident & (came | ~intervals.dead)
    )
    cleaned_here = came & read & (state == _DIRTY) & (after == _CLEAN)
    held_clean = came & (state == _CLEAN) & (intervals.previous >= 0)
    dropped = came & ((state == _GONE) | via) & ((before & 3) == _DIRTY) & intervals.dirty
    loads = came & (state == _CLEAN) & (via | (intervals.previous < 0))
    final_at = np.zeros_like(intervals.step)
    final_at[intervals.last] = final_drops(intervals, dual.at_step)[1]
    nowhere = np.full_like(intervals.step, -1)
    taken = (  # in the order of _TAKEN
        (came & (state == _DIRTY) & ~cleaned_here, nowhere),
        (held_clean & ~via & (before == _CLEAN), nowhere),
        (streamed, nowhere),
        (came & (state == _GONE) & ~streamed, nowhere),
        (~read & ~intervals.dead & (after == _CLEAN), nowhere),
        (loads, arc.load_at),
        (dropped, arc.drop_at),
        (held_clean & ~via & (before == _DIRTY), arc.clean_at),
        (cleaned_here, intervals.step),
        (intervals.final & (after == _DIRTY), final_at),
    )
    # One table at once: on small problems building one for each kind takes the most time.
    at = [where.nonzero()[0] for where, _ in taken]
    return PathColumns(
        kind=np.repeat(_TAKEN, [each.size for each in at]),
        access=np.concatenate(at),
        step=np.concatenate([step[each] for each, (_, step) in zip(at, taken, strict=True)]),
    )


def near_best_paths(dual: DualFunction, threshold: float, depth: int) -> PathColumns:
    """Find columns with a marginal, best path through one less best path, up to ``threshold``."""
    best, intervals = dual.best, dual.intervals

    def limit(kind: ColumnKind, at: Ints) -> Floats:
        result: Floats = threshold + best[at] - _rest(dual, kind, at)
        return result

    return candidates(intervals, dual.at_step, depth, limit)


def _rest(dual: DualFunction, kind: ColumnKind, at: Ints) -> Floats:
    """Return (k,) the best path through a column of a kind, without the cost of its own step."""
    intervals, arc, ahead, back = dual.intervals, dual.arc, dual.ahead, dual.back
    before, upto = intervals.previous[at], dual.at_step.cost_before
    cost: Floats
    match kind:
        case ColumnKind.HOLD_DIRTY:
            # Stored by a reading access it would be a column of another kind.
            onward = np.where(
                intervals.read[at], back.dirty[at] + arc.keep_here[at], back.dirty_in[at]
            )
            cost = ahead.dirty[before] + arc.hold[at] + onward
        case ColumnKind.HOLD_CLEAN:
            cost = ahead.clean[before] + arc.hold[at] + back.clean_in[at]
        case ColumnKind.STREAM:
            start = np.where(intervals.write[at], ahead.bypass[at], ahead.gone_in[at])
            cost = start + arc.stream[at] + back.gone[at]
        case ColumnKind.LOAD_HERE:
            cost = ahead.gone_in[at] + arc.load_here[at] + back.clean_in[at]
        case ColumnKind.WRITE_THROUGH:
            cost = ahead.clean[at] + back.clean[at]
        case ColumnKind.LOAD:
            cost = ahead.gone_in[at] + upto[intervals.at[at]] + back.clean_in[at]
        case ColumnKind.DROP:
            cost = (
                ahead.dirty[before]
                - upto[intervals.begin[at] + intervals.offset[at]]
                + back.gone[before]
            )
        case ColumnKind.CLEAN:
            cost = ahead.dirty[before] + arc.hold[at] + back.clean_in[at]
        case ColumnKind.FINAL:
            cost = ahead.dirty[at] - upto[intervals.at[at] + 1]
    return cost
