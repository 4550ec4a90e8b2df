"""Every cut computes the exact gradients, on one core in turn or on several at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.table import Ints
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import ORDERS, Order
from spmopt.tiles.partition import Partition, on_cores
from spmopt.tiles.program import IDLE
from tests.thorough import share
from tests.tiles.cases import ANY_ORDER, grid
from tests.tiles.execution import Case
from tests.tiles.test_partition import ANY_PARTITION

SCHEDULERS = ("lru", "belady", "residency")
CELLS = grid((7, 8, 9), (2, 3, 2))  # 4, 3 and 5 tiles, all with a rest


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("axis", ["m", "k", "n"])
def test_a_piece_on_every_core(axis: str, parts: int) -> None:
    order = on_cores(CELLS, Partition(axis=axis, parts=parts), ORDERS["interleaved"], parts)
    case = Case(CELLS, order, 160 * parts, True, TRAFFIC, SCHEDULERS, add_early=parts == 3)
    summed = {"m": "dW", "n": "dX", "k": None}[axis]
    kinds = {op.name.partition("[")[0] for op in case.problem.operations if op.kind == "sum"}
    assert kinds == ({f"sum {summed}"} if summed else set())
    for schedule in case.schedules():
        case.check(schedule)
        # Partial tiles spill: they are ordinary tensors, and there is no room for all.
        assert axis == "k" or case.partial_sums_return(schedule)


@settings(max_examples=share(20), deadline=None)
@given(
    cells=st.builds(grid, st.tuples(*[st.integers(1, 7)] * 3), st.tuples(*[st.integers(2, 4)] * 3)),
    cut=ANY_PARTITION,
    order=ANY_ORDER,
    cores=st.integers(1, 4),
    pages=st.integers(12, 30),
    resident=st.booleans(),
    add_early=st.booleans(),
    objective=st.sampled_from([TRAFFIC, MAKESPAN]),
)
def test_any_cut_on_any_number_of_cores(
    *,
    cells: TileGrid,
    cut: Partition,
    order: Order,
    cores: int,
    pages: int,
    resident: bool,
    add_early: bool,
    objective: Objective,
) -> None:
    table = on_cores(cells, cut, order, cores)
    spm_bytes = 16 * pages * cores
    case = Case(cells, table, spm_bytes, resident, objective, SCHEDULERS, add_early)
    for schedule in case.schedules():
        case.check(schedule)


def shuffled(cells: TileGrid, cores: int, seed: int) -> Ints:
    """All products in any order, each on any core."""
    draw = np.random.default_rng(seed)
    products = draw.permutation(2 * cells.products)
    table: Ints = np.full((products.size, cores), IDLE)
    table.ravel()[draw.choice(table.size, products.size, replace=False)] = products
    used: Ints = table[(table != IDLE).any(axis=1)]
    return used


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), cores=st.integers(2, 3), add_early=st.booleans())
def test_any_products_on_any_cores(seed: int, cores: int, add_early: bool) -> None:
    cells = grid((3, 4, 5), (2, 2, 2))
    table = shuffled(cells, cores, seed)
    case = Case(cells, table, 16 * 5 * cores, True, TRAFFIC, SCHEDULERS, add_early)
    for schedule in case.schedules():
        case.check(schedule)
