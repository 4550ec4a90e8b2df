"""Orders of the forward pass of a layer in tiles."""

from __future__ import annotations

from spmopt.core.table import Ints
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import Walk
from spmopt.tiles.partition import Partition, deal, sub_layers
from spmopt.tiles.program import RESULTS

BY_ROWS = Walk(loops="ijk")
"""The usual walk of the forward pass: a tile of Y is finished before the next begins, by rows."""


def forward_order(grid: TileGrid, walk: Walk = BY_ROWS) -> Ints:
    """(I K J,) Order the products of Y on one core."""
    return walk.through(grid) + RESULTS.index("Y") * grid.products


def forward_on_cores(grid: TileGrid, cores: int, walk: Walk = BY_ROWS) -> Ints:
    """(steps, cores) Deal the products of Y, to each core its share of the batch.

    A cut along M; no tile of Y is a sum over cores.
    """
    cut = sub_layers(grid, Partition(axis="m", parts=cores))
    return deal([piece.numbers(forward_order(piece.grid, walk)) for piece in cut], cores)
