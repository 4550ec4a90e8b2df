"""A layer as a matrix product: Y (M, N) = X (M, K) W (K, N)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Self

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.tiles.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer of ``groups`` products of the same size, one after another.

    Attributes
    ----------
    m
        Rows of X and Y: output pixels times batch.
    k
        Columns of X, rows of W: height times width times channels of a filter.
    n
        Columns of W and Y: filters.
    groups
        Products; more than one for a depth-wise convolution, which has one a channel.
    kernel
        Positions of a convolution's kernel: im2col has each element of the feature map in up to so
        many rows of X (of Y, if transposed). Layers that differ in it alone are equal: they are the
        same product.
    window
        How the kernel slides over the feature map, of which tiles of X and dX are then made; None:
        they are made of the im2col matrix.
    """

    name: str
    m: int
    k: int
    n: int
    groups: int = 1
    kernel: int = field(default=1, compare=False)
    window: Window | None = field(default=None, metadata={"group": "window"})

    def __post_init__(self) -> None:
        _require_positive(self, f"layer {self.name}", ("m", "k", "n", "groups", "kernel"))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, K and N."""
        return self.m, self.k, self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Sizes of a tile along M, K and N, in elements."""

    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        _require_positive(self, "tile", self.__slots__)

    @classmethod
    def of(cls, sizes: tuple[int, int, int]) -> Self:
        """Make a tile of these sizes along M, K and N."""
        m, k, n = sizes
        return cls(m=m, k=k, n=n)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Along M, K and N."""
        return self.m, self.k, self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class TileGrid:
    """One product of ``layer`` in tiles; those at the far edges hold the rest.

    The backward pass of Y (M, N) = X (M, K) W (K, N) is two products that share dY:
    dX (M, K) = dY W^T and dW (K, N) = X^T dY. With rows of tiles i along M, k along K and j along
    N, each is made of the same I K J tile products:

    * dX: ``dX[i,k] += dY[i,j] W[k,j]^T``,
    * dW: ``dW[k,j] += X[i,k]^T dY[i,j]``,
    * Y, in the forward pass: ``Y[i,j] += X[i,k] W[k,j]``.

    Product (i, k, j) has the number ``(i K + k) J + j`` in dX, ``I K J`` more in dW, twice as many
    more in Y.
    """

    layer: Layer
    tile: Tile

    @property
    def shape(self) -> tuple[int, int, int]:
        """Tiles I along M, K along K and J along N."""
        i, k, j = (-(-a // b) for a, b in zip(self.layer.sizes, self.tile.sizes, strict=True))
        return i, k, j

    @property
    def products(self) -> int:
        """Tile products of each result, I K J."""
        return prod(self.shape)

    @property
    def sides(self) -> tuple[Ints, Ints, Ints]:
        """(I,), (K,), (J,) Elements of each row of tiles along M, K and N."""
        m, k, n = map(_cut, self.layer.sizes, self.tile.sizes)
        return m, k, n

    @property
    def map_elements(self) -> Ints:
        """(I, K) Elements of the tiles of X, and of dX: those of a feature map count once a tile.

        Two tiles that touch the same element of the feature map (a halo) each hold it.
        """
        window = self.layer.window
        if window is None:
            rows, inner, _ = self.sides
            return np.multiply.outer(rows, inner)
        return _touch(window, *self.layer.sizes[:2], *self.tile.sizes[:2])

    def indices(self, products: Ints) -> tuple[Ints, Ints, Ints]:
        """Return i, k and j of tile products, numbered as in any result."""
        i, k, j = np.unravel_index(products % self.products, self.shape)
        return i, k, j


@lru_cache(maxsize=256)  # tiles are tried in many sizes along N, and in several orders
def _touch(window: Window, m: int, k: int, tile_m: int, tile_k: int) -> Ints:
    found = window.touched(_cut(m, tile_m), _cut(k, tile_k))
    found.setflags(write=False)
    return found


def _cut(length: int, piece: int) -> Ints:
    sizes = np.full(-(-length // piece), piece, np.int64)
    # The last tile has the rest.
    sizes[-1] = length - piece * (sizes.size - 1)
    return sizes


def _require_positive(record: object, what: str, names: Sequence[str]) -> None:
    for name in names:
        if getattr(record, name) < 1:
            raise InputError(
                f"{what}: {name.replace('_', ' ')} is {getattr(record, name)}; "
                "every size must be at least 1"
            )
