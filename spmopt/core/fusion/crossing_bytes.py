"""Bytes that fused groups move whatever their schedule is, by their begins and ends.

**Claim.** A fused group in K fusion tiles, all of which read tensors of W bytes that nothing
writes, loads or streams at least ``(K - 1) * max(0, W - C)`` of these bytes after their first use,
with C bytes of scratchpad. **Proof.** A byte that is used in two fusion tiles, one after the other,
and neither loaded nor streamed between, is on chip from one use to the other: so where the second
of these fusion tiles begins, too. No more than C bytes are; the others of W move, between each of
the K - 1 pairs. Of compressed tensors W and C are bytes that move, C at most of those that have the
largest ratio. What they move before their first use is counted beside, as is each tensor's that
the group cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import floor

import numpy as np

from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.table import Ints

_Change = tuple[tuple[int, int], int]
_Live = Callable[[int, int], bool]


def count_bytes(
    tileable: TileableGraph, live_after: _Live, first: Sequence[int], longest: int
) -> tuple[Ints, Ints, Ints]:
    """Count bytes that the tensors of fused groups move, each once.

    Parameters
    ----------
    live_after
        Of an operation and a tensor: whether its contents are needed afterwards.
    first
        By end: the begin of the fused group in the first column.

    Returns
    -------
    tuple of ndarray
        (n + 1, longest) by end and begin: bytes that they load or find; that they store or leave;
        that each of several fusion tiles reads, and nothing writes.
    """
    count = len(tileable.operations)
    tables = np.zeros((3, count + 1, longest), np.int64)
    for at, every in enumerate(_changes(tileable, live_after)):
        # What a fused group has that ends before this operation, it has here too, or no more.
        end, begin, lost = at + 1, first[at + 1], first[at + 1] - first[at]
        for table, changed in zip(tables, every, strict=True):
            row = table[end]
            row[: at - begin] = table[at, lost : lost + at - begin]
            for begins, size in changed:
                row[max(begins[0] - begin, 0) : max(begins[1] - begin, 0)] += size
    into, out, again = tables
    return into, out, again


def _changes(
    tileable: TileableGraph, live_after: _Live
) -> Iterator[tuple[list[_Change], list[_Change], list[_Change]]]:
    """Yield, of each operation: begins of groups for which it changes bytes, and by how many.

    Of a fused group that ends with it in place of before it.
    """
    last, left = dict[int, int](), dict[int, int]()
    wrote = dict[int, int]()
    written = {t for operation in tileable.operations for t in operation.writes}
    for at, operation in enumerate(tileable.operations):
        into, out, again = list[_Change](), list[_Change](), list[_Change]()
        for t in operation.uses(0):
            ratio = tileable.machine.moved_ratio(tileable.tensors[t].kind)
            size = floor(ratio * tileable.tensors[t].size_bytes)
            if t in operation.reads:
                into.append(((last.get(t, -1) + 1, at + 1), size))
                if t not in written and t not in operation.cut:
                    again.append(into[-1])
            if t in left:
                out.append(((0, left.pop(t) + 1), -size))
            if t in operation.writes:
                wrote[t] = at
            if t in wrote and live_after(at, t):
                left[t] = wrote[t]
                out.append(((0, wrote[t] + 1), size))
            last[t] = at
        yield into, out, again
