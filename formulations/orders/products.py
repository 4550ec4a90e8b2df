"""The tile products of both gradients of a layer as sets of bits: the tiles of each.

Rows of equal tiles i along M, k along K, j along N. Product ``(i K + k) J + j`` of dX uses tiles
dY[i,j], W[k,j], dX[i,k]; of dW, numbered I K J higher, dY[i,j], X[i,k], dW[k,j].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.table import Bools, Ints

Masks = NDArray[np.uint64]
Shape = tuple[int, int, int]
WORD = 64  # bits of a set of products, or of tiles
NOTHING = np.uint64(0)  # the empty set
_MOST_SYMMETRIES = 1200  # with more, comparing images takes longer than equal states do
# Of the shape (I, K, J): rows and columns of each matrix.
_AXES = {"dY": (0, 2), "W": (1, 2), "X": (0, 1), "dX": (0, 1), "dW": (1, 2)}
_OPERANDS = {"dX": ("dY", "W", "dX"), "dW": ("dY", "X", "dW")}
Product = tuple[str, int, int, int]
Tile = tuple[str, int, int]


@dataclass(frozen=True)
class Image:
    """A symmetry: the layer is transposed or not, then its rows of tiles go to other places.

    Attributes
    ----------
    places
        Where each row goes, along M, K and N.
    products, tiles
        Bits that their bits become.
    """

    turned: bool
    places: tuple[tuple[int, ...], ...]
    products: list[int]
    tiles: list[int]


def require_small(shape: Shape, *, input_gradient: bool = True) -> None:
    """Raise :class:`InputError` unless there are 1 to 64 products, of at most 64 tiles.

    Counted, not listed: a shape of any size is refused at once.
    """
    rows, inner, columns = shape
    if min(shape) < 1:
        raise InputError(f"tiles {shape}; every side must have at least 1")
    gradients = 2 if input_gradient else 1
    products = gradients * prod(shape)
    # dY is shared; each gradient has an input and a result of its own, as large as each other's.
    tiles = rows * columns + gradients * inner * (rows + columns)
    if products > WORD or tiles > WORD:
        raise InputError(
            f"a grid of {'x'.join(map(str, shape))} has {products:,} products of {tiles:,} tiles; "
            f"the exact search takes {WORD} products and {WORD} tiles: give larger tiles, or "
            "search over walks"
        )


@dataclass(frozen=True)
class Products:
    """A layer of I, K, J equal tiles; bit ``p`` of a mask of products is the ``p``-th one.

    Raises
    ------
    InputError
        More than 64 products or tiles, or none.
    """

    shape: Shape
    input_gradient: bool = True

    def __post_init__(self) -> None:
        require_small(self.shape, input_gradient=self.input_gradient)

    @property
    def gradients(self) -> tuple[str, ...]:
        """Those computed."""
        return ("dX", "dW") if self.input_gradient else ("dW",)

    @cached_property
    def names(self) -> list[Product]:
        """Gradient, i, k and j of each."""
        rows, inner, columns = (range(side) for side in self.shape)
        return list(product(self.gradients, rows, inner, columns))

    @cached_property
    def tiles(self) -> list[Tile]:
        """All tiles in the order of their bits."""
        return list(dict.fromkeys(tile for name in self.names for tile in _uses(name)))

    @cached_property
    def used(self) -> list[tuple[int, int, int]]:
        """The three tiles of each product, the result last."""
        number = {tile: bit for bit, tile in enumerate(self.tiles)}
        uses = [_uses(name) for name in self.names]
        return [(number[one], number[two], number[three]) for one, two, three in uses]

    @cached_property
    def masks(self) -> Masks:
        """(products,) The tiles of each."""
        return np.array([sum(1 << tile for tile in tiles) for tiles in self.used], np.uint64)

    @cached_property
    def users(self) -> Masks:
        """(tiles,) The products of each."""
        found = [0] * len(self.tiles)
        for number, tiles in enumerate(self.used):
            for tile in tiles:
                found[tile] |= 1 << number
        return np.array(found, np.uint64)

    @cached_property
    def is_result(self) -> list[bool]:
        """Whether each tile is one of dX or dW."""
        return [matrix in _OPERANDS for matrix, _, _ in self.tiles]

    def in_row(self, gradient: str, axis: int, row: int) -> np.uint64:
        """Return products of a gradient in a row of tiles: axis 0 along M, 1 along K, 2 along N."""
        numbers = [
            number
            for number, (computed, *place) in enumerate(self.names)
            if computed == gradient and place[axis] == row
        ]
        return np.uint64(sum(1 << number for number in numbers))

    def symmetries(self) -> Iterator[Image]:
        """Yield images of the layer that are the layer itself; they form a group.

        Rows of tiles may change places along each axis, and the transposed layer, X^T and W^T
        in each other's place, is the same where I = J. Axes with many rows remain as they are.
        """
        numbers, used = np.arange(len(self.names)).reshape(-1, *self.shape), np.array(self.used)
        rows = self._rows()
        # Transposing exchanges dX and dW: both must be computed, over as many tiles.
        may_turn = self.input_gradient and rows[0] == rows[2]
        for turned in (False, True) if may_turn else (False,):
            for places in product(*rows):
                moved = numbers[np.ix_(range(len(numbers)), *places)]
                # (i, k, j) of one gradient is (j, k, i) of the other, its operands in their order.
                products = (moved[::-1].transpose(0, 3, 2, 1) if turned else moved).ravel()
                tiles = np.empty(len(self.tiles), np.int64)
                tiles[used] = used[products]
                yield Image(turned, places, products.tolist(), tiles.tolist())

    def _rows(self) -> list[list[tuple[int, ...]]]:
        """Return permutations of each axis, of the shortest axes first as long as they are few."""
        found: list[list[tuple[int, ...]]] = [[tuple(range(side))] for side in self.shape]
        count = 2
        for axis in sorted(range(3), key=self.shape.__getitem__):
            count *= factorial(self.shape[axis])
            if count <= _MOST_SYMMETRIES:
                found[axis] = list(permutations(range(self.shape[axis])))
        return found


def _uses(name: Product) -> list[Tile]:
    gradient, *place = name
    return [
        (matrix, place[rows], place[columns])
        for matrix, (rows, columns) in ((each, _AXES[each]) for each in _OPERANDS[gradient])
    ]


_BYTE = 8  # bits: an image is looked up byte by byte
_AT_ONCE = 1 << 15  # sets of products whose images are compared at once


class Symmetry:
    """The images of sets of products and of tiles under the symmetries of the layer.

    Of all images only those count whose rows of tiles have their products done in falling order.
    Few have, which saves most of the work; and which have is the same for all that are equal.
    """

    def __init__(self, products: Products) -> None:
        images = list(products.symmetries())
        self._products = _tables([image.products for image in images])
        self._tiles = _tables([image.tiles for image in images])
        self._turns = sorted({image.turned for image in images})
        self._places = [
            list(dict.fromkeys(image.places[axis] for image in images)) for axis in range(3)
        ]
        self._rows = [
            [[products.in_row(name, axis, row) for name in ("dX", "dW")] for row in range(side)]
            for axis, side in enumerate(products.shape)
        ]

    def least(self, done: Masks, held: Masks) -> tuple[Masks, Masks]:
        """Find the first image that counts of each state (products done, tiles held)."""
        sets, of = np.unique(done, return_inverse=True)
        parts = [self._images(sets[at : at + _AT_ONCE]) for at in range(0, sets.size, _AT_ONCE)]
        least, images, which = (np.concatenate(column) for column in zip(*parts, strict=True))
        ends = np.concatenate(([0], np.cumsum(images)))
        first, count = ends[of], images[of]
        state = np.repeat(np.arange(done.size), count)
        own = np.cumsum(count) - count
        image = which[np.arange(state.size) + np.repeat(first - own, count)]
        moved = _move(held[state], image, self._tiles)
        return least[of], np.minimum.reduceat(moved, own)

    def _images(self, sets: Masks) -> tuple[Masks, Ints, Ints]:
        """Return the least image of each set, how many symmetries lead to it, and all of these."""
        row, image = np.nonzero(self._falling(sets))
        moved = _move(sets[row], image, self._products)
        least = np.minimum.reduceat(moved, np.searchsorted(row, np.arange(sets.size)))
        is_least = moved == least[row]
        return least, np.bincount(row[is_least], minlength=sets.size), image[is_least]

    def _falling(self, sets: Masks) -> Bools:
        """(sets, symmetries) Return whether the image has falling rows along each axis."""
        counts = [
            [[np.bitwise_count(sets & mask).astype(np.int64) for mask in masks] for masks in axis]
            for axis in self._rows
        ]
        by_turn = {
            False: [[WORD * dx + dw for dx, dw in axis] for axis in counts],
            True: [[WORD * dw + dx for dx, dw in axis] for axis in counts[::-1]],
        }
        found = []
        for turned in self._turns:
            one, two, three = (
                _falls(weights, self._places[axis]) for axis, weights in enumerate(by_turn[turned])
            )
            all_three = one[:, :, None, None] & two[:, None, :, None] & three[:, None, None, :]
            found.append(all_three.reshape(sets.size, -1))
        return np.concatenate(found, axis=1)


def _falls(weights: list[Ints], permutations: list[tuple[int, ...]]) -> Bools:
    """(sets, permutations) Return whether rows of such weights fall once each is in its place.

    Rows that never change places need not.
    """
    falls = np.ones((weights[0].size, len(permutations)), np.bool_)
    if len(permutations) == 1:
        return falls
    for number, places in enumerate(permutations):
        there = [weights[places.index(place)] for place in range(len(places))]
        for one, other in pairwise(there):
            falls[:, number] &= one >= other
    return falls


def _tables(places: list[list[int]]) -> Masks:
    """(symmetries, bytes, 256) Return where each byte of a mask takes its bits."""
    moved = np.array(places, np.int64)
    whole = -(-moved.shape[1] // _BYTE) * _BYTE
    images = np.zeros((len(moved), whole), np.uint64)
    images[:, : moved.shape[1]] = np.uint64(1) << moved.astype(np.uint64)
    in_byte = np.arange(1 << _BYTE)[:, None] >> np.arange(_BYTE) & 1
    by_byte = images.reshape(len(moved), -1, _BYTE)
    tables: Masks = by_byte @ in_byte.T.astype(np.uint64)
    return tables


def _move(masks: Masks, image: Ints, tables: Masks) -> Masks:
    """Move each mask by the symmetry of its own."""
    moved = np.zeros_like(masks)
    for place in range(tables.shape[1]):
        byte = (masks >> np.uint64(_BYTE * place)) & np.uint64(255)
        moved |= tables[image, place, byte]
    return moved
