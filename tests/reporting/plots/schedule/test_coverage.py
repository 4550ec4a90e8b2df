"""Shares of pixels against a finer grid, counted."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.reporting.plots.schedule.addresses import coverage

FINE, WIDTH, HEIGHT = 4, 5, 3
places = st.tuples(*(st.integers(0, size * FINE) for size in (WIDTH, WIDTH, HEIGHT, HEIGHT)))


@settings(deadline=None)
@given(places, places)
def test_shares_are_those_of_a_finer_grid(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    corners = np.array([one, other]).reshape(2, 2, 2)
    low, high = corners.min(axis=2), corners.max(axis=2)
    expected = np.zeros((2, HEIGHT, WIDTH))
    for group in range(2):
        fine = np.zeros((HEIGHT * FINE, WIDTH * FINE))
        fine[low[group, 1] : high[group, 1], low[group, 0] : high[group, 0]] = 1
        expected[group] = fine.reshape(HEIGHT, FINE, WIDTH, FINE).mean(axis=(1, 3))
    ends = [(low[:, axis] / FINE, high[:, axis] / FINE) for axis in (0, 1)]
    found = coverage(ends[0], ends[1], np.arange(2), (2, HEIGHT, WIDTH))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_thin_rectangles_add_up_to_a_full_pixel() -> None:
    edge = np.linspace(0.0, 2.0, 11)
    full = np.zeros(10), np.ones(10)
    found = coverage((edge[:-1], edge[1:]), full, np.zeros(10, np.int64), (1, 1, 2))
    np.testing.assert_allclose(found, 1.0)


def test_no_rectangles_cover_nothing() -> None:
    none = np.empty(0)
    found = coverage((none, none), (none, none), np.empty(0, np.int64), (2, 3, 4))
    assert found.shape == (2, 3, 4)
    assert not found.any()
