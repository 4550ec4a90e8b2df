"""Whether pieces read parts of tensors between the writes between which the whole is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from spmopt.verifier.piece_maps import NodeMap, PieceMap, PieceMaps


def orders(maps: PieceMaps) -> Iterator[str]:
    """Say which pieces read or write a part too early or too late."""
    order = _Order(maps)
    for piece in maps.pieces:
        yield from order.run(piece)
    yield from order.end()


@dataclass(slots=True, eq=False)
class _Version:
    """Contents of a tensor: what one node writes, or several whose pieces add to one sum.

    Attributes
    ----------
    writer
        Its node, the first if there are several; None of what is there at the start.
    summed
        Pieces of the node add to it.
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
    """Which contents each part has, and how many pieces have written them."""

    def __init__(self, maps: PieceMaps) -> None:
        self.parts = maps.parts
        self.tensor = [part.tensor for part in maps.parts]
        self.last = [_Version() for _ in maps.tensors]
        self.now = [self.last[tensor] for tensor in self.tensor]
        self.done = [0] * len(maps.parts)
        cut: list[set[str]] = [set() for _ in maps.nodes]
        for piece in maps.pieces:
            cut[piece.node].update(piece.box)
        values = [value.tensor for value in maps.values]
        self.uses = [
            self._follow(node, values, loops) for node, loops in zip(maps.nodes, cut, strict=True)
        ]
        self.needed = Counter(
            (index, id(self.uses[piece.node].writes.get(self.tensor[index])))
            for piece in maps.pieces
            for index in piece.writes
        )

    def _follow(self, node: NodeMap, values: list[int], cut: set[str]) -> _Uses:
        """Add a node in the order of the whole: what it reads, and what it leaves."""
        said = {access.operand for each in node.statements for access in each.reads}
        inputs = dict[int, bool]()
        for operand, value in node.inputs.items():
            inputs[values[value]] = inputs.get(values[value], False) or operand in said
        sums = {values[node.outputs[operand]] for operand in _sums(node, cut)}
        uses = _Uses(
            reads={tensor: self.last[tensor] for tensor in inputs},
            writes={},
            # What a statement reads it cannot at the same time add to.
            adds={tensor for tensor in sums if not inputs.get(tensor, False)},
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

    def run(self, piece: PieceMap) -> Iterator[str]:
        """Take a piece as computed, and say what it reads or overwrites wrongly."""
        uses = self.uses[piece.node]
        for index in piece.reads:
            said = self._misread(index, uses, adds=index in piece.writes)
            if said:
                yield f"{piece.name}: reads {self.parts[index].name} {said}"
        for index in piece.writes:
            said = self._write(index, uses, reads=index in piece.reads)
            if said:
                yield f"{piece.name}: writes {self.parts[index].name} {said}"

    def _misread(self, index: int, uses: _Uses, *, adds: bool) -> str:
        """Say what is wrong with reading a part now, if anything is."""
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
            return f"before all pieces of {now.writer} have written it"
        return ""

    def _write(self, index: int, uses: _Uses, *, reads: bool) -> str:
        """Write a part, and say what is wrong with it, if anything is."""
        tensor, now = self.tensor[index], self.now[index]
        own = uses.writes.get(tensor)
        if own is None:
            return "though its node does not"
        if now is own:
            self.done[index] += 1
            adds = tensor in uses.adds and reads
            return "" if adds else "anew, which another piece has written"
        self.now[index], self.done[index] = own, 1
        return "" if now is own.earlier else "out of turn"

    def end(self) -> Iterator[str]:
        """Say which parts have other contents in the end than the whole."""
        for part, now in zip(self.parts, self.now, strict=True):
            last = self.last[part.tensor]
            if now is not last:
                yield f"{part.name}: is not what {last.writer} leaves in it"


def _sums(node: NodeMap, cut: set[str]) -> set[str]:
    """Return the results to which each piece adds: that lack a loop that is cut."""
    said = {statement.target.operand for statement in node.statements}
    found = {
        statement.target.operand
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
