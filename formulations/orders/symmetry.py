"""One state for all that rows of equal tiles in other places, or transposing, make of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from formulations.orders.products import WORD, Masks, Products
from spmopt.core.table import Bools, Ints

_BYTE = 8
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
        """Of all images of each state (products done, tiles held) the first one that counts."""
        sets, of = np.unique(done, return_inverse=True)
        parts = [self._images(sets[at : at + _AT_ONCE]) for at in range(0, sets.size, _AT_ONCE)]
        least, images, which = (np.concatenate(column) for column in zip(*parts, strict=True))
        ends = np.concatenate(([0], np.cumsum(images)))
        first, count = ends[of], images[of]
        state = np.repeat(np.arange(done.size), count)
        own = np.cumsum(count) - count
        image = which[np.arange(state.size) + np.repeat(first - own, count)]
        moved = _moved(held[state], image, self._tiles)
        return least[of], np.minimum.reduceat(moved, own)

    def _images(self, sets: Masks) -> tuple[Masks, Ints, Ints]:
        """The least image of each set, how many symmetries lead to it, and all of these."""
        row, image = np.nonzero(self._falling(sets))
        moved = _moved(sets[row], image, self._products)
        least = np.minimum.reduceat(moved, np.searchsorted(row, np.arange(sets.size)))
        leads = moved == least[row]
        return least, np.bincount(row[leads], minlength=sets.size), image[leads]

    def _falling(self, sets: Masks) -> Bools:
        """(sets, symmetries) Whether the image has falling rows along each axis."""
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
    """(sets, permutations) Whether rows of such weights fall once each is in its place.

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
    """(symmetries, bytes, 256) Where each byte of a mask takes its bits."""
    moved = np.array(places, np.int64)
    whole = -(-moved.shape[1] // _BYTE) * _BYTE
    images = np.zeros((len(moved), whole), np.uint64)
    images[:, : moved.shape[1]] = np.uint64(1) << moved.astype(np.uint64)
    in_byte = np.arange(1 << _BYTE)[:, None] >> np.arange(_BYTE) & 1
    by_byte = images.reshape(len(moved), -1, _BYTE)
    tables: Masks = by_byte @ in_byte.T.astype(np.uint64)
    return tables


def _moved(masks: Masks, image: Ints, tables: Masks) -> Masks:
    """Each mask under the symmetry of its own."""
    moved = np.zeros_like(masks)
    for place in range(tables.shape[1]):
        byte = (masks >> np.uint64(_BYTE * place)) & np.uint64(255)
        moved |= tables[image, place, byte]
    return moved
