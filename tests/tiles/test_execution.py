"""Every order computes the exact gradients, through what its schedules keep on chip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import ORDERS, Order
from spmopt.tiles.partition import on_cores, parse_partition
from tests.thorough import share
from tests.tiles.cases import ANY_ORDER, grid
from tests.tiles.execution import Case
from tests.tiles.maps import CONVOLUTIONS


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("name", ORDERS)
def test_orders_of_the_paper(name: str, resident: bool) -> None:
    cells = grid((7, 8, 5), (2, 3, 2))
    case = Case(cells, ORDERS[name].through(cells), 160, resident, TRAFFIC)
    for schedule in case.schedules():
        case.check(schedule)
        # The walks of the baseline finish a tile of dX or dW before they begin the next.
        assert case.partial_sums_return(schedule) == name.endswith("major")


GRIDS = st.builds(grid, st.tuples(*[st.integers(1, 7)] * 3), st.tuples(*[st.integers(2, 4)] * 3))


@settings(max_examples=share(25), deadline=None)
@given(
    cells=GRIDS,
    order=ANY_ORDER,
    pages=st.integers(12, 40),
    resident=st.booleans(),
    objective=st.sampled_from([TRAFFIC, MAKESPAN]),
)
def test_any_order_and_any_tiles(
    cells: TileGrid, order: Order, pages: int, resident: bool, objective: Objective
) -> None:
    case = Case(cells, order.through(cells), 16 * pages, resident, objective)
    for schedule in case.schedules():
        case.check(schedule)


@settings(max_examples=share(25), deadline=None)
@given(
    cells=CONVOLUTIONS,
    order=ANY_ORDER,
    spare_pages=st.integers(0, 60),
    resident=st.booleans(),
    how=st.tuples(st.sampled_from([TRAFFIC, MAKESPAN]), st.booleans()),
)
def test_feature_maps(
    cells: TileGrid,
    order: Order,
    spare_pages: int,
    resident: bool,
    how: tuple[Objective, bool],
) -> None:
    objective, input_gradient = how
    (m, k, n), most = cells.tile.sizes, int(cells.map_elements.max())
    pages = spare_pages + sum(-(-4 * size // 16) for size in (most, k * n, m * n))
    products = order.through(cells, input_gradient=input_gradient)
    schedulers = ("belady", "residency", "double-buffer:reuse=sums")
    case = Case(cells, products, 16 * pages, resident, objective, schedulers)
    for schedule in case.schedules():
        case.check(schedule)


@pytest.mark.parametrize(("resident", "cores"), [(True, 1), (False, 1), (True, 2)])
def test_without_any_one_command_the_result_is_wrong(resident: bool, cores: int) -> None:
    cells = grid((4, 4 // cores, 4), (2, 2, 2))
    order = on_cores(cells, parse_partition(f"m/{cores}"), ORDERS["dx-major"], cores)
    case = Case(cells, order, 96 if cores > 1 else 80, resident, TRAFFIC)
    for schedule in case.schedules():
        rows = np.arange(len(schedule.commands))
        for row in rows.tolist():
            fewer = replace(schedule, commands=schedule.commands.take(rows != row))
            with pytest.raises(AssertionError):
                case.check(fewer)
