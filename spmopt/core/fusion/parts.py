"""Tensors in parts, and fusion tiles of operations on them: parts of the problem of a fusion plan.

Part ``k`` of a tensor that is cut along the batch is called ``t[k]``; of its rows [a, b), where
these are cut too, ``t[k][a:b]``. Operations are called likewise, by the rows of their results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import lcm

from spmopt.core.fusion.fused_groups import FusionPlan, Origin, TileableOperation
from spmopt.core.fusion.row_windows import Boundaries
from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Tensor


class Parts:
    """Tensors in parts, and fusion tiles of operations on them.

    Parts stand in the order of the tensors, of their micro-batches, and of their rows.

    Parameters
    ----------
    boundaries
        Of the stripes of the operations of each fused group; none where there are none.
    """

    def __init__(
        self,
        whole: Sequence[Tensor],
        operations: Sequence[TileableOperation],
        fusion_plan: FusionPlan,
        boundaries: Sequence[Sequence[Boundaries]],
        stripe_mappings: Callable[[int, int, int], tuple[OpMapping, ...]] | None,
    ) -> None:
        self.whole, self.operations, self.stripe_mappings = whole, operations, stripe_mappings
        self.count = [1] * len(whole)
        cuts: list[set[int]] = [set() for _ in whole]
        for fused_group, own in zip(fusion_plan, boundaries, strict=True):
            inner = operations[fused_group.begin : fused_group.end]
            for operation in inner:
                for tensor in operation.cut:
                    # The coarsest partition that both neighbors' tiles are unions of.
                    self.count[tensor] = lcm(self.count[tensor], fused_group.micro_batches)
            for tensor, boundary in _rows(inner, own):
                cuts[tensor].add(boundary)
        # Two boundaries are those of the whole: not cut.
        self.rows = [sorted(each) if len(each) > 2 else [] for each in cuts]
        """Boundaries of parts, where rows are cut."""
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
        """Return a fusion tile of an operation."""
        listed = self.operations[origin.operation]
        reads = listed.reads_of(origin.fusion_tile)
        parts = {t: self._use(t, origin, listed) for t in listed.uses(origin.fusion_tile)}
        counts = [len(each) for each in parts.values()]
        return Operation(
            name=origin.with_name(listed.name),
            reads=tuple(part for t in reads for part in parts[t]),
            writes=tuple(part for t in listed.writes for part in parts[t]),
            mappings=tuple(_of_parts(each, counts) for each in self._mappings(origin, listed)),
            kind=listed.kind,
            element_type=listed.element_type,
        )

    def _mappings(self, origin: Origin, listed: TileableOperation) -> tuple[OpMapping, ...]:
        if origin.rows is not None and self.stripe_mappings is not None:
            return self.stripe_mappings(origin.operation, *origin.rows)
        return listed.mappings[origin.micro_batches].of_tile(origin.fusion_tile)

    def _use(self, tensor: int, origin: Origin, listed: TileableOperation) -> list[int]:
        """Return the parts of a tensor that a fusion tile uses: all of one that is whole to it."""
        first, count, rows = self.first[tensor], self.count[tensor], self.rows[tensor]
        inner = max(len(rows) - 1, 1)
        begin, end = 0, count
        if tensor in listed.cut and origin.micro_batches > 1:
            each = count // origin.micro_batches
            # A coarser group uses several parts of a tensor that a finer one has cut.
            begin, end = origin.fusion_tile * each, (origin.fusion_tile + 1) * each
        if not rows or origin.rows is None or listed.rows is None:
            return list(range(first + begin * inner, first + end * inner))
        window = listed.rows.windows.get(tensor)
        low, high = (
            (rows[0], rows[-1]) if window is None else window.rows(*origin.rows, listed.rows.count)
        )
        # All boundaries of windows are among ``rows``, so both are found exactly.
        within = range(bisect_left(rows, low), bisect_left(rows, high))
        return [first + part * inner + row for part in range(begin, end) for row in within]


def _of_parts(mapping: OpMapping, counts: Sequence[int]) -> OpMapping:
    """Return a mapping whose operands are so many parts each."""
    # Most tiles use one part of each tensor, and then share the mapping.
    if sum(counts) == len(counts):
        return mapping
    pairs = zip(mapping.operands, counts, strict=True)
    return replace(mapping, operands=tuple(each for each, count in pairs for _ in range(count)))


def _rows(
    operations: Sequence[TileableOperation], boundaries: Sequence[Boundaries]
) -> Iterator[tuple[int, int]]:
    """Yield tensors and rows at which operations in stripes begin or end to use them."""
    for operation, stripes in zip(operations, boundaries, strict=False):
        if operation.rows is None:
            continue
        for tensor, window in operation.rows.windows.items():
            for begin, end in pairwise(stripes):
                for boundary in window.rows(begin, end, operation.rows.count):
                    yield tensor, boundary
