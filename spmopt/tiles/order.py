"""Walks: in which order a loop nest passes through the tile products of one gradient."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from spmopt.core.errors import InputError, unknown
from spmopt.core.table import Ints
from spmopt.graph import gradient_tiles
from spmopt.tiles.layer import Layer, TileGrid

LOOPS = ("ikj", "ijk", "kij", "kji", "jik", "jki")
"""The six loop orders, outermost loop first; i is along M, k along K, j along N."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A nest of loops over the tile products.

    Attributes
    ----------
    loops
        One of :data:`LOOPS`; within a block, where there are blocks.
    block
        Tile products of a block along i, k and j; None: all is one block. Blocks are gone
        through one after another.
    blocks
        One of :data:`LOOPS`, over the blocks; the first where there are none.
    boustrophedon
        Every loop runs backwards every second time that it is entered, as an ox ploughs; in one
        block each step then changes one index by one.
    """

    loops: str
    block: tuple[int, int, int] | None = None
    blocks: str = LOOPS[0]
    boustrophedon: bool = False

    def __post_init__(self) -> None:
        for loops in (self.loops, self.blocks):
            if loops not in LOOPS:
                raise InputError(f"walk: loops {loops!r} are unknown; use {', '.join(LOOPS)}")
        if self.block is not None and min(self.block) < 1:
            raise InputError(f"walk: block {self.block}; every size must be at least 1")
        if self.block is None and self.blocks != LOOPS[0]:
            raise InputError(
                f"walk: loops {self.blocks!r} over blocks, but no block; give its size"
            )

    def through(self, grid: TileGrid) -> Ints:
        """(I K J,) Number the tile products in the order walked."""
        if self.block is None and not self.boustrophedon:
            numbers = np.arange(grid.products).reshape(grid.shape)
            return numbers.transpose(["ikj".index(loop) for loop in self.loops]).ravel()
        place = dict(zip("ikj", grid.indices(np.arange(grid.products)), strict=True))
        nest = [place[loop] for loop in self.loops]
        if self.block is not None:
            block = dict(zip("ikj", self.block, strict=True))
            nest = [
                *(place[loop] // block[loop] for loop in self.blocks),
                *(place[loop] % block[loop] for loop in self.loops),
            ]
        rank = np.zeros(grid.products, np.int64)
        for index in nest:
            # Backwards where the loops outside have an odd number of turns so far.
            turned = self.boustrophedon & (rank % 2 == 1)
            width = int(index.max()) + 1
            key = rank * width + np.where(turned, width - 1 - index, index)
            # Dense ranks: keys of deep nests would overflow.
            rank = np.unique(key, return_inverse=True)[1]
        return np.argsort(rank)


_BY_ROWS = Walk(loops="ikj")
_BY_COLUMNS = Walk(loops="jki")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The walks of dX and dW, and whether they alternate or follow each other.

    A walk of both that is the same reads each tile of dY for both gradients at once if they
    alternate.
    """

    dx: Walk
    dw: Walk
    alternate: bool

    def through(self, grid: TileGrid, *, input_gradient: bool = True) -> Ints:
        """Return numbers of the tile products, in the order of computing (see :class:`TileGrid`).

        Parameters
        ----------
        grid
            The layer in tiles, I K J products for each gradient.
        input_gradient
            Whether dX is computed; the first layer of a network needs none.

        Returns
        -------
        Ints
            (2 I K J,) a permutation, or (I K J,) the products of dW alone.
        """
        dw = self.dw.through(grid) + grid.products
        if not input_gradient:
            return dw
        both = np.stack((self.dx.through(grid), dw))
        # Column by column alternates dX and dW.
        return both.ravel(order="F" if self.alternate else "C")


ORDERS: Mapping[str, Order] = MappingProxyType(
    {
        "sequential": Order(dx=_BY_ROWS, dw=_BY_COLUMNS, alternate=False),
        "interleaved": Order(dx=_BY_ROWS, dw=_BY_COLUMNS, alternate=True),
        "dx-major": Order(dx=_BY_ROWS, dw=_BY_ROWS, alternate=True),
        "dw-major": Order(dx=_BY_COLUMNS, dw=_BY_COLUMNS, alternate=True),
    }
)
"""The orders of the paper, by name; ``sequential`` is its baseline."""


def algorithm_1(layer: Layer) -> str:
    """Choose the order by the shape of ``layer``."""
    return gradient_tiles.algorithm_1(layer.m, layer.k, layer.n)


ALGORITHM_1 = "algorithm-1"
"""The order that fits a layer's shape."""
_SIZE = r"([0-9]{1,9})"
_WALK = re.compile(rf"([ikj]{{3}})(~?)(?:@{_SIZE}x{_SIZE}x{_SIZE}(?:/([ikj]{{3}}))?)?")


def parse_order(text: str, layer: Layer) -> Order:
    """Read an order; ``algorithm-1`` is the one that fits ``layer``.

    Raises
    ------
    InputError
        No such order, or a part of it cannot be used.
    """
    name, *options = text.split(":")
    if name != ALGORITHM_1 and name not in ORDERS:
        raise unknown("order", name, (*ORDERS, ALGORITHM_1))
    walks: dict[str, Walk] = {}
    for option in options:
        key, _, walk = option.partition("=")
        if key not in ("dx", "dw") or key in walks or not walk:
            raise InputError(f"order {text!r}: {option!r} is not dx=WALK or dw=WALK, each once")
        walks[key] = parse_walk(walk)
    order = ORDERS[algorithm_1(layer) if name == ALGORITHM_1 else name]
    return replace(order, dx=walks.get("dx", order.dx), dw=walks.get("dw", order.dw))


def format_order(order: Order) -> str:
    """Write an order as :func:`parse_order` reads it back, for any layer."""
    for name, known in ORDERS.items():
        if order == known:
            return name
    name = "interleaved" if order.alternate else "sequential"
    return f"{name}:dx={format_walk(order.dx)}:dw={format_walk(order.dw)}"


def parse_walk(text: str) -> Walk:
    """Read a walk.

    Raises
    ------
    InputError
        It is none.
    """
    found = _WALK.fullmatch(text)
    if found is None:
        raise InputError(
            f"walk {text!r}: write loops as ikj, then ~ to turn round, then @4x2x4 for blocks and "
            "/jik for the loops over them"
        )
    loops, turns, *block, blocks = found.groups()
    return Walk(
        loops=loops,
        block=None if block[0] is None else (int(block[0]), int(block[1]), int(block[2])),
        blocks=blocks or LOOPS[0],
        boustrophedon=bool(turns),
    )


def format_walk(walk: Walk) -> str:
    """Write a walk as :func:`parse_walk` reads it back."""
    text = walk.loops + "~" * walk.boustrophedon
    if walk.block is None:
        return text
    over = "" if walk.blocks == LOOPS[0] else f"/{walk.blocks}"
    return f"{text}@{'x'.join(map(str, walk.block))}{over}"
