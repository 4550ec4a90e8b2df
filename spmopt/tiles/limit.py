"""How many tile products of a layer are run at most, found out before any is listed.

An instance, its schedule and its verification take about 2.5 kB and 0.15 ms for each product: the
most of both gradients are 2.5 GB and minutes.
"""

from __future__ import annotations

from math import prod

import numpy as np

from spmopt.core.errors import InputError
from spmopt.tiles.grid import Grid
from spmopt.tiles.layer import Layer
from spmopt.tiles.optimum.io_bound import least_touched

MOST_PRODUCTS = 500_000
"""Of one group of a layer, for each gradient."""


def require_few(grid: Grid) -> None:
    """Raise :class:`InputError` where ``grid`` has more than :data:`MOST_PRODUCTS`."""
    tile = grid.tile
    if grid.products > MOST_PRODUCTS:
        raise InputError(
            f"layer {grid.layer.name}: tiles of {tile.m}x{tile.k}x{tile.n} make "
            f"{grid.products:,} tile products a gradient, at most {MOST_PRODUCTS:,} are run; give "
            "a larger --tile"
        )


def require_large_tiles(layer: Layer, elements: int) -> None:
    """Raise :class:`InputError` where tiles of so many elements make too many products.

    No tile of dY, X and W together (m n + m k + k n) below what a brick of its volume m k n has for
    half its surface (:func:`~spmopt.tiles.optimum.io_bound.least_touched`); and of few products
    one has a large volume.
    """
    box = (layer.m, layer.k, layer.n)
    volume = np.array(prod(box) / MOST_PRODUCTS)
    if least_touched(volume, box) > elements:
        raise too_many(layer)


def too_many(layer: Layer) -> InputError:
    """The error of a layer of which no tile that fits makes few enough products."""
    return InputError(
        f"layer {layer.name}: M {layer.m}, K {layer.k}, N {layer.n} take more than "
        f"{MOST_PRODUCTS:,} tile products a gradient in any tile that fits in half of the SPM, "
        "more than are run; give a larger --spm or a smaller layer"
    )
