"""Free pages of the scratchpad as extents, found by size or by address."""

from __future__ import annotations

from bisect import bisect_left, insort

Extent = tuple[int, int]
"""First page and number of pages."""

_START_BITS = 40
_START_MASK = (1 << _START_BITS) - 1


class FreeExtents:
    """Disjoint, never adjoining runs of free pages, found in logarithmic time."""

    def __init__(self, pages: int) -> None:
        self._by_size: list[int] = []
        self._size_at: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        self._top = pages
        if pages:
            self._add(0, pages)

    def size_at(self, start: int) -> int:
        """Pages of the extent that begins at ``start``; 0 if none does."""
        return self._size_at.get(start, 0)

    def holding(self, pages: int, most: int) -> list[Extent]:
        """The smallest extents that hold ``pages`` pages, at most so many."""
        place = bisect_left(self._by_size, pages << _START_BITS)
        return [
            (key & _START_MASK, key >> _START_BITS) for key in self._by_size[place : place + most]
        ]

    def take(self, extent: Extent, start: int, pages: int) -> None:
        """Remove the pages [start, start + pages) of ``extent``."""
        first, size = extent
        self._discard(first, size)
        if start > first:
            self._add(first, start - first)
        if start + pages < first + size:
            self._add(start + pages, first + size - start - pages)

    def take_largest(self, pages: int) -> Extent:
        """Remove a largest extent, for a request of more ``pages`` than any holds.

        Where nothing is free, the pages lie beyond the scratchpad's last: an overfull plan
        still gets addresses, and the verifier sees what is wrong with them.
        """
        if self._by_size:
            return self._remove(-1)
        self._top += pages
        return self._top - pages, pages

    def give(self, start: int, pages: int) -> None:
        """Put a run back and join it to the free runs around it."""
        size_above = self._size_at.get(start + pages)
        if size_above is not None:
            self._discard(start + pages, size_above)
            pages += size_above
        start_below = self._start_before.get(start)
        if start_below is not None:
            size_below = self._size_at[start_below]
            self._discard(start_below, size_below)
            start, pages = start_below, pages + size_below
        self._add(start, pages)

    def _add(self, start: int, pages: int) -> None:
        insort(self._by_size, pages << _START_BITS | start)
        self._size_at[start] = pages
        self._start_before[start + pages] = start

    def _remove(self, place: int) -> Extent:
        key = self._by_size.pop(place)
        start, pages = key & _START_MASK, key >> _START_BITS
        del self._size_at[start], self._start_before[start + pages]
        return start, pages

    def _discard(self, start: int, pages: int) -> None:
        self._remove(bisect_left(self._by_size, pages << _START_BITS | start))
