"""What the orders move at best, in tiles; equal tiles of one page each."""

from __future__ import annotations

import pytest

from spmopt.core.objective import TRAFFIC
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.tiles.fetches import backward
from spmopt.tiles.order import ORDERS
from tests.tiles.cases import PAGE, grid, tiles_machine


def tiles_moved(name: str, shape: tuple[int, int, int], spm_tiles: int) -> int:
    """Tiles that the best residency of an order moves, proved to be the least."""
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    problem = backward(cells, tiles_machine(spm_tiles), ORDERS[name].through(cells))
    result = solve(problem, "residency", Request(objective=TRAFFIC))
    assert result.status is Status.OPTIMAL
    assert result.value is not None
    assert result.value % PAGE == 0
    return int(result.value) // PAGE


@pytest.mark.parametrize(
    ("name", "moved"),
    [("sequential", 308), ("interleaved", 349), ("dx-major", 224), ("dw-major", 498)],
)
def test_of_a_tall_layer(name: str, moved: int) -> None:
    # dX-major moves every tile once: dY and X and dX 16 x 4, W and dW 4 x 4.
    assert tiles_moved(name, (16, 4, 4), 64) == moved
    assert moved >= 3 * 64 + 2 * 16


def test_sequential_beats_interleaving_on_a_cube() -> None:
    assert tiles_moved("sequential", (8, 8, 8), 16) == 1183
    assert tiles_moved("interleaved", (8, 8, 8), 16) == 1364
