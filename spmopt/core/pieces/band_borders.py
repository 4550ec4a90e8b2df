"""Bands of rows: where a segment cuts each of its operations so that no row is computed twice.

Band ``k`` of an operation computes the rows of results that its inputs of bands up to ``k`` allow,
and the last band all that are left; so the rows of a halo are kept from the band before, not
computed again. Each window that is wider than its stride lets the borders of what follows fall back
a little, so bands are uneven, and the last is the largest. Operations none of whose inputs are made
in the segment have even bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from spmopt.core.pieces.row_windows import Borders, Rows, Window, takes_rows
from spmopt.core.pieces.segments import ListedOperation


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
    rows = operation.rows
    if rows is None:
        return f"{operation.name} cannot be cut into bands of rows"
    if not used.isdisjoint(operation.writes):
        return f"{operation.name} writes anew what is used before it in the segment"
    before = [t for t in operation.reads if t in made]
    if not all(t in rows.windows for t in before):
        return f"{operation.name} needs all rows of what is made in the segment band by band"
    if bands <= rows.count:
        found = _cut(rows, bands, [(rows.windows[t], made[t]) for t in before])
        windows = [rows.windows[t] for t in operation.reads if t in rows.windows]
        if all(begin < end for begin, end in pairwise(found)) and all(
            takes_rows(found, window, rows) for window in windows
        ):
            return found
    return f"{operation.name} has no rows to compute, or to take, in some of {bands} bands"


def _cut(rows: Rows, bands: int, made: Sequence[tuple[Window, Borders]]) -> Borders:
    """Return the borders that windows of what is made before allow; even ones without any."""
    ends = [rows.count * band // bands for band in range(1, bands)]
    if made:
        ends = [
            min(rows.count, *(window.ready(own[band]) for window, own in made))
            for band in range(1, bands)
        ]
    return (0, *ends, rows.count)
