"""Where the pages of every tensor lie, as the steps go by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from spmopt.core.schedule import Placements
from spmopt.core.table import Ints

Extent = tuple[int, int, int]
"""SPM pages [begin, end) and what to add to an SPM page to get the page of the tensor."""


class Addresses:
    """The placements of one step after the other."""

    def __init__(self, table: Placements, tensors: int) -> None:
        self._tensor: list[int] = table.tensor.tolist()
        self._begin: list[int] = table.begin.tolist()
        self._extent: list[Extent] = list(
            zip(
                table.spm_page.tolist(),
                (table.spm_page + table.pages).tolist(),
                (table.tensor_page - table.spm_page).tolist(),
                strict=True,
            )
        )
        self._beginning, self._ending = _Agenda(table.begin), _Agenda(table.end)
        # The scratch, tensor -1, takes the last place.
        self._rows: list[dict[int, Extent]] = [{} for _ in range(tensors + 1)]

    def advance(self, step: int) -> list[tuple[int, int, Extent]]:
        """Go on to ``step``; call it for every step in turn.

        Returns what is given up: tensor, since which step it lay there, and the extent.
        """
        given_up = []
        for row in self._ending.until(step):
            tensor = self._tensor[row]
            given_up.append((tensor, self._begin[row], self._rows[tensor].pop(row)))
        for row in self._beginning.until(step):
            self._rows[self._tensor[row]][row] = self._extent[row]
        return given_up

    def of(self, tensor: int) -> Iterable[Extent]:
        """Return the extents of a tensor (-1: the scratch) in this step."""
        return self._rows[tensor].values()

    def part(self, tensor: int, first: int, last: int) -> list[Extent]:
        """Return the extents of its pages [first, last)."""
        return [
            (max(begin, first - shift), min(end, last - shift), shift)
            for begin, end, shift in self._rows[tensor].values()
            if begin + shift < last and first < end + shift
        ]


class _Agenda:
    """Rows by time."""

    def __init__(self, time: Ints) -> None:
        order = np.argsort(time, kind="stable")
        self._order: list[int] = order.tolist()
        self._time: list[int] = time[order].tolist()
        self._next = 0

    def until(self, step: int) -> list[int]:
        """Return rows not yet given, up to and with those of ``step``."""
        first = self._next
        self._next = bisect_right(self._time, step, first)
        return self._order[first : self._next]
