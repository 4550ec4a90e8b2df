"""Equality of fusion tiles with whole operations, from maps and names alone (PROBLEM.md, 4).

1. The fusion tiles of an operation compute each point of its loops once. Each box counts 1 at its
   corners, -1 where an odd number of coordinates are ends; these sums are those of the whole if and
   only if the boxes are a partition of it.
2. Elements that a fusion tile reads and writes by its maps are in the parts that it names: all
   indices along the axes that are cut, padding left out. Of other axes parts have all.
3. A part is read after all fusion tiles that write it, and before it is written anew; values
  combined over a loop that is cut are added up by the fusion tiles.
4. The parts of a tensor have its bytes, each once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from math import prod

from spmopt.verifier.part_order import orders
from spmopt.verifier.tile_accesses import accesses
from spmopt.verifier.tile_maps import NodeMap, PartMap, TileMap, TileMaps
from spmopt.verifier.violation import MAX_PER_CHECK, Violation

RULE = "fusion"
_NAMED = 3


def check_fusion(maps: TileMaps) -> tuple[Violation, ...]:
    """Return the faults of the fusion tiles, the first of each kind."""
    found = [*islice(_parts(maps), MAX_PER_CHECK)]
    # Of parts that are none nothing else can be said.
    for check in () if found else (_coverage, accesses, orders):
        found += islice(check(maps), MAX_PER_CHECK)
    return tuple(Violation(rule=RULE, step=None, tensor=None, message=text) for text in found)


def _parts(maps: TileMaps) -> Iterator[str]:
    """Parts of a tensor have all of its bytes once, in each shape that it is seen in."""
    of_tensor: list[list[PartMap]] = [[] for _ in maps.tensors]
    for part in maps.parts:
        of_tensor[part.tensor].append(part)
    wrong = [
        said
        for (name, size), parts in zip(maps.tensors, of_tensor, strict=True)
        for said in _parts_of(name, size, parts)
    ]
    yield from wrong
    if wrong:
        return
    spans: dict[tuple[int, int], int] = {}
    for value in maps.values:
        for place, axis in enumerate(value.axes if value.tensor >= 0 else ()):
            shares = {part.shares[place] for part in of_tensor[value.tensor]}
            if axis is None or len(shares) < 2:
                continue
            name, (length, stride) = maps.tensors[value.tensor][0], value.runs[place]
            span = length * stride
            if spans.setdefault((value.tensor, place), span) != span:
                yield f"{name}: its parts are others in the shape {value.shape} than in another"
            if any(length * share.begin % share.of for share in shares):
                yield f"{name}: its parts cut through elements of an axis of {length}"


def _parts_of(name: str, size: int, parts: Sequence[PartMap]) -> Iterator[str]:
    """Parts of one tensor are a partition of it."""
    of = tuple(share.of for share in parts[0].shares) if parts else ()
    for part in parts:
        mine = tuple(share.of for share in part.shares)
        if mine != of or any(not 0 <= s.begin < s.end <= s.of for s in part.shares):
            yield f"{part.name}: is no part of {name} as the others are"
            return
        share = Fraction(prod(s.end - s.begin for s in part.shares), prod(of))
        if part.size_bytes != size * share:
            yield f"{part.name}: has {part.size_bytes} bytes, not {share} of the {size} of {name}"
    boxes = [tuple((share.begin, share.end) for share in part.shares) for part in parts]
    if not parts or not _partition(boxes, tuple((0, each) for each in of)):
        yield f"{name}: its parts do not add up to it"


def _coverage(maps: TileMaps) -> Iterator[str]:
    """Each statement of each node is computed once at each point of its loops."""
    of_node: list[list[TileMap]] = [[] for _ in maps.nodes]
    for fusion_tile in maps.fusion_tiles:
        of_node[fusion_tile.node].append(fusion_tile)
    for node, fusion_tiles in zip(maps.nodes, of_node, strict=True):
        for fusion_tile in fusion_tiles:
            for loop, (begin, end) in fusion_tile.box.items():
                if not 0 <= begin < end <= node.extents.get(loop, 0):
                    what = f"{loop} {begin} to {end}"
                    yield f"{fusion_tile.name}: computes {what}, which {node.name} does not have"
        cut = sorted({loop for fusion_tile in fusion_tiles for loop in fusion_tile.box})
        every = {statement.loops for statement in node.statements} or {frozenset[str]()}
        for loops in dict.fromkeys(tuple(loop for loop in cut if loop in each) for each in every):
            boxes = [_project(fusion_tile, loops, node) for fusion_tile in fusion_tiles]
            if not _partition(boxes, _project(None, loops, node)):
                yield _wrong_cell(node, fusion_tiles, boxes, loops)


_Ranges = tuple[tuple[int, int], ...]


def _project(fusion_tile: TileMap | None, loops: Sequence[str], node: NodeMap) -> _Ranges:
    """Return where some loops run; without a fusion tile all of them."""
    box = {} if fusion_tile is None else fusion_tile.box
    return tuple(box.get(loop, (0, node.extents[loop])) for loop in loops)


def _partition(boxes: Sequence[_Ranges], whole: _Ranges) -> bool:
    """Return whether boxes are a partition of another, by their corners."""
    corners: dict[tuple[int, ...], int] = Counter()
    for box, count in ((whole, -1), *((each, 1) for each in boxes)):
        for corner in product((0, 1), repeat=len(box)):
            place = tuple(ends[side] for ends, side in zip(box, corner, strict=True))
            corners[place] += -count if sum(corner) % 2 else count
    return not any(corners.values())


def _wrong_cell(
    node: NodeMap, fusion_tiles: Sequence[TileMap], boxes: Sequence[_Ranges], loops: Sequence[str]
) -> str:
    """Say which points are not computed once, and by which fusion tiles."""
    edges = [
        sorted({0, node.extents[loop], *(edge for box in boxes for edge in box[axis])})
        for axis, loop in enumerate(loops)
    ]
    for corner in product(*(range(len(each) - 1) for each in edges)):
        point = [each[at] for each, at in zip(edges, corner, strict=True)]
        here = [
            fusion_tile.name
            for fusion_tile, box in zip(fusion_tiles, boxes, strict=True)
            if all(begin <= x < end for x, (begin, end) in zip(point, box, strict=True))
        ]
        if len(here) != 1:
            ranges = ", ".join(
                f"{loop} {each[at]} to {each[at + 1]}"
                for loop, each, at in zip(loops, edges, corner, strict=True)
            )
            times = f"{len(here)} times, by {', '.join(here[:_NAMED])}" if here else "never"
            return f"{node.name}: {ranges or 'what no loop cuts'} is computed {times}"
    return f"{node.name}: its fusion tiles are none of it"
