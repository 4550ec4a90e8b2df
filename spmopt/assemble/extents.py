"""Free pages of the scratchpad as extents: best fit, else the largest ones first."""

from __future__ import annotations

from bisect import bisect_left, insort

_START_BITS = 40
_START_MASK = (1 << _START_BITS) - 1


class FreeExtents:
    """Disjoint, never adjoining runs of free pages, found by size in logarithmic time.

    ``take`` cuts a request out of the smallest run that holds it; if none does, it uses up
    the largest runs, which splits the request into the fewest pieces.
    """

    def __init__(self, pages: int) -> None:
        self._by_size: list[int] = []
        self._size_at: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        self._top = pages
        if pages:
            self._add(0, pages)

    def take(self, pages: int) -> list[tuple[int, int]]:
        """Remove ``pages`` pages; returns runs (first page, pages).

        Where too few are free, the rest lies beyond the scratchpad's last page: an overfull
        plan still gets addresses, and the verifier sees what is wrong with them.
        """
        runs = []
        while pages:
            place = bisect_left(self._by_size, pages << _START_BITS)
            if place < len(self._by_size):
                start, size = self._remove(place)
                if size > pages:
                    self._add(start + pages, size - pages)
                runs.append((start, pages))
                break
            if self._by_size:
                start, size = self._remove(-1)
            else:
                start, size = self._top, pages
                self._top += pages
            runs.append((start, size))
            pages -= size
        return runs

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

    def _remove(self, place: int) -> tuple[int, int]:
        key = self._by_size.pop(place)
        start, pages = key & _START_MASK, key >> _START_BITS
        del self._size_at[start], self._start_before[start + pages]
        return start, pages

    def _discard(self, start: int, pages: int) -> None:
        self._remove(bisect_left(self._by_size, pages << _START_BITS | start))
