"""Where the pages of every tensor lie, as the steps go by."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spmopt.core.schedule import Placements
from spmopt.core.table import Ints

Extent = tuple[int, int, int]
"""SPM pages [begin, end) and the offset from an SPM page to the page of the tensor."""


class Addresses:
    """The placements of one step after the other."""

    def __init__(self, table: Placements) -> None:
        # Columns as lists, which give single numbers faster than arrays.
        self._tensor: list[int] = table.tensor.tolist()
        self._begin: list[int] = table.begin.tolist()
        self._low: list[int] = table.spm_page.tolist()
        self._high: list[int] = (table.spm_page + table.pages).tolist()
        self._shift: list[int] = (table.tensor_page - table.spm_page).tolist()
        self._beginning, self._ending = _Agenda(table.begin), _Agenda(table.end)
        # Of tensors that have some: by row.
        self._rows: dict[int, dict[int, Extent]] = {}

    def advance(self, step: int) -> list[tuple[int, int, Extent]]:
        """Go on to ``step``; call it for every step in turn.

        Returns the pages given up: tensor, since which step it lay there, and the extent.
        """
        # Ends come before begins: an address may be given to another tensor in the same step.
        given_up, rows = [], self._rows
        for row in self._ending.until(step):
            tensor = self._tensor[row]
            own = rows[tensor]
            given_up.append((tensor, self._begin[row], own.pop(row)))
            if not own:
                del rows[tensor]
        for row in self._beginning.until(step):
            extent = (self._low[row], self._high[row], self._shift[row])
            rows.setdefault(self._tensor[row], {})[row] = extent
        return given_up

    def of(self, tensor: int) -> Collection[Extent]:
        """Return the extents of a tensor (-1: the scratch) in this step."""
        own = self._rows.get(tensor)
        return own.values() if own else ()

    def part(self, tensor: int, first: int, last: int) -> list[Extent]:
        """Return the extents of its pages [first, last)."""
        return [
            (max(begin, first - shift), min(end, last - shift), shift)
            for begin, end, shift in self.of(tensor)
            if begin + shift < last and first < end + shift
        ]


class _Agenda:
    """Rows by time."""

    def __init__(self, time: Ints) -> None:
        order = np.argsort(time, kind="stable")
        self._order: list[int] = order.tolist()
        self._given = 0
        self._until: list[int] = np.cumsum(np.bincount(time, minlength=1)).tolist()

    def until(self, step: int) -> list[int]:
        """Return rows not yet given, up to and with those of ``step``."""
        first = self._given
        self._given = self._until[step] if step < len(self._until) else self._until[-1]
        return self._order[first : self._given]
