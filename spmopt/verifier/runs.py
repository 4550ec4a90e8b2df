"""A number for every page of the scratchpad, kept as runs of equal numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

Run = tuple[int, int, int]
"""Pages [begin, end) and their number."""


class Runs:
    """As an array of numbers, at first all 0, where a run costs as much as a single page.

    Runs are disjoint, and every page is in one; neighbors may have equal numbers. Ranges must not
    be empty and must lie within the pages.
    """

    def __init__(self, pages: int) -> None:
        self._begins = [0]
        self._at = {0: (pages, 0)}
        """By begin: end and number."""

    def set(self, begin: int, end: int, number: int) -> None:
        """Set the number of pages [begin, end)."""
        runs, begins = self._at, self._begins
        # Most ranges are set again as they were set before: one look-up.
        run = runs.get(begin)
        if run is None or run[0] != end:
            first = bisect_left(begins, begin)
            last = bisect_left(begins, end, first)
            until, above = runs[begins[last - 1]]
            if run is None:
                below = begins[first - 1]
                runs[below] = (begin, runs[below][1])
            for inner in begins[first:last]:
                del runs[inner]
            if until > end:
                runs[end] = (until, above)
                begins[first:last] = (begin, end)
            else:
                begins[first:last] = (begin,)
        runs[begin] = (end, number)

    def over(self, begin: int, end: int) -> list[Run]:
        """Return the runs within [begin, end), those at its ends cut to it."""
        run = self._at.get(begin)
        if run is not None and run[0] >= end:
            return [(begin, end, run[1])]
        first, last = bisect_right(self._begins, begin) - 1, bisect_left(self._begins, end)
        runs = []
        for at in self._begins[first:last]:
            until, number = self._at[at]
            runs.append((max(at, begin), min(until, end), number))
        return runs

    def greatest(self, begin: int, end: int) -> int:
        """Return the greatest number of any page of [begin, end)."""
        run = self._at.get(begin)
        if run is not None and run[0] >= end:
            return run[1]
        first, last = bisect_right(self._begins, begin) - 1, bisect_left(self._begins, end)
        return max([self._at[at][1] for at in self._begins[first:last]])

    def follow(self, number: int, extents: Iterable[tuple[int, int, int]]) -> int:
        """Return how many pages the extents have; -1 if one of them has another number.

        An extent is pages [begin, end) that should have ``number`` plus a shift of its own.
        """
        pages = 0
        for begin, end, shift in extents:
            run, wanted = self._at.get(begin), number + shift
            if run is None or run[0] < end:
                if any(other != wanted for _, _, other in self.over(begin, end)):
                    return -1
            elif run[1] != wanted:
                return -1
            pages += end - begin
        return pages
