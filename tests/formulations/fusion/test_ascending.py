"""Paths in ascending order of their costs, which may rise while they are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.fusion.agreement import Agreement
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.shortest_paths import SparseArcs
from formulations.fusion.tileable import Listed
from formulations.solver.program import Floats
from spmopt.core.objective import MAKESPAN
from tests.thorough import share, some

from .random_tileable_graph import random_tileable_graph


def all_paths(sparse: SparseArcs, at: int = 0) -> Iterator[tuple[int, ...]]:
    """Yield all paths from a boundary to the last, by arc."""
    if at == sparse.count:
        yield ()
    for arc in np.flatnonzero(sparse.begin == at).tolist():
        for rest in all_paths(sparse, int(sparse.end[arc])):
            yield (arc, *rest)


@st.composite
def problems(draw: st.DrawFn) -> tuple[SparseArcs, Floats, Floats]:
    """Draw arcs, their costs, and how much each costs once it was looked at."""
    count, ways = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    there = np.zeros((count + 1, ways, count), bool)
    for end in range(1, count + 1):
        there[end, :, :end] = draw(
            st.lists(
                st.lists(st.booleans(), min_size=end, max_size=end), min_size=ways, max_size=ways
            )
        )
    sparse = SparseArcs(there, np.zeros(count + 1, np.int64))
    figures = st.lists(st.integers(0, 9), min_size=sparse.end.size, max_size=sparse.end.size)
    cost, more = (np.array(draw(figures), float) for _ in range(2))
    return sparse, cost, cost + more * draw(st.integers(0, 1))


@settings(max_examples=share(600, 4), deadline=None)
@given(problems(), st.integers(0, 40) | st.none())
def test_each_path_comes_at_its_last_cost_and_none_is_left_out(
    problem: tuple[SparseArcs, Floats, Floats], most: int | None
) -> None:
    sparse, cost, last = problem
    limit, found = inf if most is None else float(most), list[tuple[float, tuple[int, ...]]]()
    for value, path in sparse.ascending(cost, lambda: limit):
        if not path.size:
            continue
        assert value == cost[path].sum()
        cost[path] = last[path]
        if cost[path].sum() == value:  # whole numbers
            found.append((value, tuple(path.tolist())))
    every = {path: float(last[[*path]].sum()) for path in all_paths(sparse)}
    assert {path: value for value, path in found} == {
        path: value for path, value in every.items() if value < limit
    }
    assert len({path for _, path in found}) == len(found)
    assert [value for value, _ in found] == sorted(value for value, _ in found)


def test_of_very_many_paths_that_cost_the_same_the_first_come_at_once() -> None:
    """Costs differ by rounding errors: 4 to the power of 40 paths."""
    there = np.zeros((41, 4, 40), bool)
    there[np.arange(1, 41), :, np.arange(40)] = True
    sparse = SparseArcs(there, np.zeros(41, np.int64))
    cost: Floats = 0.1 + 1e-16 * np.random.default_rng(0).uniform(0.0, 9.0, sparse.end.size)
    found = list(islice(sparse.ascending(cost, lambda: inf), 50))
    assert sum(path.size == 40 for _, path in found) > 40


def test_that_no_path_comes_is_told_now_and_then() -> None:
    """Once costs have risen, the least that can follow a beginning is known too low."""
    there = np.zeros((41, 4, 40), bool)
    there[np.arange(1, 41), :, np.arange(40)] = True
    sparse = SparseArcs(there, np.zeros(41, np.int64))
    cost: Floats = np.linspace(0.1, 0.2, sparse.end.size)
    paths = sparse.ascending(cost, lambda: inf)
    assert next(paths)[1].size
    cost *= 2
    assert not next(paths)[1].size


@pytest.mark.parametrize("seed", some(range(40), 10))
def test_no_program_of_a_plan_costs_less_than_those_found(seed: int) -> None:
    listed = Listed(random_tileable_graph(seed, most=5), MAKESPAN)
    arcs = FusedGroupArcs(listed, float(listed.capacity), split=True)
    search = Agreement(arcs)
    for steps in (search.search_plans(), search.steps(), search.near_plans()):
        for _ in steps:
            assert search.best <= search.least * (1 + 1e-6)
    found, sparse = search.least, search.sparse
    for path in all_paths(sparse):
        groups = sparse.groups(np.array(path, np.int64))
        for _ in search._agree_along(tuple(listed.fused_group(*each) for each in groups)):
            pass
    assert found == pytest.approx(search.least)
