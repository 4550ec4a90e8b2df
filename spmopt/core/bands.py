"""Bands of rows: where a segment cuts each of its operations so that no row is computed twice.

Band ``k`` of an operation computes the rows of results that its inputs of bands up to ``k`` allow,
and the last band all that are left; so the rows of a halo are kept from the band before, not
computed again. Each window that is wider than its stride lets the borders of what follows fall back
a little, so bands are uneven, and the last is the largest. Operations none of whose inputs are made
in the segment have even bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which has a record of here
    from spmopt.core.listing import ListedOperation

Borders = tuple[int, ...]
"""Rows of results at which bands begin, and the number of all."""


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of an operand that rows of results take.

    Rows [a, b) take ``[a stride + first, (b - 1) stride + first + span)``, clipped to the ``size``
    rows that there are.
    """

    size: int
    stride: int = 1
    first: int = 0
    span: int = 1

    def ready(self, there: int) -> int:
        """Return for how many rows of results the first ``there`` rows are enough."""
        return (there - self.first - self.span) // self.stride + 1

    def rows(self, begin: int, end: int, count: int) -> tuple[int, int]:
        """Return the rows that rows [begin, end) of ``count`` take.

        Rows that no window takes count with the first window behind them, and with the last one at
        the end, so that bands take each row at least once, as the whole does.
        """
        low = min(self._clip(begin * self.stride + self.first), self._end(begin - 1))
        return (low if begin else 0), (self._end(end - 1) if end < count else self.size)

    def _end(self, row: int) -> int:
        return self._clip(row * self.stride + self.first + self.span)

    def _clip(self, row: int) -> int:
        return min(max(row, 0), self.size)


@dataclass(frozen=True, slots=True)
class Rows:
    """How an operation on one piece of the batch is cut into bands of rows.

    Attributes
    ----------
    count
        Rows of its results.
    windows
        Of each tensor that is cut with them, results among them; the others are whole to each band.
    """

    count: int
    windows: Mapping[int, Window]


def borders(operations: Sequence[ListedOperation], bands: int) -> Iterator[Borders | str]:
    """Yield the borders of the bands of each operation of a segment; at an obstacle say which."""
    made: dict[int, Borders] = {}
    used: set[int] = set()
    for operation in operations:
        found = _borders(operation, bands, made, used)
        yield found
        if isinstance(found, str):
            return
        made |= dict.fromkeys(operation.writes, found)
        used |= {*operation.reads, *operation.writes}


def _borders(
    operation: ListedOperation, bands: int, made: Mapping[int, Borders], used: set[int]
) -> Borders | str:
    name, rows = operation.name, operation.rows
    if rows is None:
        return f"{name} cannot be cut into bands of rows"
    if not used.isdisjoint(operation.writes):
        return f"{name} writes anew what is used before it in the segment"
    before = [t for t in operation.reads if t in made]
    if not all(t in rows.windows for t in before):
        return f"{name} needs all rows of what is made in the segment band by band"
    ends = [rows.count * band // bands for band in range(1, bands)]
    if before:
        ends = [
            min(rows.windows[t].ready(made[t][band]) for t in before) for band in range(1, bands)
        ]
    found = (0, *(min(end, rows.count) for end in ends), rows.count)
    if any(end <= begin for begin, end in pairwise(found)):
        return f"{name} has no rows to compute in some of {bands} bands"
    for t in operation.reads:
        window = rows.windows.get(t)
        if window and any(_is_empty(window.rows(*each, rows.count)) for each in pairwise(found)):
            return f"{name} takes no rows of an operand in some of {bands} bands"
    return found


def _is_empty(rows: tuple[int, int]) -> bool:
    return rows[1] <= rows[0]
