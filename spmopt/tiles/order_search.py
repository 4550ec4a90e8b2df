"""Good orders of large grids: local search over blocked walks, from a few that make sense.

A walk of blocks holds a block of one matrix in the SPM while strips of the others pass by. The
search starts from the plain walks and from the greatest such blocks that fit, then changes one
thing at a time: the size of a block, the loops, the turning round. Traffic is that of
:func:`~spmopt.tiles.order_search.furthest_first`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import combinations, permutations
from math import isqrt

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import LOOPS, ORDERS, Order, Walk

_AXES = "ikj"
_STARTS = 4  # walks to improve, the best ones of those to start from
_SEARCHES = 3  # of both gradients together, of dX, of dW; each may take a third
Block = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodOrder:
    """An order, and the tiles that it moves under Belady's rule, of dX and dW or of dW alone."""

    order: Order
    traffic_tiles: int


def good_order(
    grid: TileGrid, spm_tiles: int, *, input_gradient: bool = True, evaluations: int = 1500
) -> GoodOrder:
    """Search for an order of little traffic; never worse than any of ``ORDERS``.

    Parameters
    ----------
    grid
        A layer in tiles, taken as equal.
    spm_tiles
        Tiles that the SPM holds.
    input_gradient
        Whether dX is computed, too.
    evaluations
        Orders whose traffic is computed, about, at most.

    Raises
    ------
    InputError
        The SPM does not hold the three tiles of a product.
    """

    def best_walk(through: Callable[[Walk], Ints], copies: int = 1) -> Walk:
        search = _WalkSearch(
            lambda walk: furthest_first(grid, through(walk), spm_tiles),
            grid.shape,
            evaluations // _SEARCHES,
        )
        return search.best(spm_tiles // copies)

    dw = best_walk(lambda walk: walk.through(grid) + grid.products)
    orders = [Order(dx=dw, dw=dw, alternate=False)]
    if input_gradient:
        both = best_walk(
            lambda walk: Order(dx=walk, dw=walk, alternate=True).through(grid), copies=2
        )
        dx = best_walk(lambda walk: walk.through(grid))
        found = (Order(dx=both, dw=both, alternate=True), Order(dx=dx, dw=dw, alternate=False))
        orders = [*found, *ORDERS.values()]
    moved = [
        furthest_first(grid, order.through(grid, input_gradient=input_gradient), spm_tiles)
        for order in orders
    ]
    least = min(moved)
    return GoodOrder(order=orders[moved.index(least)], traffic_tiles=least)


class _WalkSearch:
    """Traffic of the walks looked at so far; at most ``most`` of them, and the first one."""

    def __init__(self, traffic: Callable[[Walk], int], shape: Block, most: int) -> None:
        self._traffic, self._shape, self._most = traffic, shape, most
        self._known: dict[Walk, int] = {}

    def best(self, room: int) -> Walk:
        """Descend from the best starts, whose blocks fill so many tiles."""
        self._move(Walk(loops=LOOPS[0]))
        for walk in _starts(self._shape, room):
            if self._goes_on:
                self._move(walk)
        for start in sorted(self._known, key=self._move)[:_STARTS]:
            self._descend(start)
        return min(self._known, key=self._move)

    @property
    def _goes_on(self) -> bool:
        return len(self._known) < self._most

    def _move(self, walk: Walk) -> int:
        if walk not in self._known:
            self._known[walk] = self._traffic(walk)
        return self._known[walk]

    def _descend(self, walk: Walk) -> None:
        """Take the first change that helps, until none does."""
        better: Walk | None = walk
        while better is not None:
            walk, better = better, None
            for other in _changes(walk, self._shape):
                if not self._goes_on:
                    return
                if self._move(other) < self._move(walk):
                    better = other
                    break


def _starts(shape: Block, room: int) -> Iterator[Walk]:
    """Yield plain walks; for each two axes the largest blocks that fit beside the streams."""
    for loops in LOOPS:
        yield Walk(loops=loops)
        yield Walk(loops=loops, boustrophedon=True)
    for one, other in combinations(range(3), 2):
        square = isqrt(room)
        for high in {max(1, square - 1), square, min(shape[one], room // 2), 1}:
            wide = (room - 1) // (high + 1)
            for sizes in ((high, wide), (wide, high)):
                block = list(shape)
                block[one], block[other] = (max(1, size) for size in sizes)
                yield from _hold(_cut(block, shape), 3 - one - other)


def _hold(block: Block, passing: int) -> Iterator[Walk]:
    """Yield walks of the block whose outer loop is the axis that passes by."""
    inner = [axis for axis in _AXES if axis != _AXES[passing]]
    for loops in permutations(inner):
        for blocks in (LOOPS[0], LOOPS[-1]):
            yield Walk(
                loops=_AXES[passing] + "".join(loops),
                block=block,
                blocks=blocks,
                boustrophedon=True,
            )


def _changes(walk: Walk, shape: Block) -> Iterator[Walk]:
    """Yield walks that differ in one thing: of block sizes in two, to trade one for the other."""
    for block in _resize(walk.block or shape, shape):
        yield replace(walk, block=block)
    for loops in LOOPS:
        yield replace(walk, loops=loops)
    if walk.block is not None:
        for blocks in LOOPS:
            yield replace(walk, blocks=blocks)
    yield replace(walk, boustrophedon=not walk.boustrophedon)


def _resize(block: Block, shape: Block) -> Iterator[Block]:
    """Yield blocks with one or two sizes changed by one, or to a size that cuts an axis evenly."""
    for axis in range(3):
        pieces = -(-shape[axis] // block[axis])
        evenly = {-(-shape[axis] // count) for count in (pieces - 1, pieces + 1) if count}
        for size in sorted({block[axis] - 1, block[axis] + 1, *evenly}):
            yield _cut([size if at == axis else block[at] for at in range(3)], shape)
    for more, less in permutations(range(3), 2):
        sizes = list(block)
        sizes[more], sizes[less] = sizes[more] + 1, sizes[less] - 1
        yield _cut(sizes, shape)


def _cut(sizes: list[int], shape: Block) -> Block:
    rows, inner, columns = (
        min(max(1, size), most) for size, most in zip(sizes, shape, strict=True)
    )
    return rows, inner, columns


_OPERANDS = 3


def furthest_first(grid: TileGrid, order: Ints, spm_tiles: int) -> int:
    """Count tiles moved by ``order`` when the one used furthest ahead leaves a full SPM.

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
    return _move(used.tolist(), _following(used).tolist(), spm_tiles)


def tiles_used(grid: TileGrid, order: Ints) -> Ints:
    """(n, 3) Number tiles of dY, of the other input and of the result, each by its own."""
    rows, inner, columns = grid.shape
    i, k, j = grid.indices(order)
    is_dw = order >= grid.products
    of_y, of_x, of_w = i * columns + j, i * inner + k, k * columns + j
    ends = np.cumsum((rows * columns, rows * inner, inner * columns, rows * inner))
    other = np.where(is_dw, ends[0] + of_x, ends[1] + of_w)
    result = np.where(is_dw, ends[3] + of_w, ends[2] + of_x)
    return np.stack((of_y, other, result), axis=1)


def _following(used: Ints) -> Ints:
    """(n, 3) Find the product that uses each tile next, n for none."""
    tiles = used.ravel()
    by_tile = np.argsort(tiles, kind="stable")
    same = tiles[by_tile[1:]] == tiles[by_tile[:-1]]
    following = np.full(tiles.size, len(used), np.int64)
    following[by_tile[:-1][same]] = by_tile[1:][same] // _OPERANDS
    return following.reshape(used.shape)


def _move(used: list[list[int]], following: list[list[int]], room: int) -> int:
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
