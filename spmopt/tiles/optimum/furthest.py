"""Traffic in tiles of an order under Belady's rule: fast enough to compare many orders.

For layers in equal tiles, which then count as one each. L. A. Belady, "A study of replacement
algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966: what is used again
furthest ahead leaves.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.tiles.grid import Grid

_OPERANDS = 3


def furthest_first(grid: Grid, order: Ints, spm_tiles: int) -> int:
    """Tiles moved by ``order`` when the one used furthest ahead leaves a full SPM.

    A result that leaves before its last product is stored, and loaded for the next one. Of two
    tiles that the same product uses next the input leaves, which needs no store.

    Parameters
    ----------
    grid
        A layer in tiles, taken as equal.
    order : (n,)
        Numbers of tile products, of one gradient or both.
    spm_tiles
        Tiles that the SPM holds.

    Raises
    ------
    InputError
        It does not hold the three of a product.
    """
    if spm_tiles < _OPERANDS:
        raise InputError(
            f"layer {grid.layer.name}: a product needs 3 tiles of SPM, there are {spm_tiles}; "
            "give smaller tiles or a larger --spm"
        )
    used = tiles_used(grid, order)
    return _moved(used.tolist(), _following(used).tolist(), spm_tiles)


def tiles_used(grid: Grid, order: Ints) -> Ints:
    """(n, 3) Tiles of dY, of the other input and of the result, each with a number of its own."""
    rows, inner, columns = grid.shape
    i, k, j = grid.indices(order)
    is_dw = order >= grid.products
    of_y, of_x, of_w = i * columns + j, i * inner + k, k * columns + j
    ends = np.cumsum((rows * columns, rows * inner, inner * columns, rows * inner))
    other = np.where(is_dw, ends[0] + of_x, ends[1] + of_w)
    result = np.where(is_dw, ends[3] + of_w, ends[2] + of_x)
    return np.stack((of_y, other, result), axis=1)


def _following(used: Ints) -> Ints:
    """(n, 3) Product that uses each tile next, n for none."""
    tiles = used.ravel()
    by_tile = np.argsort(tiles, kind="stable")
    same = tiles[by_tile[1:]] == tiles[by_tile[:-1]]
    following = np.full(tiles.size, len(used), np.int64)
    following[by_tile[:-1][same]] = by_tile[1:][same] // _OPERANDS
    return following.reshape(used.shape)


def _moved(used: list[list[int]], following: list[list[int]], room: int) -> int:
    never, count = len(used), 1 + max(map(max, used))
    until = [-1] * count  # next use of a resident tile, -1 of any other
    begun = bytearray(count)
    waiting: list[int] = []  # what may leave, the first one first; old entries too
    moved = 0
    for step, (tiles, ahead) in enumerate(zip(used, following, strict=True)):
        result = tiles[2]
        for tile in tiles:
            if until[tile] < 0:
                moved += tile != result or begun[result]
                if room:
                    room -= 1
                else:
                    moved += _leave(waiting, until)
                until[tile] = step
        begun[result] = 1
        for tile, use in zip(tiles, ahead, strict=True):
            if use < never:
                until[tile] = use
                heappush(waiting, -((2 * use + (tile != result)) * count + tile))
            else:
                until[tile] = -1
                room += 1
                moved += tile == result
    return moved


def _leave(waiting: list[int], until: list[int]) -> int:
    """Take the tile used furthest ahead from the SPM; return 1 if it has to be stored."""
    while True:
        rank, tile = divmod(-heappop(waiting), len(until))
        if until[tile] == rank // 2:
            until[tile] = -1
            return 1 - rank % 2
