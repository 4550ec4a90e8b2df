"""Tensors in parts, and pieces of operations on them: what the instance of a cover is made of.

Part ``k`` of a tensor that is cut along the batch is called ``t[k]``; of its rows [a, b), where
these are cut too, ``t[k][a:b]``. Operations are called likewise, by the rows of their results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import lcm

from spmopt.core.instance import Tensor
from spmopt.core.operation import Mode, Operation
from spmopt.core.pieces.row_windows import Borders
from spmopt.core.pieces.segments import Cover, ListedOperation, Origin


class Parts:
    """Tensors in parts, and pieces of operations on them.

    Parts stand in the order of the tensors, of their pieces of the batch, and of their rows.

    Parameters
    ----------
    borders
        Of the bands of the operations of each segment; none where there are none.
    """

    def __init__(
        self,
        whole: Sequence[Tensor],
        operations: Sequence[ListedOperation],
        cover: Cover,
        borders: Sequence[Sequence[Borders]],
        band_mode: Callable[[int, int, int], Mode] | None,
    ) -> None:
        self.whole, self.operations, self.band_mode = whole, operations, band_mode
        self.count = [1] * len(whole)
        cuts: list[set[int]] = [set() for _ in whole]
        for segment, own in zip(cover, borders, strict=True):
            inner = operations[segment.begin : segment.end]
            for operation in inner:
                for tensor in operation.cut:
                    self.count[tensor] = lcm(self.count[tensor], segment.pieces)
            for tensor, border in _rows(inner, own):
                cuts[tensor].add(border)
        self.rows = [sorted(each) if len(each) > 2 else [] for each in cuts]
        """Borders of parts, where rows are cut."""
        each = [
            count * max(len(rows) - 1, 1) for count, rows in zip(self.count, self.rows, strict=True)
        ]
        self.first = [0, *accumulate(each)]
        self.tensors = [part for tensor in range(len(each)) for part in self._parts(tensor)]

    def _parts(self, tensor: int) -> Iterator[Tensor]:
        """Yield the parts of a tensor."""
        whole, count, rows = self.whole[tensor], self.count[tensor], self.rows[tensor]
        for part in range(count):
            name = f"{whole.name}[{part}]" if count > 1 else whole.name
            if not rows:
                yield replace(whole, name=name, size_bytes=whole.size_bytes // count)
            row = whole.size_bytes // (count * rows[-1]) if rows else 0
            for begin, end in pairwise(rows):
                size = row * (end - begin)
                yield replace(whole, name=f"{name}[{begin}:{end}]", size_bytes=size)

    def operation(self, origin: Origin) -> Operation:
        """Return a piece of an operation."""
        listed = self.operations[origin.operation]
        mode, reads = self._mode(origin, listed), listed.reads_of(origin.piece)
        parts = {t: self._used(t, origin, listed) for t in listed.uses(origin.piece)}
        operands = tuple(
            operand
            for mine, operand in zip(parts.values(), mode.operands, strict=True)
            for _ in mine
        )
        same = len(operands) == len(mode.operands)
        return Operation(
            name=origin.named(listed.name),
            reads=tuple(part for t in reads for part in parts[t]),
            writes=tuple(part for t in listed.writes for part in parts[t]),
            modes=(mode if same else replace(mode, operands=operands),),
            kind=listed.kind,
        )

    def _mode(self, origin: Origin, listed: ListedOperation) -> Mode:
        if origin.rows is not None and self.band_mode is not None:
            return self.band_mode(origin.operation, *origin.rows)
        modes = listed.modes[origin.pieces]
        return modes.later if origin.piece else modes.first

    def _used(self, tensor: int, origin: Origin, listed: ListedOperation) -> list[int]:
        """Return the parts of a tensor that a piece uses: all of one that is whole to it."""
        first, count, rows = self.first[tensor], self.count[tensor], self.rows[tensor]
        inner = max(len(rows) - 1, 1)
        begin, end = 0, count
        if tensor in listed.cut and origin.pieces > 1:
            each = count // origin.pieces
            begin, end = origin.piece * each, (origin.piece + 1) * each
        if not rows or origin.rows is None or listed.rows is None:
            return list(range(first + begin * inner, first + end * inner))
        window = listed.rows.windows.get(tensor)
        low, high = (
            (rows[0], rows[-1]) if window is None else window.rows(*origin.rows, listed.rows.count)
        )
        within = range(bisect_left(rows, low), bisect_left(rows, high))
        return [first + part * inner + row for part in range(begin, end) for row in within]


def _rows(
    operations: Sequence[ListedOperation], borders: Sequence[Borders]
) -> Iterator[tuple[int, int]]:
    """Yield tensors and rows at which operations in bands begin or end to use them."""
    for operation, bands in zip(operations, borders, strict=False):
        if operation.rows is None:
            continue
        for tensor, window in operation.rows.windows.items():
            for begin, end in pairwise(bands):
                for border in window.rows(begin, end, operation.rows.count):
                    yield tensor, border
