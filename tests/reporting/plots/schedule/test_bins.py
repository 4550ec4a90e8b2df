"""Bins of time against counting cycle by cycle."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spmopt.reporting.plots.schedule.over_time import MOST_BINS, edges, means

CYCLES = 24
spans = st.lists(
    st.tuples(st.integers(0, CYCLES), st.integers(0, CYCLES), st.integers(0, 9), st.integers(0, 2)),
    max_size=12,
)


@given(spans, st.lists(st.integers(1, CYCLES - 1), max_size=5))
def test_means_are_those_of_every_cycle(rows: list[tuple[int, ...]], cuts: list[int]) -> None:
    bounds = np.unique([0, *cuts, CYCLES]).astype(float)
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    start, stop = columns[:2].min(axis=0), columns[:2].max(axis=0)
    every = np.zeros((3, CYCLES))
    for begin, end, value, group in zip(start, stop, columns[2], columns[3], strict=True):
        every[group, begin:end] += value
    expected = np.add.reduceat(every, bounds[:-1].astype(int), axis=1) / np.diff(bounds)
    found = means(bounds, start, stop, columns[2] * (np.arange(3)[:, None] == columns[3]))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    alone = means(bounds, start, stop, columns[2:3])
    np.testing.assert_allclose(alone, expected.sum(axis=0, keepdims=True), atol=1e-9)


def test_few_marks_are_the_edges_themselves() -> None:
    assert edges(10, np.array([4, 0]), np.array([4, 7])).tolist() == [0, 4, 7, 10]
    assert edges(0, np.empty(0, np.int64)).tolist() == [0, 1]


def test_many_marks_become_even_bins() -> None:
    found = edges(10**9, np.arange(0, 10**9, 10**6))
    assert found.size == MOST_BINS + 1
    np.testing.assert_allclose(np.diff(found), 10**9 / MOST_BINS)


def test_sums_stay_exact_far_from_the_start() -> None:
    bounds = np.linspace(0.0, 4e9, 541)
    start = np.arange(0, 4_000_000_000, 40_000)
    (found,) = means(bounds, start, start + 10_000, np.ones((1, start.size)))
    np.testing.assert_allclose((found * np.diff(bounds)).sum(), 10_000 * start.size, rtol=1e-9)
