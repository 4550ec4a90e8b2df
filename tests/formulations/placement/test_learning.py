"""CP-SAT's placements, windows and all, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.placement.cpsat import CpSat
from formulations.placement.parts import Verdict, in_units, split
from formulations.placement.place import minimize
from spmopt.core.placement import Placement, require_placement
from tests.formulations.placement.brute_force import draw, least_height
from tests.thorough import share

CAPACITY = 24


@given(st.integers(0, 100_000))
@settings(max_examples=share(40), deadline=None)
def test_least_height_with_windows(seed: int) -> None:
    buffers = draw(seed, windows=True)
    expected = least_height(buffers, CAPACITY)
    found = minimize(buffers, CAPACITY, 20.0)
    height = None if found.placement is None else found.placement.height_bytes
    assert height == expected
    assert found.status.value == ("infeasible" if expected is None else "optimal")


@pytest.mark.parametrize("word", ["TWA", "WAT", "L"])
@given(seed=st.integers(0, 100_000))
@settings(max_examples=share(20), deadline=None)
def test_there_is_a_solution_where_brute_force_has_one(seed: int, word: str) -> None:
    buffers = draw(seed, windows=True)
    least = least_height(buffers, CAPACITY)
    units = in_units(buffers)
    parts = split(units)
    if least is None or len(parts) != 1 or units.ids.size != len(buffers):
        return
    cpsat = CpSat(parts[0])
    for capacity in (least - 1, least):
        answer, offsets = cpsat.solve(
            units.floor(capacity), word, conflicts=10_000, time_limit_s=20.0
        )
        assert answer is (Verdict.FOUND if capacity == least else Verdict.INFEASIBLE)
        if offsets is not None:
            by_unit = offsets[np.argsort(parts[0].ids)]
            found = Placement.of(buffers, units.offsets_bytes(by_unit))
            require_placement(buffers, found, capacity)
