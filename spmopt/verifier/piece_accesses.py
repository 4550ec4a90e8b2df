"""Whether pieces name the parts of tensors that they read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

import numpy as np

from spmopt.core.table import Ints
from spmopt.verifier.piece_maps import AccessMap, AxisMap, Box, NodeMap, PieceMap, PieceMaps

_NAMED = 3
"""Parts that are named in a line."""


def accesses(maps: PieceMaps) -> Iterator[str]:
    """Say which pieces access what is in no part that they name."""
    known = _Accesses(maps)
    for piece in maps.pieces:
        yield from known.missing(piece)


@dataclass(frozen=True, slots=True)
class _Along:
    """An index along an axis of so many elements that parts cut."""

    map: AxisMap
    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class _Need:
    """What a node accesses of a tensor: indices along the axes that parts cut, None for all.

    Elements are taken to be all combinations of these, which they are unless a loop is in several.
    """

    tensor: int
    verb: str
    along: tuple[_Along | None, ...] = ()


@dataclass(frozen=True, slots=True)
class _Indices:
    """Indices in ascending order: an interval, or with gaps those ``given``."""

    begin: int
    end: int
    given: Ints | None = None

    def moved(self, by: int, size: int) -> _Indices:
        """Return them further on, and those of an axis of ``size`` only."""
        begin, end = max(self.begin + by, 0), min(self.end + by, size)
        if self.given is None:
            return _Indices(begin, max(end, begin))
        given = self.given + by
        return _Indices(begin, end, given[(given >= 0) & (given < size)])

    def within(self, begin: int, end: int) -> int:
        """Return how many are in an interval."""
        if self.given is None:
            return max(min(self.end, end) - max(self.begin, begin), 0)
        first, last = np.searchsorted(self.given, (begin, end)).tolist()
        return int(last - first)

    def every(self) -> Ints:
        """Return them all."""
        return np.arange(self.begin, self.end) if self.given is None else self.given


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a node accesses, and the tensors that it updates though no statement reads them."""

    needs: tuple[_Need, ...]
    updates: tuple[int, ...]


