"""The fast figures of an order are those of verified schedules; the search finds better ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.tiles.bounds import traffic_bound
from spmopt.tiles.fetches import backward
from spmopt.tiles.order import ORDERS, Order, format_order, parse_order
from spmopt.tiles.order_search import furthest_first, good_order
from tests.tiles.cases import ANY_ORDER, grid
from tests.tiles.test_bounds import PAGE, tiles_machine

SHAPES = st.tuples(*[st.integers(1, 4)] * 3)


def belady_bytes(problem: Problem) -> int:
    """Traffic of the verified schedule of the policy."""
    totals = solve(problem, "belady", Request(objective=TRAFFIC)).totals
    assert totals is not None
    return totals.traffic_bytes


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, spm_tiles=st.integers(3, 20), order=ANY_ORDER, both=st.booleans())
def test_figures_of_belady(
    shape: tuple[int, int, int], spm_tiles: int, order: Order, both: bool
) -> None:
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    products = order.through(cells, input_gradient=both)
    problem = backward(cells, tiles_machine(spm_tiles), products)
    assert furthest_first(cells, products, spm_tiles) * PAGE == belady_bytes(problem)


@pytest.mark.parametrize(
    ("shape", "spm_tiles", "at_most"),
    [((8, 8, 8), 16, 712), ((16, 4, 4), 64, 224), ((4, 16, 4), 24, 272), ((16, 4, 4), 24, 278)],
)
def test_good_orders(shape: tuple[int, int, int], spm_tiles: int, at_most: int) -> None:
    # Of the orders of the paper the best move 1183, 224, 551 and 451 tiles.
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    found = good_order(cells, spm_tiles)
    assert found.traffic_tiles <= at_most
    assert found.traffic_tiles == furthest_first(cells, found.order.through(cells), spm_tiles)
    assert parse_order(format_order(found.order), cells.layer) == found.order


@settings(max_examples=10, deadline=None)
@given(shape=SHAPES, spm_tiles=st.integers(3, 12))
def test_never_worse_than_the_orders_of_the_paper(
    shape: tuple[int, int, int], spm_tiles: int
) -> None:
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    found = good_order(cells, spm_tiles, evaluations=30)
    assert found.traffic_tiles <= min(
        furthest_first(cells, order.through(cells), spm_tiles) for order in ORDERS.values()
    )


def test_first_layer() -> None:
    cells = grid((16, 16, 16), (4, 4, 4))
    found = good_order(cells, 8, input_gradient=False)
    products = found.order.through(cells, input_gradient=False)
    assert found.traffic_tiles == furthest_first(cells, products, 8) < 80


def test_gaps_of_the_orders() -> None:
    cells, machine = grid((32, 32, 32), (4, 4, 4)), tiles_machine(16)
    bound = traffic_bound(cells, machine)
    assert (bound.size_bytes, bound.compulsory_bytes) == (536 * PAGE, 320 * PAGE)
    for order, tiles in ((ORDERS["sequential"], 1183), (good_order(cells, 16).order, 712)):
        assert belady_bytes(backward(cells, machine, order.through(cells))) == tiles * PAGE


def test_three_tiles_have_to_fit() -> None:
    cells = grid((8, 8, 8), (4, 4, 4))
    with pytest.raises(InputError, match="needs 3 tiles of SPM, there are 2"):
        good_order(cells, 2)


@pytest.mark.parametrize("sizes", [(30, 31, 29), (61, 14, 15), (13, 61, 10), (27, 27, 9)])
@pytest.mark.parametrize("spm_tiles", [8, 15])
def test_bound_below_good_orders_of_ragged_layers(
    sizes: tuple[int, int, int], spm_tiles: int
) -> None:
    cells, small = grid(sizes, (4, 4, 4)), tiles_machine(spm_tiles)
    bound = traffic_bound(cells, small)
    found = good_order(cells, spm_tiles, evaluations=300)
    problem = backward(cells, small, found.order.through(cells))
    totals = solve(problem, "residency", Request(objective=TRAFFIC)).totals
    assert totals is not None
    assert bound.size_bytes <= totals.traffic_bytes < 2 * bound.size_bytes
