"""Tensors in parts, and fusion tiles of operations on them: parts of the problem of a fusion plan.

Part ``k`` of a tensor that is cut along the first axis is called ``t[k]``; of one that is cut along
heads ``t[heads k]``, and of its rows [a, b), where these are cut too, ``t[k][a:b]``. Parts of a
tensor that is cut along several axes form a grid. Operations are called likewise, by the rows of
their results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise, product
from math import lcm, prod
from typing import Protocol

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import (
    FusedGroup,
    FusionPlan,
    Origin,
    TileableOperation,
    tile_label,
)
from spmopt.core.fusion.row_windows import Boundaries
from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Tensor


class Tiled(Protocol):
    """A :class:`~.tileable_graph.TileableGraph`, as far as parts depend on it."""

    @property
    def tensors(self) -> Sequence[Tensor]:
        """Tensors."""
        ...

    @property
    def operations(self) -> Sequence[TileableOperation]:
        """Operations as tiled along the first axis."""
        ...

    @property
    def along(self) -> str:
        """Name of that axis."""
        ...

    @property
    def axes(self) -> Sequence[Tiled]:
        """The graph itself, and the same operations along further axes."""
        ...

    @property
    def stripe_mappings(self) -> Callable[[int, int, int], tuple[OpMapping, ...]] | None:
        """Mappings of rows of an operation."""
        ...


class Parts:
    """Tensors in parts, and fusion tiles of operations on them.

    Parts stand in the order of the tensors, of their shares along each axis, and of their rows.

    Parameters
    ----------
    boundaries
        Of the stripes of the operations of each fused group; none where there are none.

    Attributes
    ----------
    counts
        Of each tensor: how many shares it has along each axis.
    rows
        Of each tensor: boundaries of parts, where rows are cut.
    first
        Of each tensor, and at last of none: the number of its first part.

    Raises
    ------
    InputError
        Fused groups cut a tensor along several axes into parts that are no whole bytes.
    """

    def __init__(
        self,
        tileable: Tiled,
        fusion_plan: FusionPlan,
        boundaries: Sequence[Sequence[Boundaries]],
    ) -> None:
        self.tileable, self.whole = tileable, tileable.tensors
        self._known = dict[object, tuple[tuple[OpMapping, ...], tuple[OpMapping, ...]]]()
        self.counts = _shares(tileable, fusion_plan)
        cuts: list[set[int]] = [set() for _ in self.whole]
        for fused_group, own in zip(fusion_plan, boundaries, strict=True):
            for tensor, boundary in _rows(_inner(tileable, fused_group), own):
                cuts[tensor].add(boundary)
        # Two boundaries are those of the whole: not cut.
        self.rows = [sorted(each) if len(each) > 2 else [] for each in cuts]
        each = [
            prod(counts) * max(len(rows) - 1, 1)
            for counts, rows in zip(self.counts, self.rows, strict=True)
        ]
        self.first = [0, *accumulate(each)]
        self.tensors = [part for tensor in range(len(each)) for part in self._parts(tensor)]

    @property
    def several(self) -> bool:
        """Whether any tensor is in several parts."""
        return self.first[-1] > len(self.whole)

    def shares(self, tensor: int) -> Iterator[tuple[int, ...]]:
        """Yield the shares along each axis of the parts of a tensor, in the order of parts."""
        yield from product(*map(range, self.counts[tensor]))

    def _parts(self, tensor: int) -> Iterator[Tensor]:
        """Yield the parts of a tensor."""
        whole, counts, rows = self.whole[tensor], self.counts[tensor], self.rows[tensor]
        several = prod(counts) * (rows[-1] if rows else 1)
        if whole.size_bytes % several:
            raise InputError(
                f"{whole.name}: its {whole.size_bytes} bytes do not divide into {several} parts"
            )
        labels = ["", *(each.along for each in self.tileable.axes[1:])]
        for shares in self.shares(tensor):
            each = zip(labels, shares, counts, strict=True)
            name = whole.name
            name += "".join(tile_label(label, at) for label, at, count in each if count > 1)
            if not rows:
                yield replace(whole, name=name, size_bytes=whole.size_bytes // several)
            for begin, end in pairwise(rows):
                size = whole.size_bytes // several * (end - begin)
                yield replace(whole, name=f"{name}[{begin}:{end}]", size_bytes=size)

    def operation(self, origin: Origin) -> Operation:
        """Return a fusion tile of an operation."""
        listed = self.tileable.axes[origin.axis].operations[origin.operation]
        reads = listed.reads_of(origin.fusion_tile)
        parts = {t: self._use(t, origin, listed) for t in listed.uses(origin.fusion_tile)}
        counts = [len(each) for each in parts.values()]
        return Operation(
            name=origin.with_name(listed.name),
            reads=tuple(part for t in reads for part in parts[t]),
            writes=tuple(part for t in listed.writes for part in parts[t]),
            mappings=self._of_parts(self._mappings(origin, listed), tuple(counts)),
            kind=listed.kind,
            element_type=listed.element_type,
        )

    def _of_parts(
        self, mappings: tuple[OpMapping, ...], counts: tuple[int, ...]
    ) -> tuple[OpMapping, ...]:
        """Return mappings whose operands are so many parts each: the same ones for tiles alike."""
        # By identity: others than of these mappings have other numbers as long as they are known.
        key = counts, tuple(map(id, mappings))
        known = self._known.get(key)
        if known is None:
            # Most tiles use one part of each tensor, and then share the mappings.
            single = sum(counts) == len(counts)
            found = mappings if single else tuple([_of_parts(each, counts) for each in mappings])
            known = self._known[key] = mappings, found
        return known[1]

    def _mappings(self, origin: Origin, listed: TileableOperation) -> tuple[OpMapping, ...]:
        stripes = self.tileable.stripe_mappings
        if origin.rows is not None and stripes is not None:
            return stripes(origin.operation, *origin.rows)
        return listed.mappings[origin.micro_batches].of_tile(origin.fusion_tile)

    def _use(self, tensor: int, origin: Origin, listed: TileableOperation) -> list[int]:
        """Return the parts of a tensor that a fusion tile uses: all of one that is whole to it."""
        first, counts, rows = self.first[tensor], self.counts[tensor], self.rows[tensor]
        ranges = [range(count) for count in counts]
        if tensor in listed.cut and origin.micro_batches > 1:
            each = counts[origin.axis] // origin.micro_batches
            # A coarser group uses several parts of a tensor that a finer one has cut.
            begin = origin.fusion_tile * each
            ranges[origin.axis] = range(begin, begin + each)
        ranges.append(range(max(len(rows) - 1, 1)))
        if rows and origin.rows is not None and listed.rows is not None:
            window = listed.rows.windows.get(tensor)
            if window is not None:
                low, high = window.rows(*origin.rows, listed.rows.count)
                # All boundaries of windows are among ``rows``, so both are found exactly.
                ranges[-1] = range(bisect_left(rows, low), bisect_left(rows, high))
        return [first + at for at in _places(ranges, [*counts, max(len(rows) - 1, 1)])]


def count_accesses(tileable: Tiled, fusion_plan: FusionPlan) -> int:
    """Return how many parts of tensors all operations of a fusion plan use, without making any.

    Rows that stripes cut count once.
    """
    counts = _shares(tileable, fusion_plan)
    found = 0
    for fused_group in fusion_plan:
        tiles = fused_group.count
        for operation in _inner(tileable, fused_group):
            for t in operation.uses(0):
                cut = fused_group.micro_batches if t in operation.cut else 1
                found += tiles * (prod(counts[t]) // cut)
    return found


def _inner(tileable: Tiled, fused_group: FusedGroup) -> Sequence[TileableOperation]:
    """Return the operations of a fused group, as tiled along its axis."""
    return tileable.axes[fused_group.axis].operations[fused_group.begin : fused_group.end]


def _shares(tileable: Tiled, fusion_plan: FusionPlan) -> list[list[int]]:
    """Return how many shares each tensor has along each axis."""
    counts = [[1] * len(tileable.axes) for _ in tileable.tensors]
    for fused_group in fusion_plan:
        axis = fused_group.axis
        for operation in _inner(tileable, fused_group):
            for t in operation.cut:
                # The coarsest partition that both neighbors' tiles are unions of.
                counts[t][axis] = lcm(counts[t][axis], fused_group.micro_batches)
    return counts


def _places(ranges: Sequence[range], counts: Sequence[int]) -> list[int]:
    """Return the numbers of parts in ranges of a grid of so many, the last axis the fastest."""
    found = [0]
    for each, count in zip(ranges, counts, strict=True):
        found = [at * count + share for at in found for share in each]
    return found


def _of_parts(mapping: OpMapping, counts: Sequence[int]) -> OpMapping:
    """Return a mapping whose operands are so many parts each."""
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
