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
from spmopt.graph.tiles import Product, ProductTensors, stream_operands
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
        buffers, fetches = product.largest(kept, rooms, (2, 1))
        moved = [
            each * float(size)
            for each, size in zip(product.passes(fetches), product.crossing, strict=True)
        ]
        a, b, c = moved
        traffic = np.where(buffers <= rooms, np.array([a + b + c, b + c, a + c, a + b]), np.inf)
        least = traffic.min(axis=2)
        # Of equals those that need least room.
        ties = np.where(traffic <= least[:, :, None], buffers, np.iinfo(np.int64).max)
        _, single, place = (fits := np.isfinite(least)).nonzero()
        at = single, ties.argmin(axis=2)[fits], place
        columns = [single, buffers[at], *(each[at] for each in fetches)]
        for one, needed, *trips in np.stack(columns, axis=1).tolist():
            found.add((kept, bool(one), needed, (trips[0], trips[1], trips[2])))
    return tuple(_leave_best(sorted(found), product.waits))


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
    """Return the rows that no other is below in each figure, the first of equal ones."""
    no_worse = (figures[:, None] <= figures[None]).all(axis=2)
    before = np.tri(len(figures), k=-1, dtype=bool).T
    worse = np.any(no_worse & (before | ~no_worse.T), axis=0)
    order = np.lexsort(figures.T[::-1])
    found: list[int] = order[~worse[order]].tolist()
    return found
