"""Which decisions are open: what never fits, what always fits, what follows from another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.whole.intervals import PagedIntervals
from formulations.reuse_intervals import steps_of
from formulations.solver.program import ProgramBuilder
from spmopt.assemble.cost import summed
from spmopt.core.table import Bools, Ints

_MOST_BITS = 400_000_000
NO, YES, OPEN = -1, -2, -3


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """Column of each decision, or ``NO`` or ``YES`` where it is settled.

    Attributes
    ----------
    kept : (a,)
        The tensor stays through the interval of the access.
    resident : (a,)
        It is resident in the access's step. May be the column of an interval next to it.
    count
        Decisions in all.
    """

    kept: Ints
    resident: Ints
    count: int


def settle(uses: PagedIntervals, *, streams_cost: Bools) -> Decisions:
    """Open a column only where both answers may be best.

    A tensor of one pass gains nothing from being resident at an access unless it also stays
    in an interval next to it; ``streams_cost`` (a,) marks the accesses at which it does gain.
    """
    fixed = np.flatnonzero(uses.stationary)
    needed = summed(uses.steps, uses.step[fixed], uses.pages[fixed])
    spare = uses.capacity_pages - needed
    own = np.where(uses.stationary, uses.pages, 0)
    resident = np.where(uses.pages > spare[uses.step] + own, NO, OPEN)
    resident[uses.stationary] = YES
    kept = np.where(uses.crossed, OPEN, NO)
    intervals = np.flatnonzero(uses.crossed)
    kept[
        intervals[
            _least(spare, uses.begin[intervals], uses.step[intervals]) < uses.pages[intervals]
        ]
    ] = NO
    kept[intervals[(resident[intervals] == NO) | (resident[intervals - 1] == NO)]] = NO
    lonely = ~streams_cost & (kept == NO) & (_after(kept) == NO)
    resident[lonely & (resident == OPEN)] = NO
    _settle_free(uses, kept, resident)
    return _number(kept, resident, streams_cost)


def _after(kept: Ints) -> Ints:
    """State of the interval that follows each access."""
    return np.append(kept[1:], NO)


def _least(values: Ints, begin: Ints, end: Ints) -> Ints:
    """Least value in each range [begin, end); very large where it is empty."""
    padded = np.append(values, np.iinfo(np.int64).max)
    if not begin.size:
        return padded[begin]
    ranges = np.stack((begin, np.maximum(end, begin)), axis=1).ravel()
    least = np.minimum.reduceat(padded, ranges)[::2]
    return np.where(end > begin, least, padded[-1])


def _settle_free(uses: PagedIntervals, kept: Ints, resident: Ints) -> None:
    """Say yes to what only touches steps in which everything fits."""
    slack = uses.capacity_pages - uses.pages_of(kept != NO, resident != NO)
    free = slack >= 0
    resident[free[uses.step] & (resident == OPEN)] = YES
    intervals = np.flatnonzero(kept == OPEN)
    fits = _least(slack, uses.begin[intervals], uses.step[intervals]) >= 0
    fits &= (resident[intervals] == YES) & (resident[intervals - 1] == YES)
    kept[intervals[fits]] = YES


def _number(kept: Ints, resident: Ints, streams_cost: Bools) -> Decisions:
    """Number the open decisions; residency that a single interval decides takes its column."""
    intervals = np.flatnonzero(kept == OPEN)
    kept[intervals] = np.arange(intervals.size)
    after = _after(kept)
    either = (kept == YES) | (after == YES)
    resident[(resident == OPEN) & either] = YES
    alone = (resident == OPEN) & ~streams_cost
    before_only, after_only = alone & (after == NO), alone & (kept == NO)
    resident[before_only] = kept[before_only]
    resident[after_only] = after[after_only]
    rest = np.flatnonzero(resident == OPEN)
    resident[rest] = intervals.size + np.arange(rest.size)
    return Decisions(kept=kept, resident=resident, count=intervals.size + rest.size)


def link(build: ProgramBuilder, decisions: Decisions) -> None:
    """(W1) ``k_j <= x_j``, ``k_j <= x_(j-1)``: what is kept is resident at both ends."""
    interval = np.flatnonzero(decisions.kept >= 0)
    kept = np.concatenate((decisions.kept[interval], decisions.kept[interval]))
    resident = np.concatenate((decisions.resident[interval], decisions.resident[interval - 1]))
    real = (resident >= 0) & (resident != kept)
    row = build.rows(int(real.sum()), upper=0.0)
    build.add(row, kept[real], 1.0)
    build.add(row, resident[real], -1.0)


def fit(
    build: ProgramBuilder,
    uses: PagedIntervals,
    decisions: Decisions,
    *,
    busy: Bools | None = None,
) -> Ints:
    """(W3) ``sum_j pages_j (k_j + x_j) <= room_i`` in the steps whose row no other row implies.

    With ``busy`` (n,) in those of them only, the room cut to a sum that the sizes can reach.

    Returns
    -------
    ndarray
        (n,) Numbers of the rows, or -1.
    """
    step, column, pages, room = open_pages(uses, decisions)
    needed = needed_steps(uses, decisions, step, pages, room)
    if busy is not None:
        needed &= busy
        real = np.flatnonzero(needed[step])
        real = real[np.argsort(step[real], kind="stable")]
        start = np.searchsorted(step[real], np.append(np.flatnonzero(needed), uses.steps))
        room = room.copy()
        room[needed] = largest_sums(start, pages[real], room[needed])
    row = build.rows(needed, upper=room)
    build.add(row[step], column, pages)
    return row


def open_pages(uses: PagedIntervals, decisions: Decisions) -> tuple[Ints, Ints, Ints, Ints]:
    """Step, column and pages of all that is open (e,), and (n,) the pages left for it."""
    interval = np.flatnonzero(decisions.kept >= 0)
    which, step = steps_of(uses.begin[interval], uses.step[interval])
    here = np.flatnonzero(decisions.resident >= 0)
    taken = uses.pages_of(decisions.kept == YES, decisions.resident == YES)
    return (
        np.concatenate((step, uses.step[here])),
        np.concatenate((decisions.kept[interval][which], decisions.resident[here])),
        np.concatenate((uses.pages[interval][which], uses.pages[here])),
        uses.capacity_pages - taken,
    )


def needed_steps(
    uses: PagedIntervals, decisions: Decisions, step: Ints, pages: Ints, room: Ints
) -> Bools:
    """(n,) Steps whose capacity row no other row implies.

    A row that everything fits is not needed. What passes step ``i`` on its way is also in
    both neighbors, so the row of ``i`` follows from that of ``i + 1`` (``i - 1``) when that
    has no more room and each open access in ``i`` is decided by the interval after (before) it.
    """
    needed = summed(uses.steps, step, pages) > room
    follows, precedes = np.ones(uses.steps, bool), np.ones(uses.steps, bool)
    after = _after(decisions.kept)
    here = np.flatnonzero(decisions.resident >= 0)
    own = decisions.resident[here]
    follows[uses.step[here[own != after[here]]]] = False
    precedes[uses.step[here[own != decisions.kept[here]]]] = False
    # Where a settled access meets an open interval, its pages are part of the other row only.
    arriving = room + _settled(uses, decisions, decisions.kept >= 0)
    leaving = room + _settled(uses, decisions, after >= 0)
    follows[:-1] &= arriving[1:] <= room[:-1]
    precedes[1:] &= leaving[:-1] <= room[1:]
    follows[-1] = precedes[0] = False
    # A row removed in favor of the next one must not justify removing that one.
    for now in range(uses.steps):
        if follows[now]:
            needed[now] = False
            if now + 1 < uses.steps:
                precedes[now + 1] = False
    needed[precedes] = False
    return needed


def _settled(uses: PagedIntervals, decisions: Decisions, open_gap: Bools) -> Ints:
    """(n,) Pages of the accesses with an open interval at which the tensor is resident anyway."""
    here = np.flatnonzero(open_gap & (decisions.resident == YES))
    return summed(uses.steps, uses.step[here], uses.pages[here])


def largest_sums(start: Ints, weights: Ints, room: Ints) -> Ints:
    """(m,) For each row the largest subset sum of its ``weights`` not above ``room``.

    Row ``k`` has the positive weights ``start[k]:start[k + 1]``. Sums are bits of an integer:
    adding a weight is a shift. A row that would take too long only loses the part of its room
    that no multiple of the greatest common divisor reaches.
    """
    result = room.copy()
    for k, (begin, end) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        mine = weights[begin:end]
        if not mine.size:
            result[k] = 0
            continue
        divisor = int(np.gcd.reduce(mine))
        limit = int(room[k]) // divisor
        if limit * mine.size <= _MOST_BITS:
            limit = _largest_sum((mine // divisor).tolist(), limit)
        result[k] = limit * divisor
    return result


def _largest_sum(weights: list[int], limit: int) -> int:
    mask = (1 << (limit + 1)) - 1
    sums = 1
    for weight in weights:
        sums |= (sums << weight) & mask
    return sums.bit_length() - 1
