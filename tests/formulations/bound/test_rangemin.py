"""Range minima against minima, position included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formulations.residency.bound.rangemin import RangeMinimum, StepRanges


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_every_range(values: list[int]) -> None:
    size = len(values)
    begin, end = (grid.ravel() for grid in np.meshgrid(np.arange(size + 1), np.arange(size + 1)))
    begin, end = begin.astype(np.int64), end.astype(np.int64)
    table = RangeMinimum(np.array(values, np.float64))
    position = table.argmin(StepRanges(begin, end))
    least = table.at(position)
    for k, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        if first >= last:
            assert (position[k], least[k]) == (size, np.inf)
        else:
            assert first <= position[k] < last
            assert least[k] == min(values[first:last]) == values[position[k]]


def test_ranges_reach_the_end_of_a_long_array() -> None:
    for size in (1, 2, 3, 4, 63, 64, 65, 1000):
        values = np.arange(size, 0, -1).astype(np.float64)
        whole = StepRanges(np.array([0], np.int64), np.array([size], np.int64))
        assert RangeMinimum(values).argmin(whole).tolist() == [size - 1]
        assert RangeMinimum(values[::-1].copy()).argmin(whole).tolist() == [0]


def test_no_ranges() -> None:
    nothing = np.empty(0, np.int64)
    assert RangeMinimum(np.ones(3)).argmin(StepRanges(nothing, nothing)).size == 0
