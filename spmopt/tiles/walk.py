"""Walks: in which order a loop nest passes through the tile products of one gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.tiles.grid import Grid

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

    def through(self, grid: Grid) -> Ints:
        """(I K J,) Numbers of the tile products in the order walked."""
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
            turned = self.boustrophedon & (rank % 2 == 1)
            width = int(index.max()) + 1
            key = rank * width + np.where(turned, width - 1 - index, index)
            rank = np.unique(key, return_inverse=True)[1]
        return np.argsort(rank)
