"""CP-SAT's placements, windows and all, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.placement import cpsat
from formulations.placement.parts import split
from spmopt.core.placement import Placement, require_placement
from spmopt.core.result import Status
from tests.formulations.placement.brute_force import draw, least_height
from tests.thorough import share

CAPACITY = 24


@pytest.mark.parametrize("word", ["TWA", "WAT", "L"])
@given(seed=st.integers(0, 100_000))
@settings(max_examples=share(20), deadline=None)
def test_there_is_a_solution_where_brute_force_has_one(seed: int, word: str) -> None:
    buffers = draw(seed, windows=True)
    least = least_height(buffers, CAPACITY)
    unit, parts = split(buffers)
    if least is None or len(parts) != 1 or len(parts[0]) != len(buffers):
        return
    for capacity in (least - 1, least):
        status, offsets = cpsat.solve(
            parts[0], capacity // unit, word, conflicts=10_000, time_limit_s=20.0
        )
        assert status is (Status.FEASIBLE if capacity == least else Status.INFEASIBLE)
        if offsets is not None:
            by_unit = offsets[np.argsort(parts[0].ids)]
            found = Placement.of(buffers, (by_unit * unit).tolist())
            require_placement(buffers, found, capacity)
