"""A layer cut into tiles, and the numbers of its tile products.

The backward pass of Y (M, N) = X (M, K) W (K, N) is two products that share dY:
dX (M, K) = dY W^T and dW (K, N) = X^T dY. With rows of tiles i along M, k along K and j along N,
each is made of the same I K J tile products:

* dX: ``dX[i,k] += dY[i,j] W[k,j]^T``,
* dW: ``dW[k,j] += X[i,k]^T dY[i,j]``,
* Y, in the forward pass: ``Y[i,j] += X[i,k] W[k,j]``.

Product (i, k, j) has the number ``(i K + k) J + j`` in dX, ``I K J`` more in dW, twice as many more
in Y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.tiles.layer import Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Sizes of a tile along M, K and N, in elements."""

    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        for what in self.__slots__:
            if getattr(self, what) < 1:
                raise InputError(
                    f"tile: {what} is {getattr(self, what)}; every size must be at least 1"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """One product of ``layer`` in tiles; those at the far edges hold what is left."""

    layer: Layer
    tile: Tile

    @property
    def shape(self) -> tuple[int, int, int]:
        """Tiles I along M, K along K and J along N."""
        return (
            -(-self.layer.m // self.tile.m),
            -(-self.layer.k // self.tile.k),
            -(-self.layer.n // self.tile.n),
        )

    @property
    def products(self) -> int:
        """Tile products of each result, I K J."""
        rows, inner, columns = self.shape
        return rows * inner * columns

    @property
    def sides(self) -> tuple[Ints, Ints, Ints]:
        """(I,), (K,), (J,) Elements of each row of tiles along M, K and N."""
        return (
            _cut(self.layer.m, self.tile.m),
            _cut(self.layer.k, self.tile.k),
            _cut(self.layer.n, self.tile.n),
        )

    def indices(self, products: Ints) -> tuple[Ints, Ints, Ints]:
        """i, k and j of tile products, numbered as in any result."""
        i, k, j = np.unravel_index(products % self.products, self.shape)
        return i, k, j


def _cut(length: int, piece: int) -> Ints:
    sizes = np.full(-(-length // piece), piece, np.int64)
    sizes[-1] = length - piece * (sizes.size - 1)
    return sizes
