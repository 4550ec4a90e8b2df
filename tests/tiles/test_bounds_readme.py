"""The tables of the README are what the orders move."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import pytest

import spmopt.tiles
from spmopt.core.objective import TRAFFIC
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.tiles.fetches import backward
from spmopt.tiles.order import ORDERS, parse_order
from tests.thorough import some
from tests.tiles.cases import PAGE, grid, tiles_machine
from tests.tiles.test_bounds import bound_in_tiles

README = Path(spmopt.tiles.__file__).with_name("BOUNDS.md").read_text(encoding="utf-8")
LINES = sorted(
    re.findall(r"^\| (\d+)x(\d+)x(\d+), (\d+) \|(.*)\|$", README, re.MULTILINE),
    key=lambda line: prod(map(int, line[:3])),
)


def moved(shape: tuple[int, int, int], spm_tiles: int, order: str) -> int:
    """Tiles under the best residency, proved."""
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    products = parse_order(order, cells.layer).through(cells)
    result = solve(
        backward(cells, tiles_machine(spm_tiles), products), "residency", Request(objective=TRAFFIC)
    )
    assert result.status is Status.OPTIMAL
    assert result.totals is not None
    return result.totals.traffic_bytes // PAGE


@pytest.mark.parametrize("line", some(LINES, 5), ids=lambda line: ",".join(line[:4]))
def test_what_orders_move(line: tuple[str, ...]) -> None:
    i, k, j, spm_tiles = map(int, line[:4])
    *named, good, bound, gap, order = (cell.strip(" `") for cell in line[4].split("|"))
    for name, cell in zip(ORDERS, named, strict=True):
        if cell:
            assert moved((i, k, j), spm_tiles, name) == int(cell), name
    assert moved((i, k, j), spm_tiles, order) == int(good)
    assert bound_in_tiles((i, k, j), spm_tiles) == int(bound)
    above = f"{100 * (int(good) / int(bound) - 1):.0f}"
    assert gap == (above if above == "0" else f"{above} %")


def test_what_blocks_save() -> None:
    saved = []
    for line in LINES:
        *named, good, _, _, _ = (cell.strip() for cell in line[4].split("|"))
        if line[:3] == ("8", "8", "8"):
            saved.append(1 - int(good) / min(map(int, named)))
    assert f"{100 * min(saved):.0f} to {100 * max(saved):.0f} % less than the best" in README
