"""Fusion tiles run element by element.

What each element holds in the end, as a hash of its history. Sums are sums of hashes, so their
order does not matter. What a fusion tile reads in no part that it names is random, and what it
writes there is lost; a part that it writes without reading it begins anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from spmopt.core.loops import Access, Index
from spmopt.verifier.tile_maps import Box, NodeMap, TileMap, TileMaps

_MASK = 2**64 - 1
_NEVER = -(2**40)
"""No index of any axis."""
Store = list[list[int]]


def whole(maps: TileMaps) -> Store:
    """What each node leaves if it is computed at once."""
    store = _start(maps)
    for node in maps.nodes:
        _run(maps, node, {}, store, None)
    return store


def chunked(maps: TileMaps) -> Store:
    """What the fusion tiles leave, in their order."""
    store = _start(maps)
    for fusion_tile in maps.fusion_tiles:
        _run(maps, maps.nodes[fusion_tile.node], fusion_tile.box, store, fusion_tile)
    return store


def _start(maps: TileMaps) -> Store:
    elements = {value.tensor: prod(value.shape) for value in maps.values if value.tensor >= 0}
    return [
        [hash(("start", tensor, k)) & _MASK for k in range(elements[tensor])]
        for tensor in range(len(maps.tensors))
    ]


def elements_of(maps: TileMaps, part: int) -> set[int]:
    """The elements of a part: its share of each axis, of the first value that has the axis."""
    which = maps.parts[part]
    values = [v for v in maps.values if v.tensor == which.tensor]
    found = set(range(prod(values[0].shape)))
    for place, share in enumerate(which.shares):
        for value in values:
            axis = value.axes[place]
            if axis is not None and share.of > 1:
                inner, size = prod(value.shape[axis + 1 :]), value.shape[axis]
                rows = range(size * share.begin // share.of, size * share.end // share.of)
                found = {k for k in found if k // inner % size in rows}
                break
    return found


def _run(
    maps: TileMaps, node: NodeMap, box: Box, store: Store, fusion_tile: TileMap | None
) -> None:
    """Run the points of a box; without a fusion tile all elements may be accessed."""
    run = _Run(maps, node, store, fusion_tile)
    if not node.statements:
        run.unsaid()
    for number, statement in enumerate(node.statements):
        loops = sorted(statement.loops)
        ranges = [range(*box.get(loop, (0, node.extents[loop]))) for loop in loops]
        for place in product(*ranges):
            point = dict(zip(loops, place, strict=True))
            history: list[object] = [node.name, number, place, run.whole]
            for access in statement.reads:
                history += run.read(access, point)
            run.write(statement.target, point, hash(tuple(history)) & _MASK)


class _Run:
    """A fusion tile of a node, what it may access, and what stays within it."""

    def __init__(
        self, maps: TileMaps, node: NodeMap, store: Store, fusion_tile: TileMap | None
    ) -> None:
        self.maps, self.node, self.store = maps, node, store
        self.before = [row.copy() for row in store]
        self.may_read = _allowed(maps, fusion_tile, "reads")
        self.may_write = _allowed(maps, fusion_tile, "writes")
        self.local: dict[tuple[str, tuple[int, ...]], int] = {}
        tensor = {k: maps.values[v].tensor for k, v in {**node.inputs, **node.outputs}.items()}
        self.written = {tensor[operand] for operand in node.outputs}
        updated = {tensor[operand] for operand in node.inputs} & self.written
        said = {access.tensor for each in node.statements for access in each.reads}
        self.inputs = [tensor[operand] for operand in node.inputs]
        unsaid = [tensor[k] for k in node.inputs if k not in said and tensor[k] not in updated]
        self.whole = hash(tuple(self._seen(t, k) for t in unsaid for k in range(len(store[t]))))
        for t in self.written:
            for k in range(len(store[t])):
                goes_on = t in updated if self.may_read is None else k in self.may_read.get(t, ())
                if _may(self.may_write, t, k) and not goes_on:
                    store[t][k] = 0

    def _seen(self, tensor: int, k: int) -> object:
        return self.before[tensor][k] if _may(self.may_read, tensor, k) else random.random()

    def unsaid(self) -> None:
        """Take any element for any other."""
        every = [self._seen(t, k) for t in self.inputs for k in range(len(self.before[t]))]
        for t in self.written:
            for k in range(len(self.store[t])):
                if _may(self.may_write, t, k):
                    self.store[t][k] += hash((k, *every)) & _MASK

    def read(self, access: Access, point: Mapping[str, int]) -> Iterator[object]:
        """Return what an access finds at a point."""
        if access.tensor not in self.node.inputs:
            yield self.local.get((access.tensor, _place(access, point)), "none")
            return
        value = self.maps.values[self.node.inputs[access.tensor]]
        for k in _flat(access, value.shape, point):
            yield self._seen(value.tensor, k)

    def write(self, access: Access, point: Mapping[str, int], more: int) -> None:
        """Add to what an access is of at a point."""
        key = access.tensor, _place(access, point)
        self.local[key] = (self.local.get(key, 0) + more) & _MASK
        if access.tensor in self.node.outputs:
            value = self.maps.values[self.node.outputs[access.tensor]]
            row = self.store[value.tensor]
            for k in _flat(access, value.shape, point):
                if _may(self.may_write, value.tensor, k):
                    row[k] = (row[k] + more) & _MASK


def _may(allowed: dict[int, set[int]] | None, tensor: int, k: int) -> bool:
    return allowed is None or k in allowed.get(tensor, ())


def _allowed(maps: TileMaps, fusion_tile: TileMap | None, verb: str) -> dict[int, set[int]] | None:
    if fusion_tile is None:
        return None
    found: dict[int, set[int]] = {}
    for part in getattr(fusion_tile, verb):
        found.setdefault(maps.parts[part].tensor, set()).update(elements_of(maps, part))
    return found


def _index(axis: Index, point: Mapping[str, int]) -> int:
    whole, rest = divmod(axis.offset + sum(c * point[loop] for loop, c in axis.terms), axis.divisor)
    return _NEVER if axis.exact and rest else whole


def _place(access: Access, point: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(-1 if axis is None else _index(axis, point) for axis in access.axes)


def _flat(access: Access, shape: Sequence[int], point: Mapping[str, int]) -> Iterator[int]:
    """The elements that an access is of at a point, none of padding."""
    axes = []
    for axis, size in zip(access.axes, shape, strict=True):
        if axis is None:
            axes.append(range(size))
        else:
            index = _index(axis, point)
            axes.append(range(index, index + 1) if 0 <= index < size else range(0))
    for place in product(*axes):
        flat = 0
        for index, size in zip(place, shape, strict=True):
            flat = flat * size + index
        yield flat
