"""Orders of both gradients, and the choice by aspect ratio."""

from __future__ import annotations

import pytest

from spmopt.core.table import Ints
from spmopt.tiles.layer import Layer
from spmopt.tiles.order import ORDERS, algorithm_1
from tests.tiles.cases import grid

GRID = grid((3, 4, 5), (1, 1, 1))


def dy_tiles(products: Ints) -> list[tuple[int, int]]:
    """(i, j) of the tile of dY that each product reads."""
    i, _, j = GRID.indices(products)
    return list(zip(i.tolist(), j.tolist(), strict=True))


def layer(m: int, k: int, n: int) -> Layer:
    return Layer(name="fc", m=m, k=k, n=n)


@pytest.mark.parametrize(("name", "line"), [("dx-major", 0), ("dw-major", 1)])
def test_rearrangement_shares_dy(name: str, line: int) -> None:
    order = ORDERS[name].through(GRID)
    tiles = dy_tiles(order[::2])
    assert tiles == dy_tiles(order[1::2])
    # One row of dY after another, or one column.
    lines = [tile[line] for tile in tiles]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ((100, 100, 100), "interleaved"),
        ((399, 100, 200), "interleaved"),
        ((400, 100, 200), "dx-major"),
        ((100, 400, 200), "dw-major"),
        ((100, 200, 400), "dx-major"),
        ((100, 400, 400), "dx-major"),
        ((400, 400, 100), "dx-major"),
        ((1, 1, 1), "interleaved"),
        ((1, 5, 1), "dw-major"),
    ],
)
def test_algorithm_1(sizes: tuple[int, int, int], name: str) -> None:
    assert algorithm_1(layer(*sizes)) == name
