"""What the search for the best order rests on: least tiles touched, one state for all images."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from formulations.orders.products import Masks, Products, Symmetry
from formulations.orders.search import least_touched


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("shape", [(2, 1, 2), (1, 2, 3), (3, 2, 1), (3, 1, 2)])
def test_least_touched_of_all_sets(shape: tuple[int, int, int], both: bool) -> None:
    products = Products(shape, both)
    masks = [int(mask) for mask in products.masks]
    found = least_touched(shape, input_gradient=both)
    assert found.size == len(masks) + 1
    for count in range(1, len(masks) + 1):
        touched = []
        for chosen in combinations(masks, count):
            union = 0
            for mask in chosen:
                union |= mask
            touched.append(union.bit_count())
        assert found[count] == min(touched)


@pytest.mark.parametrize(
    "shape", [(3, 3, 3), (2, 3, 2), (1, 2, 4), (2, 2, 8), (4, 2, 4), (6, 1, 4)]
)
def test_images_are_one_state(shape: tuple[int, int, int]) -> None:
    products = Products(shape)
    symmetry, draw = Symmetry(products), np.random.default_rng(1)
    images = list(products.symmetries())
    done, held = some(draw, len(products.names)), some(draw, len(products.tiles))
    least = symmetry.least(done, held)
    for number in draw.integers(len(images), size=20).tolist():
        image = images[number]
        again = symmetry.least(moved(done, image.products), moved(held, image.tiles))
        assert np.array_equal(again, least)
    # What stands for a state is one of its images.
    state = int(done[0]), int(held[0])
    seen = {(move(state[0], each.products), move(state[1], each.tiles)) for each in images}
    assert (int(least[0][0]), int(least[1][0])) in seen


def some(draw: np.random.Generator, bits: int) -> Masks:
    """Random sets."""
    return draw.integers(2**bits, size=50, dtype=np.uint64)


def move(mask: int, places: list[int]) -> int:
    """The set with each bit in its place."""
    return sum(1 << place for bit, place in enumerate(places) if mask >> bit & 1)


def moved(masks: Masks, places: list[int]) -> Masks:
    """All sets so moved."""
    return np.array([move(mask, places) for mask in masks.tolist()], np.uint64)
