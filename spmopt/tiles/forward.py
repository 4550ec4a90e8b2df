"""The forward pass of a layer as an instance: ``Y[i,j] += X[i,k] W[k,j]``.

Tiles of X and W are in DRAM at the start, those of Y must be there at the end; sums are as in
:mod:`spmopt.tiles.backward`. It costs what the weight gradient of another layer does:
:func:`mirrored`.
"""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.tiles.build import build
from spmopt.tiles.cores import dealt
from spmopt.tiles.grid import Grid, Tile
from spmopt.tiles.layer import Layer
from spmopt.tiles.matrices import RESULTS
from spmopt.tiles.partition import Partition, pieces
from spmopt.tiles.program import Program
from spmopt.tiles.walk import Walk

BY_ROWS = Walk(loops="ijk")
"""The usual walk: a tile of Y is finished before the next begins, by rows."""


def forward(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    resident: bool = True,
) -> Instance:
    """Y of one layer in tiles; of several groups, one.

    Parameters
    ----------
    grid, machine, element_bytes, resident
        As for :func:`~spmopt.tiles.backward.backward`.
    order : (I K J,) or (steps, cores)
        Numbers of the products of Y: :func:`forward_order` or :func:`forward_on_cores`.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = Program.of(grid, machine, order, element_bytes=element_bytes)
    return build(program, computing="Y", resident=resident)


def forward_order(grid: Grid, walk: Walk = BY_ROWS) -> Ints:
    """(I K J,) The products of Y on one core."""
    return walk.through(grid) + RESULTS.index("Y") * grid.products


def forward_on_cores(grid: Grid, cores: int, walk: Walk = BY_ROWS) -> Ints:
    """(steps, cores) The products of Y, each core with its share of the batch.

    A cut along M, as :func:`~spmopt.tiles.cores.baseline` has it; no tile of Y is a sum over cores.
    """
    cut = pieces(grid, Partition(axis="m", parts=cores))
    return dealt([piece.numbers(forward_order(piece.grid, walk)) for piece in cut], cores)


def mirrored(grid: Grid) -> Grid:
    """The grid whose weight gradient is computed by products of the same tiles and cycles.

    Y (M, N) = X (M, K) W (K, N) sums over K as dW (K, N) = X^T dY sums over M: with M and K
    exchanged, dY has the tiles of W, X those of X transposed, dW those of Y. Product (i, k, j) of Y
    is (k, i, j) of that dW. Traffic under double buffering is the same, time but for the order in
    which it spreads transfers of a batch, that of numbers.
    """
    layer, tile = grid.layer, grid.tile
    return Grid(layer=mirrored_layer(layer), tile=Tile(m=tile.k, k=tile.m, n=tile.n))


def mirrored_layer(layer: Layer) -> Layer:
    """The layer of :func:`mirrored`."""
    return replace(layer, m=layer.k, k=layer.m)
