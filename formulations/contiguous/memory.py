"""Occupied scratchpad, as rectangles of pages and steps."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from spmopt.core.table import Bools, Ints

_STRETCH = 64
"""Steps whose rectangles are kept together; those of more steps are cut there."""
_OWNER = 4  # the row of the table, below low, high, begin and end


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


class _Stretch:
    """Rectangles within a few steps, in a table that grows; rows given back are used again."""

    def __init__(self) -> None:
        self._table = np.zeros((5, 16), np.int64)
        self._count = 0
        self._spare: list[int] = []

    def add(self, rectangle: tuple[int, int, int, int, int]) -> int:
        """Its row."""
        if self._spare:
            # Rows of removed rectangles are used again: tables grow with what is there, not with
            # what was.
            row = self._spare.pop()
        else:
            row, self._count = self._count, self._count + 1
            if row == self._table.shape[1]:
                self._table = np.concatenate((self._table, np.zeros_like(self._table)), axis=1)
        self._table[:, row] = rectangle
        return row

    def remove(self, row: int) -> None:
        """Never met again."""
        self._table[3, row] = -1  # ends before it begins
        self._spare.append(row)

    def meet(self, begin: int, end: int, but: int) -> Ints:
        """(5, r) Rectangles in steps ``[begin, end)``."""
        table = self._table[:, : self._count]
        return table[:, (table[2] < end) & (table[3] > begin) & (table[_OWNER] != but)]


class SpmMap:
    """The scratchpad's pages over some steps, the scratch of every step at the top.

    Parts before or after these steps are left out.
    """

    def __init__(self, pages: int, scratch_pages: Ints, first: int = 0) -> None:
        """Of the steps from ``first`` on, (n,) pages of scratch."""
        self.pages = pages
        self.first, self.last = first, first + scratch_pages.size
        self._stretches = [_Stretch() for _ in range(scratch_pages.size // _STRETCH + 1)]
        self._rows: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for step in np.flatnonzero(scratch_pages).tolist():
            self._add(-1, pages - int(scratch_pages[step]), pages, (step, step + 1))

    def around(self, begin: int, end: int, but: int) -> Taken:
        """Pages taken in steps ``[begin, end)`` by others than ``but``; long ones in pieces."""
        begin, end = max(begin, self.first) - self.first, min(end, self.last) - self.first
        if begin >= end:
            return Taken(*np.empty((5, 0), np.int64))
        stretches = self._stretches[begin // _STRETCH : (end - 1) // _STRETCH + 1]
        met = [one.meet(begin, end, but) for one in stretches]
        taken = Taken(*(met[0] if len(met) == 1 else np.concatenate(met, axis=1)))
        return taken._replace(begin=taken.begin + self.first, end=taken.end + self.first)

    def take(self, owner: int, base: int, begin: int, heights: Ints) -> None:
        """Take ``heights[k]`` pages from ``base`` on in step ``begin + k``, in place of earlier."""
        for place, row in self._rows.pop(owner, []):
            self._stretches[place].remove(row)
        heights = heights[max(self.first - begin, 0) : max(self.last - begin, 0)]
        if not heights.size:
            return
        begin = max(begin, self.first) - self.first
        # One rectangle for each run of equal heights.
        change = np.flatnonzero(np.diff(heights, prepend=heights[0] - 1))
        ends = np.append(change[1:], heights.size)
        for height, first, last in zip(
            heights[change].tolist(), change.tolist(), ends.tolist(), strict=True
        ):
            if height > 0:
                self._add(owner, base, base + height, (begin + first, begin + last))

    def _add(self, owner: int, low: int, high: int, steps: tuple[int, int]) -> None:
        """Steps are counted from the memory's first."""
        begin, end = steps
        for place in range(begin // _STRETCH, (end - 1) // _STRETCH + 1):
            first, last = max(begin, place * _STRETCH), min(end, (place + 1) * _STRETCH)
            row = self._stretches[place].add((low, high, first, last, owner))
            self._rows[owner].append((place, row))
