"""Windows that slide over rows: which rows of an operand some rows of results take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from spmopt.core.table import Ints

T = TypeVar("T", int, Ints)
Boundaries = tuple[int, ...]
"""Rows of results at which stripes begin, and the number of all."""


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of an operand that rows of results take.

    Rows [a, b) take ``[a stride + first, (b - 1) stride + first + span)``, clipped to the ``size``
    rows that there are. Where results have more rows than the operand, these are positions of which
    ``divisor`` make a row: rows ``floor((a stride + first) / divisor)`` to
    ``floor(((b - 1) stride + first + span - 1) / divisor)`` are taken.
    """

    size: int
    stride: int = 1
    first: int = 0
    span: int = 1
    divisor: int = 1

    def ready(self, there: T) -> T:
        """Return for how many rows of results the first ``there`` rows are enough."""
        # Solves (b - 1) stride + first + span <= there divisor for the largest b.
        return (there * self.divisor - self.first - self.span) // self.stride + 1

    def rows(self, begin: int, end: int, count: int) -> tuple[int, int]:
        """Return the rows that rows [begin, end) of ``count`` take.

        Rows that no window takes count with the first window behind them, and with the last one at
        the end, so that stripes take each row at least once, as the whole does.
        """
        position = begin * self.stride + self.first
        low = min(self._clip(position // self.divisor), self._end(begin - 1))
        # Padding of the whole: rows before the first and behind the last window.
        return (low if begin else 0), (self._end(end - 1) if end < count else self.size)

    def _end(self, row: int) -> int:
        last = row * self.stride + self.first + self.span - 1
        return self._clip(last // self.divisor + 1)

    def _clip(self, row: int) -> int:
        return min(max(row, 0), self.size)


@dataclass(frozen=True, slots=True)
class Rows:
    """How an operation on one micro-batch is cut into stripes.

    Attributes
    ----------
    count
        Rows of its results.
    windows
        Of each tensor that is cut with them, results among them; the others are whole to each
        stripe.
    """

    count: int
    windows: Mapping[int, Window]

    @property
    def plain(self) -> bool:
        """Whether stripes of as many rows are alike: no windows slide."""
        return all(each == Window(size=self.count) for each in self.windows.values())


def takes_rows(own: Boundaries, window: Window, rows: Rows) -> bool:
    """Return whether each stripe takes some rows of an operand."""
    taken = (window.rows(*stripe, rows.count) for stripe in pairwise(own))
    return all(begin < end for begin, end in taken)
