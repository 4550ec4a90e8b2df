"""Whether fusion tiles read parts of tensors between the writes between which the whole is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from spmopt.verifier.tile_maps import NodeMap, TileMap, TileMaps


def orders(maps: TileMaps) -> Iterator[str]:
    """Say which fusion tiles read or write a part too early or too late."""
    order = _Order(maps)
    for fusion_tile in maps.fusion_tiles:
        yield from order.run(fusion_tile)
    yield from order.end()


@dataclass(slots=True, eq=False)
class _Version:
    """Contents of a tensor: results of one node, or of several that add fusion tiles to one sum.

    Attributes
    ----------
    writer
        Its node, the first if there are several; None for initial contents.
    summed
        Fusion tiles of the node add to it.
    extends
        They add to the contents before.
    read
        A node reads it as it is, so that no other may add to it.
    """

    writer: str | None = None
    earlier: _Version | None = None
    summed: bool = False
    extends: bool = False
    read: bool = False


@dataclass(slots=True)
class _Uses:
    """The contents that a node reads and writes, by tensor, and the tensors that it adds to."""

    reads: dict[int, _Version]
    writes: dict[int, _Version]
    adds: set[int]


class _Order:
    """Which contents each part has, and how many fusion tiles have written them."""

    def __init__(self, maps: TileMaps) -> None:
        self.parts = maps.parts
        self.tensor = [part.tensor for part in maps.parts]
        self.last = [_Version() for _ in maps.tensors]
        self.now = [self.last[tensor] for tensor in self.tensor]
        self.done = [0] * len(maps.parts)
        cut: list[set[str]] = [set() for _ in maps.nodes]
        for fusion_tile in maps.fusion_tiles:
            cut[fusion_tile.node].update(fusion_tile.box)
        values = [value.tensor for value in maps.values]
        self.uses = [
            self._follow(node, values, loops) for node, loops in zip(maps.nodes, cut, strict=True)
        ]
        self.needed = Counter(
            (index, id(self.uses[fusion_tile.node].writes.get(self.tensor[index])))
            for fusion_tile in maps.fusion_tiles
            for index in fusion_tile.writes
        )

    def _follow(self, node: NodeMap, values: list[int], cut: set[str]) -> _Uses:
        """Add a node in the order of the whole: its inputs and its results."""
        said = {access.tensor for each in node.statements for access in each.reads}
        inputs = dict[int, bool]()
        for operand, value in node.inputs.items():
            inputs[values[value]] = inputs.get(values[value], False) or operand in said
        partial_sums = {values[node.outputs[operand]] for operand in _partial_sums(node, cut)}
        uses = _Uses(
            reads={tensor: self.last[tensor] for tensor in inputs},
            writes={},
            # What a statement reads it cannot at the same time add to.
            adds={tensor for tensor in partial_sums if not inputs.get(tensor, False)},
        )
        for tensor in dict.fromkeys(values[value] for value in node.outputs.values()):
            before, adds = self.last[tensor], tensor in uses.adds
            extends = adds and tensor in inputs
            if extends and before.summed and not before.read:
                uses.writes[tensor] = before
            else:
                new = _Version(node.name, before, summed=adds, extends=extends)
                self.last[tensor] = uses.writes[tensor] = new
        for tensor, version in uses.reads.items():
            version.read |= uses.writes.get(tensor) is not version
        return uses

    def run(self, fusion_tile: TileMap) -> Iterator[str]:
        """Take a fusion tile as computed, and return its faults of reading or overwriting."""
        uses = self.uses[fusion_tile.node]
        for index in fusion_tile.reads:
            said = self._misread(index, uses, adds=index in fusion_tile.writes)
            if said:
                yield f"{fusion_tile.name}: reads {self.parts[index].name} {said}"
        for index in fusion_tile.writes:
            said = self._write(index, uses, reads=index in fusion_tile.reads)
            if said:
                yield f"{fusion_tile.name}: writes {self.parts[index].name} {said}"

    def _misread(self, index: int, uses: _Uses, *, adds: bool) -> str:
        """Return the fault of reading a part now, if any."""
        tensor, now = self.tensor[index], self.now[index]
        own = uses.writes.get(tensor)
        wanted = uses.reads.get(tensor)
        if own is not None and adds and tensor in uses.adds:
            if now is own:
                return ""
            wanted = own.earlier if own.extends else own
        if wanted is None:
            return "though its node does not"
        if now is not wanted:
            if _is_before(now, wanted):
                return f"before {wanted.writer} has written it"
            return f"after {now.writer} has overwritten it"
        if self.done[index] < self.needed[index, id(now)]:
            return f"before all fusion tiles of {now.writer} have written it"
        return ""

    def _write(self, index: int, uses: _Uses, *, reads: bool) -> str:
        """Write a part, and return the fault of it, if any."""
        tensor, now = self.tensor[index], self.now[index]
        own = uses.writes.get(tensor)
        if own is None:
            return "though its node does not"
        if now is own:
            self.done[index] += 1
            adds = tensor in uses.adds and reads
            return "" if adds else "anew, which another fusion tile has written"
        self.now[index], self.done[index] = own, 1
        return "" if now is own.earlier else "out of turn"

    def end(self) -> Iterator[str]:
        """Say which parts have other contents in the end than the whole."""
        for part, now in zip(self.parts, self.now, strict=True):
            last = self.last[part.tensor]
            if now is not last:
                yield f"{part.name}: is not what {last.writer} leaves in it"


def _partial_sums(node: NodeMap, cut: set[str]) -> set[str]:
    """Return the results to which each fusion tile adds: that lack a loop that is cut."""
    said = {statement.target.tensor for statement in node.statements}
    found = {
        statement.target.tensor
        for statement in node.statements
        if statement.loops & cut - statement.target.loops
    }
    return {each for each in node.outputs if each in found or (cut and each not in said)}


def _is_before(one: _Version, other: _Version) -> bool:
    """Return whether contents of a tensor come before others."""
    earlier = other.earlier
    while earlier is not None and earlier is not one:
        earlier = earlier.earlier
    return earlier is one