class _Accesses:
    """What nodes access, and images of boxes of one size, each found once."""

    def __init__(self, maps: PieceMaps) -> None:
        self.maps = maps
        self.tensor = [part.tensor for part in maps.parts]
        self.count = Counter(self.tensor)
        self.first = {tensor: at for at, tensor in reversed([*enumerate(self.tensor)])}
        self.needs = [self._of(node) for node in maps.nodes]
        self._images: dict[tuple[AxisMap, int, tuple[int, ...]], _Indices] = {}

    def _of(self, node: NodeMap) -> _Needs:
        """Return what a node accesses, each need once."""
        needs = dict[_Need, None]()
        said = set[str]()
        for statement in node.statements:
            for access in statement.reads:
                if access.operand in node.inputs:
                    needs[self._need(access, node.inputs[access.operand], "reads")] = None
                    said.add(access.operand)
            target = statement.target
            if target.operand in node.outputs:
                needs[self._need(target, node.outputs[target.operand], "writes")] = None
                said.add(target.operand)
        tensor = [value.tensor for value in self.maps.values]
        written = {tensor[value] for value in node.outputs.values()}
        unsaid = {tensor[v] for operand, v in node.inputs.items() if operand not in said}
        for each in sorted(unsaid - written):
            needs[_Need(each, "reads")] = None
        for operand, value in node.outputs.items():
            if operand not in said:
                needs[_Need(tensor[value], "writes")] = None
        return _Needs(tuple(needs), tuple(sorted(unsaid & written)))

    def _need(self, access: AccessMap, index: int, verb: str) -> _Need:
        value = self.maps.values[index]
        along: list[_Along | None] = []
        for axis in value.axes:
            of_axis = None if axis is None else access.axes[axis]
            along.append(
                None
                if axis is None or of_axis is None
                else _Along(of_axis, axis, value.shape[axis])
            )
        return _Need(value.tensor, verb, tuple(along))

    def missing(self, piece: PieceMap) -> Iterator[str]:
        """Say what a piece accesses without naming its part."""
        named = {"reads": self._by_tensor(piece.reads), "writes": self._by_tensor(piece.writes)}
        node, known = self.maps.nodes[piece.node], self.needs[piece.node]
        for need in known.needs:
            given = named[need.verb].get(need.tensor, [])
            if len(given) < self.count[need.tensor]:
                yield from self._outside(piece, need, given)
        for tensor in known.updates:
            lacking = {*named["writes"].get(tensor, [])} - {*named["reads"].get(tensor, [])}
            if lacking:
                part = self.maps.parts[min(lacking)].name
                yield f"{piece.name}: adds to {part}, which it does not read"
        if piece.box:
            yield from self._within(piece, node)

    def _by_tensor(self, parts: Sequence[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index in parts:
            found.setdefault(self.tensor[index], []).append(index)
        return found

    def _outside(self, piece: PieceMap, need: _Need, given: Sequence[int]) -> Iterator[str]:
        """Say which index along the axes that are cut is in no part that is given."""
        parts = [self.maps.parts[index] for index in dict.fromkeys(given)]
        wanted, ranges = list[_Indices](), list[list[tuple[int, int]]]()
        named = list[tuple[int, int]]()
        for place, share in enumerate(self.maps.parts[self.first[need.tensor]].shares):
            along = need.along[place] if need.along else None
            if share.of == 1:
                continue
            if along is not None:
                named.append((len(wanted), along.axis))
            wanted.append(self._indices(along, piece) if along else _Indices(0, share.of))
            size = along.size if along else share.of
            ranges.append([part.shares[place].of_axis(size) for part in parts])
        # Parts have nothing in common, so that what is in them can be counted.
        inside = (
            prod(each.within(*span) for each, span in zip(wanted, spans, strict=True))
            for spans in zip(*ranges, strict=True)
        )
        if sum(inside) == prod(each.within(each.begin, each.end) for each in wanted):
            return
        name = self.maps.tensors[need.tensor][0]
        lacking = _first_outside(wanted, [*zip(*ranges, strict=True)]) if named else []
        what = ", ".join(f"index {lacking[at]} of axis {axis}" for at, axis in named)
        yield (
            f"{piece.name}: {need.verb} {what or 'all'} of {name}, but names {self._named(given)}"
        )

    def _named(self, given: Sequence[int]) -> str:
        names = [self.maps.parts[index].name for index in given[:_NAMED]]
        more = ", ..." if len(given) > _NAMED else ""
        return f"{', '.join(names)}{more} only" if names else "no part of it"

    def _indices(self, along: _Along, piece: PieceMap) -> _Indices:
        """Return the indices along an axis over the box of a piece, without padding."""
        node = self.maps.nodes[piece.node]
        found, by = self._image(along.map, piece.box, node)
        return found.moved(by, along.size)

    def _image(self, along: AxisMap, box: Box, node: NodeMap) -> tuple[_Indices, int]:
        """Return the indices over a box moved to the origin, padding among them, and by how much.

        One image serves all boxes of a size; of a quotient, those that leave the same remainder.
        """
        ranges = [box.get(loop) or (0, node.extents[loop]) for loop, _ in along.terms]
        lengths = tuple(end - begin for begin, end in ranges)
        moved = sum(c * begin for (_, c), (begin, _) in zip(along.terms, ranges, strict=True))
        by, rest = divmod(moved, along.divisor)
        image = self._images.get((along, rest, lengths))
        if image is None:
            start = {loop: (0, n) for (loop, _), n in zip(along.terms, lengths, strict=True)}
            every = replace(along, offset=along.offset + rest).image(start)
            first, end = (int(every[0]), int(every[-1]) + 1) if every.size else (0, 0)
            image = _Indices(first, end, every if end - first > every.size else None)
            self._images[along, rest, lengths] = image
        return image, by

    def _within(self, piece: PieceMap, node: NodeMap) -> Iterator[str]:
        """Say what a piece uses of its own results, but has not computed or completed."""
        for statement in node.statements:
            for access in statement.reads:
                if access.operand in node.inputs:
                    continue
                for earlier in node.statements:
                    if earlier.target.operand != access.operand:
                        continue
                    if earlier.loops & piece.box.keys() - earlier.target.loops:
                        what = f"{access.operand} before all pieces have added to it"
                        yield f"{piece.name}: uses {what}"
                    elif not self._computed(piece, node, earlier.target, access):
                        yield f"{piece.name}: uses {access.operand} where it has not computed it"

    def _computed(
        self, piece: PieceMap, node: NodeMap, target: AccessMap, access: AccessMap
    ) -> bool:
        """Return whether a piece has computed what it accesses, along each axis."""
        for made, used in zip(target.axes, access.axes, strict=True):
            if made == used or made is None or not made.loops & piece.box.keys():
                continue
            image, by = self._image(made, piece.box, node)
            if used is None:
                return False
            taken, further = self._image(used, piece.box, node)
            if not np.isin(taken.every() + further, image.every() + by).all():
                return False
        return True


def _first_outside(
    wanted: Sequence[_Indices], boxes: Sequence[Sequence[tuple[int, int]]]
) -> list[int]:
    """Return the first combination of indices that is in none of some boxes."""
    axes = [each.every() for each in wanted]
    there = np.zeros([each.size for each in axes], bool)
    for box in boxes:
        inside = (
            (axis >= begin) & (axis < end) for axis, (begin, end) in zip(axes, box, strict=True)
        )
        there |= reduce(np.logical_and.outer, inside)
    lacking = np.argwhere(~there)[0]
    return [int(axis[at]) for axis, at in zip(axes, lacking, strict=True)]
