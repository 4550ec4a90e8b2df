"""Whether pieces name the parts of tensors that they read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
class _Need:
    """What a node accesses of a tensor: an index along the axis of ``size`` that parts cut.

    Without ``along`` it is all of it.
    """

    tensor: int
    verb: str
    along: AxisMap | None = None
    axis: int = 0
    size: int = 0


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
        self.needs = [self._of(node) for node in maps.nodes]
        self._images: dict[tuple[AxisMap, tuple[int, ...]], Ints] = {}

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
        if value.axis is None:
            return _Need(value.tensor, verb)
        size = value.shape[value.axis]
        return _Need(value.tensor, verb, access.axes[value.axis], value.axis, size)

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
        """Say which index along the axis that is cut is in no part that is given."""
        name, along = self.maps.tensors[need.tensor][0], need.along
        if along is None:
            yield f"{piece.name}: {need.verb} all of {name}, but names {self._named(given)}"
            return
        parts = [self.maps.parts[index] for index in given]
        ranges = [
            (need.size * part.begin // part.of, need.size * part.end // part.of) for part in parts
        ]
        box, extents = piece.box, self.maps.nodes[piece.node].extents
        if len(parts) == 1 and len(along.terms) == 1 and along.terms[0][1] == 1:
            # An interval in an interval, which most are.
            begin, end = box.get(along.terms[0][0]) or (0, extents[along.terms[0][0]])
            if ranges[0][0] <= begin + along.offset and end + along.offset <= ranges[0][1]:
                return
        wanted = self._image(along, box, self.maps.nodes[piece.node])
        wanted = wanted[(wanted >= 0) & (wanted < need.size)]
        there = np.zeros(wanted.size, bool)
        for begin, end in ranges:
            there |= (wanted >= begin) & (wanted < end)
        if not there.all():
            lacking = f"index {int(wanted[~there][0])} of axis {need.axis} of {name}"
            yield f"{piece.name}: {need.verb} {lacking}, but names {self._named(given)}"

    def _named(self, given: Sequence[int]) -> str:
        names = [self.maps.parts[index].name for index in given[:_NAMED]]
        more = ", ..." if len(given) > _NAMED else ""
        return f"{', '.join(names)}{more} only" if names else "no part of it"

    def _image(self, along: AxisMap, box: Box, node: NodeMap) -> Ints:
        """Return the indices over a box, padding among them."""
        ranges = [box.get(loop) or (0, node.extents[loop]) for loop, _ in along.terms]
        lengths = tuple(end - begin for begin, end in ranges)
        image = self._images.get((along, lengths))
        if image is None:
            start = {loop: (0, n) for (loop, _), n in zip(along.terms, lengths, strict=True)}
            image = self._images[along, lengths] = along.image(start)
        moved = sum(c * begin for (_, c), (begin, _) in zip(along.terms, ranges, strict=True))
        return image + moved

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
            image = self._image(made, piece.box, node)
            if used is None or not np.isin(self._image(used, piece.box, node), image).all():
                return False
        return True
