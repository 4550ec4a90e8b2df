"""A number for every page of the scratchpad, kept as runs of equal numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

Run = tuple[int, int, int]
"""Pages [begin, end) and their number."""


class Runs:
    """As an array of numbers, at first all 0, where a run costs what a single page would.

    Runs are disjoint and cover every page; neighbors may have equal numbers. Ranges must not
    be empty and must lie within the pages.
    """

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._begins = [0]
        self._at = {0: (pages, 0)}
        """By begin: end and number."""

    def put(self, begin: int, end: int, number: int) -> None:
        """Set the number of pages [begin, end)."""
        run = self._at.get(begin)
        if run is None or run[0] != end:
            self._cut(begin)
            self._cut(end)
            first, last = bisect_right(self._begins, begin), bisect_left(self._begins, end)
            for inner in self._begins[first:last]:
                del self._at[inner]
            del self._begins[first:last]
        self._at[begin] = (end, number)

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
        return max(self._at[at][1] for at in self._begins[first:last])

    def all_are(self, number: int, begin: int, end: int) -> bool:
        """Whether every page of [begin, end) has this number."""
        run = self._at.get(begin)
        if run is not None and run[0] >= end:
            return run[1] == number
        return all(other == number for _, _, other in self.over(begin, end))

    def _cut(self, page: int) -> None:
        """Let a run begin at ``page``."""
        if page in self._at or page == self._pages:
            return
        place = bisect_left(self._begins, page)
        before = self._begins[place - 1]
        end, number = self._at[before]
        self._at[before] = (page, number)
        self._at[page] = (end, number)
        self._begins.insert(place, page)
