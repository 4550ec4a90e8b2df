"""Covers: which parts of a listing are computed in pieces; and the instance of one.

A *segment* is a run of operations that is computed depth first in ``pieces`` equal pieces of the
batch: piece 0 through all of its operations, then piece 1, and so on. A *cover* cuts the listing
into segments. Tensors that are cut by some segment are in as many pieces as the finest of these
needs; a coarser one uses several of them at once. What is summed over the batch (gradients of
weights, statistics) is written by the first piece and updated in place by the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from math import lcm

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.operation import Operation
from spmopt.core.order import hazards
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.lower import Lowering, Used
from spmopt.graph.naming import unused
from spmopt.graph.operators.spec import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Operations [begin, end) of the listing, in equal pieces of the batch."""

    begin: int
    end: int
    pieces: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.begin < self.end or self.pieces < 1:
            raise InputError(
                f"segment {self.begin} to {self.end} in {self.pieces} pieces: "
                "give a begin before its end, and at least 1 piece"
            )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation of a chunked instance comes from: a position of the listing, a piece."""

    operation: int
    piece: int
    pieces: int


Cover = tuple[Segment, ...]


class Listing:
    """The operations of a graph in its order, and how each can be cut along the batch.

    Attributes
    ----------
    cuts
        How each operation is cut; None where it cannot be.
    most_pieces
        Into which every number of pieces divides.
    """

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        axes = LinkedAxes(lowering.graph)
        batch = axes.batch
        self.most_pieces = axes.pieces(batch)
        self.cuts = [axes.cut(node, batch) for node in lowering.nodes]

    def __len__(self) -> int:
        return len(self.cuts)

    def require(self, cover: Cover) -> None:
        """Check that a cover is one of this listing.

        Raises
        ------
        InputError
            Segments leave something out or overlap, cut what cannot be cut, or read a sum before
            it is complete.
        """
        ends = [0, *(segment.end for segment in cover)]
        if any(each.begin != end for each, end in zip(cover, ends, strict=False)) or (
            ends[-1] != len(self)
        ):
            raise InputError(f"cover: segments must follow each other from 0 to {len(self)}")
        for segment in cover:
            found = self.obstacle(segment)
            if found:
                raise InputError(f"segment {segment.begin} to {segment.end}: {found}")

    def obstacle(self, segment: Segment) -> str:
        """Say why a segment cannot be computed in its pieces; nothing if it can.

        What its operations sum up over the batch, no other of them may touch: it is complete
        after the last piece only. One may write it anew, before the others.
        """
        if segment.pieces == 1:
            return ""
        if self.most_pieces % segment.pieces:
            return f"{segment.pieces} pieces do not divide a batch of {self.most_pieces}"
        begun: set[int] = set()
        read: set[int] = set()
        for at in range(segment.begin, segment.end):
            name, used = self.lowering.nodes[at].name, self.lowering.used[at]
            if self.cuts[at] is None:
                return f"{name} cannot be cut along the batch"
            sums = self.sums(at)
            if any(t in begun and t not in used.reads for t in sums):
                return f"{name} writes a sum anew that another has begun"
            read.update(t for t in used.reads if t not in sums)
            begun |= sums
            if read & begun:
                return f"{name}: what is summed over the batch is read in the same segment"
        return ""

    def sums(self, at: int) -> set[int]:
        """Return the tensors that an operation sums up over the batch."""
        cut, used = self.cuts[at], self.lowering.used[at]
        if cut is None:
            return set()
        return {t for t, axis in zip(used.outputs, cut.outputs, strict=True) if axis is None}

    def instance(self, cover: Cover) -> tuple[Instance, list[Origin]]:
        """Return the instance of a cover, and where each of its operations comes from.

        Raises
        ------
        InputError
            It is no cover of this listing.
        """
        self.require(cover)
        chunks = _Chunks(self, cover)
        names: set[str] = set()
        pieces = [
            (chunks.operation(at, piece, segment.pieces), Origin(at, piece, segment.pieces))
            for segment in cover
            for piece in range(segment.pieces)
            for at in range(segment.begin, segment.end)
        ]
        uses = [(each.reads, each.writes) for each, _ in pieces]
        before = hazards(uses, len(chunks.tensors))
        operations = tuple(
            replace(each, name=unused(each.name, names), predecessors=tuple(sorted(earlier)))
            for (each, _), earlier in zip(pieces, before, strict=True)
        )
        lowering = self.lowering
        made = Instance(
            name=lowering.graph.name,
            machine=lowering.machine,
            tensors=tuple(chunks.tensors),
            operations=operations,
            lowering=lowering.name,
        )
        return made, [origin for _, origin in pieces]


class _Chunks:
    """Tensors in pieces, and the operations on them."""

    def __init__(self, listing: Listing, cover: Cover) -> None:
        self.listing, lowering = listing, listing.lowering
        count = [1] * len(lowering.tensors)
        for segment in cover:
            for at in range(segment.begin, segment.end):
                for tensor, axis in _axes(listing, at):
                    if axis is not None:
                        count[tensor] = lcm(count[tensor], segment.pieces)
        self.first = [0, *accumulate(count)]
        self.tensors = [
            replace(
                tensor,
                name=f"{tensor.name}[{piece}]" if parts > 1 else tensor.name,
                size_bytes=tensor.size_bytes // parts,
            )
            for tensor, parts in zip(lowering.tensors, count, strict=True)
            for piece in range(parts)
        ]

    def operation(self, at: int, piece: int, pieces: int) -> Operation:
        """Return a piece of an operation."""
        lowering, cut = self.listing.lowering, self.listing.cuts[at]
        node, used = lowering.nodes[at], lowering.used[at]
        shapes = lowering.shapes(node)
        sizes: Sequence[int] | dict[int, int] = lowering.sizes
        cut_tensors = set[int]()
        if pieces > 1 and cut is not None:
            sums = self.listing.sums(at)
            if piece:
                more = tuple(t for t in used.writes if t in sums and t not in used.inputs)
                used = Used(used.inputs + more, used.outputs)
            shapes = (
                tuple(map(partial(_part, pieces), shapes[0], cut.inputs)),
                tuple(map(partial(_part, pieces), shapes[1], cut.outputs)),
            )
            cut_tensors = {t for t, axis in _axes(self.listing, at) if axis is not None}
            sizes = {
                t: lowering.sizes[t] // (pieces if t in cut_tensors else 1)
                for t in used.reads + used.writes
            }
        mode = lowering.mode(at, used, shapes, sizes)
        parts = {
            t: self._parts(t, piece, pieces if t in cut_tensors else 1)
            for t in dict.fromkeys(used.reads + used.writes)
        }
        operands = tuple(
            operand
            for mine, operand in zip(parts.values(), mode.operands, strict=True)
            for _ in mine
        )
        return Operation(
            name=f"{node.name}[{piece}]" if pieces > 1 else node.name,
            reads=tuple(part for t in used.reads for part in parts[t]),
            writes=tuple(part for t in used.writes for part in parts[t]),
            modes=(
                mode if len(operands) == len(mode.operands) else replace(mode, operands=operands),
            ),
            kind=node.operator,
        )

    def _parts(self, tensor: int, piece: int, pieces: int) -> range:
        """Return the parts of a tensor that one of ``pieces`` needs: all of one that is not cut."""
        first, end = self.first[tensor], self.first[tensor + 1]
        each = (end - first) // pieces
        begin = first + (piece * each if pieces > 1 else 0)
        return range(begin, begin + each)


def _axes(listing: Listing, at: int) -> Iterator[tuple[int, int | None]]:
    """Return the tensors of an operation with the axis of each that is cut."""
    cut, used = listing.cuts[at], listing.lowering.used[at]
    if cut is not None:
        yield from zip(used.inputs + used.outputs, cut.inputs + cut.outputs, strict=True)


def _part(pieces: int, shape: Shape, axis: int | None) -> Shape:
    """Return the shape of one of ``pieces`` along an axis."""
    if axis is None:
        return shape
    return (*shape[:axis], shape[axis] // pieces, *shape[axis + 1 :])


def uniform(listing: Listing, pieces: int) -> Cover:
    """Return the cover of the fewest segments in ``pieces``; what cannot be cut is whole."""
    cover = list[Segment]()
    for at in range(len(listing)):
        one = Segment(begin=at, end=at + 1, pieces=pieces)
        if cover and cover[-1].pieces == pieces:
            longer = replace(cover[-1], end=at + 1)
            if not listing.obstacle(longer):
                cover[-1] = longer
                continue
        cover.append(replace(one, pieces=1) if listing.obstacle(one) else one)
    return tuple(cover)
