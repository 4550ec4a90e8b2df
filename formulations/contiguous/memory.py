"""What is taken of the scratchpad, as rectangles of pages and steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spmopt.core.table import Bools, Ints


class Taken(NamedTuple):
    """Rectangles: pages ``[low, high)`` in steps ``[begin, end)``, by whom (-1: scratch)."""

    low: Ints
    high: Ints
    begin: Ints
    end: Ints
    owner: Ints

    def where(self, chosen: Bools) -> Taken:
        """Only those chosen."""
        return Taken(*(column[chosen] for column in self))

    def free_runs(self, pages: int) -> tuple[Ints, Ints]:
        """Pages that are free all the time: runs ``[low, high)``, in order, of ``[0, pages)``."""
        order = np.argsort(self.low, kind="stable")
        low, high = np.append(self.low[order], pages), self.high[order]
        begin = np.maximum.accumulate(np.concatenate(([0], high)))
        free = begin < low
        return begin[free], low[free]


class Memory:
    """The scratchpad's pages over the steps, the scratch of every step at the top."""

    def __init__(self, pages: int, scratch_pages: Ints) -> None:
        self.pages = pages
        self.roof: Ints = pages - scratch_pages
        """(n,) Pages under the scratch."""
        busy = np.flatnonzero(scratch_pages)
        self._count = busy.size
        self._table = np.zeros((5, max(1024, 2 * busy.size)), np.int64)
        self._table[:, : busy.size] = (
            self.roof[busy],
            np.full(busy.size, pages),
            busy,
            busy + 1,
            np.full(busy.size, -1),
        )

    def around(self, begin: int, end: int, but: int) -> Taken:
        """What is taken in steps ``[begin, end)`` by others than ``but``."""
        table = self._table[:, : self._count]
        met = (table[2] < end) & (table[3] > begin) & (table[4] != but)
        return Taken(*table[:, met])

    def take(self, owner: int, base: int, begin: int, heights: Ints) -> None:
        """Take ``heights[k]`` pages from ``base`` on in step ``begin + k``, in place of earlier."""
        held = self._table[:, : self._count]
        held[3, held[4] == owner] = -1  # ends before it begins: met by nothing
        change = np.flatnonzero(np.diff(heights, prepend=heights[0] - 1))
        first, last = begin + change, begin + np.append(change[1:], heights.size)
        there = heights[change] > 0
        count = int(there.sum())
        while self._count + count > self._table.shape[1]:
            self._table = np.concatenate((self._table, np.zeros_like(self._table)), axis=1)
        rows = self._table[:, self._count : self._count + count]
        rows[0] = base
        rows[1] = base + heights[change][there]
        rows[2], rows[3], rows[4] = first[there], last[there], owner
        self._count += count
