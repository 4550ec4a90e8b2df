"""The README's orders are found, and proved, again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import formulations.orders
import spmopt.tiles
from formulations.orders import optimal_order
from tests.formulations.orders.test_optimal_order import moved_by_schedule
from tests.thorough import nightly, some
from tests.tiles.test_bounds import bound_in_tiles

README = Path(formulations.orders.__file__).with_name("README.md").read_text(encoding="utf-8")
BOUNDS = Path(spmopt.tiles.__file__).with_name("BOUNDS.md").read_text(encoding="utf-8")
Shape = tuple[int, int, int]


def shape_of(text: str) -> Shape:
    i, k, j = map(int, text.split("x"))
    return i, k, j


def found() -> Iterator[tuple[Shape, int, int, int | None]]:
    """Layer, SPM, best, and the bound of what is not proved."""
    line = r"^\| (\dx\dx\d)(?:, first round alone)? \| ([\d, ]+) \| ([\d, ]+) \| (.+) \|$"
    for layer, spm, best, bound in re.findall(line, README, re.MULTILINE):
        sizes, tiles = ([int(word) for word in text.split(",")] for text in (spm, best))
        proved = bound == "the same"
        bounds = [None] * len(sizes) if proved else [int(word) for word in bound.split(",")]
        for each in zip(sizes, tiles, bounds, strict=True):
            yield (shape_of(layer), *each)


PROVED = [(shape, spm, best) for shape, spm, best, bound in found() if bound is None]
OPEN = [(shape, spm, best, bound) for shape, spm, best, bound in found() if bound is not None]


@pytest.mark.parametrize(("shape", "spm_tiles", "best"), some(PROVED, 3))
def test_proved(shape: Shape, spm_tiles: int, best: int) -> None:
    order = optimal_order(shape, spm_tiles)
    assert order.optimal
    assert order.traffic_tiles == best == moved_by_schedule(shape, spm_tiles, order)


@nightly
@pytest.mark.parametrize(("shape", "spm_tiles", "best", "bound"), OPEN)
def test_first_round(shape: Shape, spm_tiles: int, best: int, bound: int) -> None:
    order = optimal_order(shape, spm_tiles, time_limit_s=0)
    assert (order.traffic_tiles, order.bound_tiles, order.optimal) == (best, bound, False)


def test_bounds_beside_the_optima() -> None:
    table = BOUNDS.split("| tiles | SPM of 3 |")[1]
    sizes = [3, *map(int, re.findall(r"\d+", table.splitlines()[0]))]
    optima = {(shape, spm): best for shape, spm, best in PROVED}
    seen = 0
    for line in re.findall(r"^\| \dx\dx\d \|.*\|$", table, re.MULTILINE):
        layer, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for spm_tiles, cell in zip(sizes, cells, strict=True):
            if cell:
                optimum, bound = map(int, cell.split(" / "))
                shape, seen = shape_of(layer), seen + 1
                assert bound_in_tiles(shape, spm_tiles) == bound
                assert optima.get((shape, spm_tiles), optimum) == optimum
    assert seen > 10
