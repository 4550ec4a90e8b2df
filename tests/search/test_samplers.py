"""The nearest machine that is not known, against the distances of all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spmopt.search.axes import SpaceAxis
from spmopt.search.samplers import Place, nearest_new, place_of

AXES = (
    SpaceAxis(key="spm", low=256, high=1024, step=256),
    SpaceAxis(key="technology", choices=("sram", "stt", "sot")),
    SpaceAxis(key="cores", low=1, high=3),
)
PLACES = list(product(range(4), range(3), range(3)))


def point_of(place: Place) -> dict[str, str | int | float]:
    return {axis.key: list(axis.values())[at] for axis, at in zip(AXES, place, strict=True)}


def steps(left: Place, right: Place) -> int:
    """Of ranges the positions between them, of choices whether they differ."""
    return abs(left[0] - right[0]) + (left[1] != right[1]) + abs(left[2] - right[2])


@given(st.sets(st.sampled_from(PLACES)), st.sampled_from(PLACES), st.integers(0, 99))
def test_no_unknown_point_is_nearer(known: set[Place], start: Place, seed: int) -> None:
    found = nearest_new(AXES, point_of(start), known, np.random.default_rng(seed))
    place = place_of(AXES, found)
    assert found == point_of(place)
    unknown = [each for each in PLACES if each not in known]
    if not unknown:
        assert place == start
        return
    assert place not in known
    assert steps(place, start) == min(steps(each, start) for each in unknown)


def test_equals_are_drawn() -> None:
    start = (1, 0, 1)
    found = {
        place_of(AXES, nearest_new(AXES, point_of(start), {start}, np.random.default_rng(seed)))
        for seed in range(60)
    }
    assert found == {each for each in PLACES if steps(each, start) == 1}


def test_positions_of_real_numbers() -> None:
    axis = SpaceAxis(key="energy.mac_pj", low=0.1, high=0.7, step=0.1)
    assert [axis.position(value) for value in axis.values()] == list(range(7))
    assert axis.position(0.1 + 3 * 0.1 + 1e-12) == 3
