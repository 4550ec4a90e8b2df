"""When stays may last, and how high they are now, cell by cell."""

from __future__ import annotations

import numpy as np

from formulations.contiguous.memory import Memory, Taken
from formulations.contiguous.stays import Stay, Uses
from formulations.contiguous.window import Window
from spmopt.core.table import Bools, Ints

REACH = 30
"""Steps before a tensor's first use, and after its last, in which it is worth having."""


def own_spans(stays: list[Stay], window: Window) -> Ints:
    """(s, 2) First step of each stay in the window, and one past its last."""
    spans = np.array([(stay.begin, stay.end) for stay in stays], np.int64).reshape(-1, 2)
    return np.clip(spans, window.first, window.last)


def lengthened(stays: list[Stay], memory: Memory, window: Window, uses: Uses) -> Ints:
    """(s, 2) Steps around each stay in which no other is across its base, none more at an edge.

    Few steps more than to the outermost uses of the tensor among them. Stays of one tensor keep
    a step apart: the bytes of one do not stay for the other.
    """
    spans = own_spans(stays, window)
    taken = memory.around(window.first, window.last, -2)
    order = sorted(range(len(stays)), key=lambda k: (stays[k].tensor, stays[k].begin))
    before = -1
    for owner, after in zip(order, [*order[1:], -1], strict=False):
        stay = stays[owner]
        least, most = window.begin, window.end
        if before >= 0 and stays[before].tensor == stay.tensor:
            least = max(least, int(spans[before, 1]) + 1)
        if after >= 0 and stays[after].tensor == stay.tensor:
            most = min(most, stays[after].begin - 1)
        first, last = _free_around(stay, owner, taken, window)
        begin, end = spans[owner].tolist()
        first, last = min(max(least, first), begin), max(min(most, last), end)
        used = uses.of(stay.tensor, first, last)[0]
        first = max(first, min(begin, int(used.min(initial=begin))) - REACH)
        last = min(last, max(end, int(used.max(initial=end)) + 1) + REACH)
        spans[owner] = first, last
        before = owner
    return spans


def _free_around(stay: Stay, owner: int, taken: Taken, window: Window) -> tuple[int, int]:
    """First and last steps around a stay between which no other is across its base."""
    across = (taken.low < stay.base) & (stay.base < taken.high) & (taken.owner != owner)
    across |= (taken.owner < 0) & (taken.low <= stay.base)
    begin, end = taken.begin[across], taken.end[across]
    after = int(begin[begin >= stay.end].min(initial=window.last))
    before = int(end[end <= stay.begin].max(initial=window.first))
    return before, after


def heights_at(stays: list[Stay], owner: Ints, step: Ints) -> Ints:
    """(k,) Pages of the stay ``owner`` in a ``step``; 0 for no stay, and where it is not there."""
    begin = np.array([stay.begin for stay in stays], np.int64)
    heights = np.concatenate([np.empty(0, np.int64), *(stay.heights for stay in stays)])
    first = np.cumsum([0, *(stay.heights.size for stay in stays)])
    pages = np.zeros(owner.size, np.int64)
    there = np.flatnonzero(owner >= 0)
    row = owner[there]
    at = step[there] - begin[row]
    own: Bools = (at >= 0) & (at < np.diff(first)[row])
    pages[there[own]] = heights[first[row[own]] + at[own]]
    return pages
