"""Whether fusion tiles name the parts of tensors that they read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

import numpy as np

from spmopt.core.loops import Access, Index
from spmopt.core.table import Ints
from spmopt.verifier.tile_maps import Box, NodeMap, TileMap, TileMaps, indices_over

_NAMED = 3
"""Parts that are named in a line."""


def accesses(maps: TileMaps) -> Iterator[str]:
    """Return the fusion tiles that access elements outside the parts that they name."""
    known = _Accesses(maps)
    for fusion_tile in maps.fusion_tiles:
        yield from known.missing(fusion_tile)


@dataclass(frozen=True, slots=True)
class _Along:
    """An index along an axis of so many elements that parts cut."""

    map: Index
    axis: int
    size: int


@dataclass(frozen=True, slots=True)
class _Need:
    """Elements of a tensor that a node accesses.

    Indices along the axes that parts cut, None for all. Elements are taken to be all combinations
    of these, which they are unless a loop is in several.
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

    def shift(self, by: int, size: int) -> _Indices:
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
    """Accesses of a node, and the tensors that it updates though no statement reads them."""

    needs: tuple[_Need, ...]
    updates: tuple[int, ...]


class _Accesses:
    """Accesses of nodes, and images of boxes of one size, each computed once."""

    def __init__(self, maps: TileMaps) -> None:
        self.maps = maps
        self.tensor = [part.tensor for part in maps.parts]
        self.count = Counter(self.tensor)
        self.first = {tensor: at for at, tensor in reversed([*enumerate(self.tensor)])}
        self.needs = [self._of(node) for node in maps.nodes]
        self._images: dict[tuple[Index, int, tuple[int, ...]], _Indices] = {}

    def _of(self, node: NodeMap) -> _Needs:
        """Return the accesses of a node, each need once."""
        needs = dict[_Need, None]()
        said = set[str]()
        for statement in node.statements:
            for access in statement.reads:
                if access.tensor in node.inputs:
                    needs[self._need(access, node.inputs[access.tensor], "reads")] = None
                    said.add(access.tensor)
            target = statement.target
            if target.tensor in node.outputs:
                needs[self._need(target, node.outputs[target.tensor], "writes")] = None
                said.add(target.tensor)
        tensor = [value.tensor for value in self.maps.values]
        written = {tensor[value] for value in node.outputs.values()}
        unsaid = {tensor[v] for operand, v in node.inputs.items() if operand not in said}
        for each in sorted(unsaid - written):
            needs[_Need(each, "reads")] = None
        for operand, value in node.outputs.items():
            if operand not in said:
                needs[_Need(tensor[value], "writes")] = None
        return _Needs(tuple(needs), tuple(sorted(unsaid & written)))

    def _need(self, access: Access, index: int, verb: str) -> _Need:
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

    def missing(self, fusion_tile: TileMap) -> Iterator[str]:
        """Return the accesses of a fusion tile outside the parts that it names."""
        named = {
            "reads": self._by_tensor(fusion_tile.reads),
            "writes": self._by_tensor(fusion_tile.writes),
        }
        node, known = self.maps.nodes[fusion_tile.node], self.needs[fusion_tile.node]
        for need in known.needs:
            given = named[need.verb].get(need.tensor, [])
            if len(given) < self.count[need.tensor]:
                yield from self._outside(fusion_tile, need, given)
        for tensor in known.updates:
            lacking = {*named["writes"].get(tensor, [])} - {*named["reads"].get(tensor, [])}
            if lacking:
                part = self.maps.parts[min(lacking)].name
                yield f"{fusion_tile.name}: adds to {part}, which it does not read"
        if fusion_tile.box:
            yield from self._within(fusion_tile, node)

    def _by_tensor(self, parts: Sequence[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index in parts:
            found.setdefault(self.tensor[index], []).append(index)
        return found

    def _outside(self, fusion_tile: TileMap, need: _Need, given: Sequence[int]) -> Iterator[str]:
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
            wanted.append(self._indices(along, fusion_tile) if along else _Indices(0, share.of))
            size = along.size if along else share.of
            ranges.append([part.shares[place].of_axis(size) for part in parts])
        # Parts are disjoint, so that their bytes can be added.
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
            f"{fusion_tile.name}: {need.verb} {what or 'all'} of {name}, but names "
            f"{self._with_name(given)}"
        )

    def _with_name(self, given: Sequence[int]) -> str:
        names = [self.maps.parts[index].name for index in given[:_NAMED]]
        more = ", ..." if len(given) > _NAMED else ""
        return f"{', '.join(names)}{more} only" if names else "no part of it"

    def _indices(self, along: _Along, fusion_tile: TileMap) -> _Indices:
        """Return the indices along an axis over the box of a fusion tile, without padding."""
        node = self.maps.nodes[fusion_tile.node]
        found, by = self._image(along.map, fusion_tile.box, node)
        return found.shift(by, along.size)

    def _image(self, along: Index, box: Box, node: NodeMap) -> tuple[_Indices, int]:
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
            every = indices_over(replace(along, offset=along.offset + rest), start)
            first, end = (int(every[0]), int(every[-1]) + 1) if every.size else (0, 0)
            image = _Indices(first, end, every if end - first > every.size else None)
            self._images[along, rest, lengths] = image
        return image, by

    def _within(self, fusion_tile: TileMap, node: NodeMap) -> Iterator[str]:
        """Return own results that a fusion tile uses before it has computed or completed them."""
        for statement in node.statements:
            for access in statement.reads:
                if access.tensor in node.inputs:
                    continue
                for earlier in node.statements:
                    if earlier.target.tensor != access.tensor:
                        continue
                    if earlier.loops & fusion_tile.box.keys() - earlier.target.loops:
                        what = f"{access.tensor} before all fusion tiles have added to it"
                        yield f"{fusion_tile.name}: uses {what}"
                    elif not self._is_computed(fusion_tile, node, earlier.target, access):
                        yield (
                            f"{fusion_tile.name}: uses {access.tensor} where it has not computed it"
                        )

    def _is_computed(
        self, fusion_tile: TileMap, node: NodeMap, target: Access, access: Access
    ) -> bool:
        """Return whether a fusion tile has computed its accesses, along each axis."""
        for made, used in zip(target.axes, access.axes, strict=True):
            if made == used or made is None or not made.loops & fusion_tile.box.keys():
                continue
            image, by = self._image(made, fusion_tile.box, node)
            if used is None:
                return False
            taken, further = self._image(used, fusion_tile.box, node)
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
