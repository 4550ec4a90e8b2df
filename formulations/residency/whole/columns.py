"""Which decisions are open: what never fits, what always fits, what follows from another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.whole.uses import Uses, spans
from spmopt.core.table import Bools, Ints

NO, YES, OPEN = -1, -2, -3


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Column of each decision, or ``NO`` or ``YES`` where it is settled.

    Attributes
    ----------
    kept : (a,)
        The tensor stays through the gap of the access.
    resident : (a,)
        It is resident in the access's step. May be the column of a gap next to it.
    count
        Columns in all.
    """

    kept: Ints
    resident: Ints
    count: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """Entries of capacity rows: ``column[e]`` takes ``pages[e]`` in ``step[e]``."""

    step: Ints
    column: Ints
    pages: Ints


def settle(uses: Uses, *, streams_cost: Bools) -> Columns:
    """Open a column only where both answers may be best.

    A tensor of one pass gains nothing from being resident at an access unless it also stays
    in a gap next to it; ``streams_cost`` (a,) marks the accesses at which it does gain.
    """
    spare = uses.room_pages - uses.needed_pages()
    own = np.where(uses.stationary, uses.pages, 0)
    resident = np.where(uses.pages > spare[uses.step] + own, NO, OPEN)
    resident[uses.stationary] = YES
    kept = np.where(uses.gap, OPEN, NO)
    gaps = np.flatnonzero(uses.gap)
    kept[gaps[_least(spare, *uses.inner(gaps)) < uses.pages[gaps]]] = NO
    kept[gaps[(resident[gaps] == NO) | (resident[gaps - 1] == NO)]] = NO
    lonely = ~streams_cost & (kept == NO) & (_after(kept) == NO)
    resident[lonely & (resident == OPEN)] = NO
    _settle_free(uses, kept, resident)
    return _number(kept, resident, streams_cost)


def _after(kept: Ints) -> Ints:
    """State of the gap that follows each access."""
    return np.append(kept[1:], NO)


def _least(values: Ints, begin: Ints, end: Ints) -> Ints:
    """Least value in each range [begin, end); very large where it is empty."""
    padded = np.append(values, np.iinfo(np.int64).max)
    if not begin.size:
        return padded[begin]
    ranges = np.stack((begin, np.maximum(end, begin)), axis=1).ravel()
    least = np.minimum.reduceat(padded, ranges)[::2]
    return np.where(end > begin, least, padded[-1])


def most_pages(uses: Uses, kept: Bools, resident: Bools) -> Ints:
    """(n,) Pages in each step if all these decisions are taken."""
    change = np.zeros(uses.steps + 1, np.int64)
    gaps = np.flatnonzero(kept)
    begin, end = uses.inner(gaps)
    np.add.at(change, begin, uses.pages[gaps])
    np.add.at(change, end, -uses.pages[gaps])
    total = np.cumsum(change)[:-1]
    here = np.flatnonzero(resident)
    np.add.at(total, uses.step[here], uses.pages[here])
    return total


def _settle_free(uses: Uses, kept: Ints, resident: Ints) -> None:
    """Say yes to what only touches steps in which everything fits."""
    slack = uses.room_pages - most_pages(uses, kept != NO, resident != NO)
    free = slack >= 0
    resident[free[uses.step] & (resident == OPEN)] = YES
    gaps = np.flatnonzero(kept == OPEN)
    fits = _least(slack, *uses.inner(gaps)) >= 0
    fits &= (resident[gaps] == YES) & (resident[gaps - 1] == YES)
    kept[gaps[fits]] = YES


def _number(kept: Ints, resident: Ints, streams_cost: Bools) -> Columns:
    """Number the open columns; residency that a single gap decides takes its column."""
    gaps = np.flatnonzero(kept == OPEN)
    kept[gaps] = np.arange(gaps.size)
    after = _after(kept)
    either = (kept == YES) | (after == YES)
    resident[(resident == OPEN) & either] = YES
    alone = (resident == OPEN) & ~streams_cost
    before_only, after_only = alone & (after == NO), alone & (kept == NO)
    resident[before_only] = kept[before_only]
    resident[after_only] = after[after_only]
    rest = np.flatnonzero(resident == OPEN)
    resident[rest] = gaps.size + np.arange(rest.size)
    return Columns(kept=kept, resident=resident, count=gaps.size + rest.size)


def capacity(uses: Uses, columns: Columns) -> tuple[Row, Ints]:
    """Capacity rows: entries of the open columns, and (n,) the pages left for them."""
    gaps = np.flatnonzero(columns.kept >= 0)
    which, step = spans(*uses.inner(gaps))
    here = np.flatnonzero(columns.resident >= 0)
    taken = most_pages(uses, columns.kept == YES, columns.resident == YES)
    row = Row(
        step=np.concatenate((step, uses.step[here])),
        column=np.concatenate((columns.kept[gaps][which], columns.resident[here])),
        pages=np.concatenate((uses.pages[gaps][which], uses.pages[here])),
    )
    return row, uses.room_pages - taken


def needed_steps(uses: Uses, columns: Columns, row: Row, room: Ints) -> Bools:
    """(n,) Steps whose capacity row no other row implies.

    A row that everything fits is not needed. What passes step ``i`` on its way is also in
    both neighbours, so the row of ``i`` follows from that of ``i + 1`` (``i - 1``) when that
    has no more room and each open access in ``i`` is decided by the gap after (before) it.
    """
    load = np.zeros(uses.steps, np.int64)
    np.add.at(load, row.step, row.pages)
    needed = load > room
    follows, precedes = np.ones(uses.steps, bool), np.ones(uses.steps, bool)
    after = _after(columns.kept)
    here = np.flatnonzero(columns.resident >= 0)
    own = columns.resident[here]
    follows[uses.step[here[own != after[here]]]] = False
    precedes[uses.step[here[own != columns.kept[here]]]] = False
    # Where a settled access meets an open gap, the gap's pages are part of the other row only.
    arriving = room + _settled(uses, columns, columns.kept >= 0)
    leaving = room + _settled(uses, columns, after >= 0)
    follows[:-1] &= arriving[1:] <= room[:-1]
    precedes[1:] &= leaving[:-1] <= room[1:]
    follows[-1] = precedes[0] = False
    # A row removed in favour of the next one must not justify removing that one.
    for step in range(uses.steps):
        if follows[step]:
            needed[step] = False
            if step + 1 < uses.steps:
                precedes[step + 1] = False
    needed[precedes] = False
    return needed


def _settled(uses: Uses, columns: Columns, open_gap: Bools) -> Ints:
    """(n,) Pages of the accesses with an open gap at which the tensor is resident anyway."""
    here = np.flatnonzero(open_gap & (columns.resident == YES))
    total = np.zeros(uses.steps, np.int64)
    np.add.at(total, uses.step[here], uses.pages[here])
    return total
