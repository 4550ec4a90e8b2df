"""Other tilings of a matrix product than the first, for its operation to choose among.

:mod:`.tiles` has the rules of buffers and fetches. Sizes of tiles go by their number along each
dimension, and need not divide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.graph.tiles import (
    DIMENSIONS,
    LACKS,
    Product,
    ProductTensors,
    sizes_of_tiles,
    stream_operands,
)
from spmopt.graph.tiling import Tiling

_STEP, _LEAST = Fraction(5, 8), 16
"""Of a room to the next smaller one for tiles, and of the scratchpad to the smallest."""
_Tiles = tuple[int, bool, int, tuple[int, int, int]]
"""The operand that is kept, whether it has one buffer, bytes of buffers, and fetches."""


def other_tilings(tensors: ProductTensors, machine: Machine) -> list[Tiling]:
    """Return tilings that may be better than the first, up to the whole scratchpad.

    Each operand required-resident, where it fits beside the buffers; and of tiles, for every room,
    those that move least: where all operands are streamed, and where one of them is on chip and
    moves nothing. The kept tile has two buffers, or one: then computing waits for its transfers.
    """
    product, room = tensors.product, machine.spm_pages * machine.page_bytes
    others = min(tensors.others, room // 8)
    found = list[Tiling]()
    for kept in product.may_stay:
        buffers = product.row_buffers(kept) + others
        pages, tiling = tensors.required_resident(machine, kept, buffers)
        if tensors.gemm.slices[kept] == 1 and pages <= machine.spm_pages:
            found.append(tiling)
    for kept, single, buffers, fetches in _pareto(product, room - others):
        found.append(
            Tiling(
                operands=stream_operands(tensors.roles, fetches),
                scratch_bytes=buffers + others,
                serial_bytes=product.waits[kept] if single else 0,
            )
        )
    return found


def rooms_of(room: int) -> Ints:
    """Return rooms for tiles, from all of it down."""
    rooms = [room]
    while rooms[-1] * _LEAST > room:
        rooms.append(int(rooms[-1] * _STEP))
    return np.array(rooms, np.int64)


@lru_cache(4096)
def _pareto(product: Product, room: int) -> tuple[_Tiles, ...]:
    """Return the tiles that move least in some share of a room, none worse than another.

    Where all operands move, and where one of them is on chip and does not. Of each: the operand
    kept, whether its tile has one buffer, bytes of buffers, and fetches. Many operations of a
    network have the same sizes.
    """
    found, rooms = set[_Tiles](), rooms_of(room)
    for kept in product.may_stay:
        both, trips = _largest(product, kept, rooms)
        for single, buffers in enumerate(both):
            fetches = [each[single] for each in trips]
            passes = fetches[2] if kept != 2 else np.ones_like(fetches[2])
            moved = [fetches[0], fetches[1], 2 * passes - (not product.added)]
            for free in (None, 0, 1, 2):
                traffic = sum(
                    (moved[k] * float(product.crossing[k]) for k in range(3) if k != free),
                    start=np.where(buffers <= rooms, 0.0, np.inf),
                )
                ties = np.where(traffic <= traffic.min(axis=0), buffers, np.iinfo(np.int64).max)
                best = ties.argmin(axis=0)
                for place, size in enumerate(best.tolist()):
                    if np.isfinite(traffic[size, place]):
                        a, b, c = (int(each[size, place]) for each in fetches)
                        found.add((kept, bool(single), int(buffers[size, place]), (a, b, c)))
    return tuple(_leave_best(sorted(found), product.waits))


def _largest(product: Product, kept: int, rooms: Ints) -> tuple[Ints, list[Ints]]:
    """Return buffers (2, s, r) and fetches of tiles of ``kept``, the largest for each room.

    With two buffers of the kept tile, and with one. A row for each number of tiles along its
    shorter side. Where not even the least fits, the buffers exceed the room.
    """
    first, second = sorted(DIMENSIONS[kept], key=product.dimensions.__getitem__)
    size = np.array([*sizes_of_tiles(product.dimensions[first])], np.int64)[:, None]
    others = np.unique([*sizes_of_tiles(product.dimensions[second])])

    def buffers(other: Ints) -> Ints:
        tile: list[Ints] = [np.ones_like(other)] * 3
        tile[first], tile[second] = np.broadcast_to(size, other.shape), other
        return _buffers(product, tile, kept)

    low = np.zeros((2, size.size, rooms.size), np.int64)
    high = np.full_like(low, others.size - 1)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = buffers(others[middle]) <= rooms
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    # Tiles of all positions may need less room than smaller ones, which need lines.
    last = np.full_like(low, others.size - 1)
    other = others[np.where(buffers(others[last]) <= rooms, last, low)]
    trips = [np.full_like(low, each) for each in product.dimensions]
    trips[first] = np.broadcast_to(-(-product.dimensions[first] // size), low.shape)
    trips[second] = -(-product.dimensions[second] // other)
    fetches = [np.ones_like(low) if k == kept else trips[LACKS[k]] for k in range(3)]
    return buffers(other), fetches


def _buffers(product: Product, tile: Sequence[Ints], kept: int) -> Ints:
    """Return :meth:`.Product.buffers` of many tiles (2, s, r).

    The operand ``kept`` has two buffers in the first half of them, and one in the second.
    """
    total, halves = np.zeros_like(tile[0]), np.array([2, 1])[:, None, None]
    for k, term in zip(product.buffered, product.terms, strict=True):
        (p, q), copies = term.sides, halves if k == kept else 2
        found = copies * -(-term.whole * tile[p] * tile[q] // term.elements)
        if term.lines:
            channels, positions = tile[term.across], product.positions
            every = product.dimensions[term.across]
            of_halo = every if product.returns(k, kept) else channels
            least = found + copies * -(-term.seam * channels // term.parts)
            least += -(-term.halo * of_halo // term.parts)
            least = np.maximum(least, -(-term.lines * channels // term.parts))
            # Tiles of all positions need no lines.
            found = np.where(tile[positions] < product.dimensions[positions], least, found)
        total = total + np.minimum(found, term.limit)
    return total


def _leave_best(tiles: Sequence[_Tiles], waits: Sequence[int]) -> list[_Tiles]:
    """Leave out tiles that need no less room, fetches and waiting than others."""
    if not tiles:
        return []
    figures = np.array(
        [
            (buffers, waits[kept] if single else 0, *fetches)
            for kept, single, buffers, fetches in tiles
        ]
    )
    return [tiles[k] for k in pareto_rows(figures)]


def pareto_rows(figures: Ints) -> list[int]:
    """Return the rows that no other is below in each figure, one of equal ones."""
    _, first = np.unique(figures, axis=0, return_index=True)
    figures = figures[first]
    no_worse = (figures[:, None] <= figures[None]).all(axis=2)
    alone = np.count_nonzero(no_worse, axis=0) == 1  # but for itself
    found: list[int] = first[alone].tolist()
    return found
