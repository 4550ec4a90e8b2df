"""The search for the best order: proved optima, and orders that a verified schedule confirms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from formulations.orders import BestOrder, optimal_order
from spmopt.core.errors import InputError
from spmopt.core.objective import TRAFFIC
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.tiles.fetches import backward
from tests.checked import need
from tests.thorough import some
from tests.tiles.brute_force import least_traffic
from tests.tiles.cases import PAGE, grid, tiles_machine
from tests.tiles.test_bounds import bound_in_tiles

Shape = tuple[int, int, int]


def moved_by_schedule(shape: Shape, spm_tiles: int, found: BestOrder) -> int:
    """Tiles that the best residency of the order moves, proved and verified."""
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    problem = backward(cells, tiles_machine(spm_tiles), found.order)
    result = solve(problem, "residency", Request(objective=TRAFFIC))
    assert result.status is Status.OPTIMAL
    assert need(result.totals).traffic_bytes % PAGE == 0
    return need(result.totals).traffic_bytes // PAGE


@pytest.mark.parametrize(
    ("shape", "both", "capacities"),
    [
        ((1, 1, 3), True, some([3, 4, 5, 6], 4)),
        *some(
            [
                ((2, 2, 2), False, [3]),
                ((1, 2, 2), True, [3]),
                ((2, 1, 2), True, [3]),
                ((2, 2, 1), True, [3]),
            ]
        ),
    ],
)
def test_equals_brute_force(shape: Shape, both: bool, capacities: Sequence[int]) -> None:
    for spm_tiles in capacities:
        found = optimal_order(shape, spm_tiles, input_gradient=both)
        assert found.optimal
        assert found.traffic_tiles == least_traffic(shape, spm_tiles, both=both)
        assert moved_by_schedule(shape, spm_tiles, found) == found.traffic_tiles


@pytest.mark.parametrize(
    ("shape", "both", "optima"),
    [
        # The first three by brute force too, in up to half a minute each.
        ((1, 2, 2), True, {5: 14}),
        ((2, 1, 2), True, {4: 14, 6: 12}),
        ((2, 2, 2), False, {4: 14, 6: 12}),
        ((2, 2, 2), True, {7: 20, 20: 20}),
        # More rows than the search lets change places, and compulsory.
        ((2, 2, 8), True, {12: 2 * (8 + 16 + 4)}),
    ],
)
def test_optima(shape: Shape, both: bool, optima: dict[int, int]) -> None:
    for spm_tiles, moved in optima.items():
        found = optimal_order(shape, spm_tiles, input_gradient=both)
        assert found.optimal
        assert found.traffic_tiles == moved == moved_by_schedule(shape, spm_tiles, found)
        assert bound_in_tiles(shape, spm_tiles, both=both) <= moved


def test_says_what_it_could_not_prove() -> None:
    found = optimal_order((3, 3, 3), 8, time_limit_s=0)
    assert not found.optimal
    assert bound_in_tiles((3, 3, 3), 8) <= 51 <= found.bound_tiles < found.traffic_tiles
    assert moved_by_schedule((3, 3, 3), 8, found) <= found.traffic_tiles
    assert sorted(found.order.tolist()) == list(range(54))


def test_same_every_time() -> None:
    one, other = (optimal_order((2, 3, 2), 6, time_limit_s=0) for _ in range(2))
    assert np.array_equal(one.order, other.order)


@pytest.mark.parametrize(
    ("shape", "spm_tiles", "message"),
    [
        ((4, 4, 4), 9, "a grid of 4x4x4 has 128 products of 80 tiles; the exact search takes 64"),
        ((10**5, 10**5, 10**5), 9, "has 2,000,000,000,000,000 products"),
        ((2, 0, 2), 9, "at least 1"),
        ((2, 2, 2), 2, "needs 3 tiles of SPM, there are 2"),
    ],
)
def test_bad_input(shape: Shape, spm_tiles: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        optimal_order(shape, spm_tiles)
