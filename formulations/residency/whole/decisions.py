"""Which decisions are open: residency that never fits, always fits, or follows from another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from formulations.residency.whole.intervals import PagedIntervals
from formulations.residency.whole.retention import Retention
from formulations.reuse_intervals import steps_of
from formulations.solver.program import Floats, ProgramBuilder
from spmopt.assemble.cost import sum_up
from spmopt.core.table import Bools, Ints

_MOST_BITS = 400_000_000
NO, YES, OPEN = -1, -2, -3


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """Column of each decision, or ``NO`` or ``YES`` where it is settled.

    Attributes
    ----------
    kept : (a,)
        The tensor remains through the interval of the access.
    resident : (a,)
        It is resident in the access's step. May be the column of an interval next to it.
    count
        Decisions in all.
    """

    kept: Ints
    resident: Ints
    count: int

    def choose(self, uses: PagedIntervals, values: Floats) -> Retention:
        """Return the decisions of a solution."""
        padded = np.append(values, 0.0)

        def true(state: Ints) -> Bools:
            result: Bools = (state == YES) | (padded[np.maximum(state, -1)] > 0.5)
            return result

        return Retention.of(uses, true(self.resident), true(self.kept))

    def write(self, values: Floats, chosen: Retention) -> None:
        """Write the choices into a solution."""
        # A shared column is that of the interval.
        for state, answer in ((self.resident, chosen.resident), (self.kept, chosen.kept)):
            values[state[state >= 0]] = answer[state >= 0]


def settle(uses: PagedIntervals, *, streams_cost: Bools) -> Decisions:
    """Open a column only where both answers may be best.

    A tensor of one fetch gains nothing from being resident at an access unless it also remains
    in an interval next to it; ``streams_cost`` (a,) marks the accesses at which it does gain.
    """
    fixed = np.flatnonzero(uses.required_resident)
    needed = sum_up(uses.steps, uses.step[fixed], uses.pages[fixed])
    spare = uses.capacity_pages - needed
    own = np.where(uses.required_resident, uses.pages, 0)
    # R1: beside the required-resident operands there is no room for it.
    resident = np.where(uses.pages > spare[uses.step] + own, NO, OPEN)
    resident[uses.required_resident] = YES
    kept = np.where(uses.between_uses, OPEN, NO)
    intervals = np.flatnonzero(uses.between_uses)
    least = _least(spare, uses.begin[intervals], uses.step[intervals])
    kept[intervals[least < uses.pages[intervals]]] = NO
    # (W1) Kept means resident at both ends.
    kept[intervals[(resident[intervals] == NO) | (resident[intervals - 1] == NO)]] = NO
    # Residency between no kept intervals saves nothing where streaming costs nothing.
    lonely = ~streams_cost & (kept == NO) & (_after(kept) == NO)
    resident[lonely & (resident == OPEN)] = NO
    _settle_free(uses, kept, resident)
    return _number(kept, resident, streams_cost)


def _after(kept: Ints) -> Ints:
    """Return the state of the interval that follows each access."""
    return np.append(kept[1:], NO)


def _least(values: Ints, begin: Ints, end: Ints) -> Ints:
    """Return the least value in each range [begin, end); very large where it is empty."""
    padded = np.append(values, np.iinfo(np.int64).max)
    if not begin.size:
        return padded[begin]
    ranges = np.stack((begin, np.maximum(end, begin)), axis=1).ravel()
    least = np.minimum.reduceat(padded, ranges)[::2]
    return np.where(end > begin, least, padded[-1])


def _settle_free(uses: PagedIntervals, kept: Ints, resident: Ints) -> None:
    """Fix at 1 residency that only touches steps in which everything fits."""
    # Where even all that is open fits, more residency is never worse.
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
    """(W1) ``k_j <= x_j``, ``k_j <= x_(j-1)``: kept tensors are resident at both ends."""
    interval = np.flatnonzero(decisions.kept >= 0)
    kept = np.concatenate((decisions.kept[interval], decisions.kept[interval]))
    resident = np.concatenate((decisions.resident[interval], decisions.resident[interval - 1]))
    real = (resident >= 0) & (resident != kept)
    row = build.rows(int(real.sum()), upper=0.0)
    build.add(row, kept[real], 1.0)
    build.add(row, resident[real], -1.0)


class CapacityRows:
    """(W3) ``sum_j pages_j (k_j + x_j) <= room_i`` of open decisions, by step.

    Attributes
    ----------
    step, column, pages : (e,)
        Entries of all steps.
    use : (e,)
        The access, or the one that ends the interval, that an entry is of.
    room : (n,)
        Pages left for them.
    needed : (n,)
        Steps whose row no other row implies.
    """

    def __init__(self, uses: PagedIntervals, decisions: Decisions) -> None:
        interval = np.flatnonzero(decisions.kept >= 0)
        which, step = steps_of(uses.begin[interval], uses.step[interval])
        here = np.flatnonzero(decisions.resident >= 0)
        self.step = np.concatenate((step, uses.step[here]))
        self.use = np.concatenate((interval[which], here))
        self.column = np.concatenate((decisions.kept[interval][which], decisions.resident[here]))
        self.pages = np.concatenate((uses.pages[interval][which], uses.pages[here]))
        taken = uses.pages_of(decisions.kept == YES, decisions.resident == YES)
        self.room = uses.capacity_pages - taken
        self.needed = self._require(uses, decisions)

    def used(self, values: Floats) -> Floats:
        """Return (n,) the pages that a solution uses."""
        weights = self.pages * values[self.column]
        return np.bincount(self.step, weights, self.room.size).astype(np.float64)

    def add(self, build: ProgramBuilder, where: Bools | None = None) -> None:
        """(W3) in the steps needed, or in those ``where`` (n,).

        Cut to sums that sizes can reach.
        """
        steps, room = self.needed, self.room
        if where is not None:
            steps = self.needed & where
            real = np.flatnonzero(steps[self.step])
            real = real[np.argsort(self.step[real], kind="stable")]
            ends = np.append(np.flatnonzero(steps), steps.size)
            start = np.searchsorted(self.step[real], ends)
            room = room.copy()
            room[steps] = largest_sums(start, self.pages[real], room[steps])
        row = build.rows(steps, upper=room)
        build.add(row[self.step], self.column, self.pages)

    def _require(self, uses: PagedIntervals, decisions: Decisions) -> Bools:
        """Return (n,) the steps whose capacity row no other row implies.

        A row that everything fits is not needed. Bytes that pass step ``i`` are also in both
        neighbors, so the row of ``i`` follows from that of ``i + 1`` (``i - 1``) when that has no
        more room and each open access in ``i`` is decided by the interval after (before) it.
        """
        room, kept, after = self.room, decisions.kept, _after(decisions.kept)
        # A row that everything fits excludes nothing.
        needed = sum_up(uses.steps, self.step, self.pages) > room
        follows, precedes = np.ones(uses.steps, bool), np.ones(uses.steps, bool)
        here = np.flatnonzero(decisions.resident >= 0)
        own = decisions.resident[here]
        follows[uses.step[here[own != after[here]]]] = False
        precedes[uses.step[here[own != kept[here]]]] = False

        def resident_pages(open_interval: Bools) -> Ints:
            """Return (n,) pages at ends of open intervals where the tensor is resident anyway."""
            at = np.flatnonzero(open_interval & (decisions.resident == YES))
            return sum_up(uses.steps, uses.step[at], uses.pages[at])

        # Where a settled access meets an open interval, its pages are part of the other row only.
        arriving, leaving = room + resident_pages(kept >= 0), room + resident_pages(after >= 0)
        follows[:-1] &= arriving[1:] <= room[:-1]
        precedes[1:] &= leaving[:-1] <= room[1:]
        follows[-1] = precedes[0] = False
        # A row removed in favor of the next one must not justify removing that one.
        precedes[1:] &= ~follows[:-1]
        return needed & ~follows & ~precedes


def largest_sums(start: Ints, weights: Ints, room: Ints) -> Ints:
    """Return (m,) for each row the largest subset sum of its ``weights`` not above ``room``.

    Row ``k`` has the positive weights ``start[k]:start[k + 1]``. Sums are bits of an integer:
    adding a weight is a shift. A row that would take too long only loses the part of its room
    that no multiple of the greatest common divisor reaches.
    """
    result = room.copy()
    for k, (begin, end) in enumerate(pairwise(start.tolist())):
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
        # Subset sums as bits: a shift adds the weight to each.
        sums |= (sums << weight) & mask
    return sums.bit_length() - 1
