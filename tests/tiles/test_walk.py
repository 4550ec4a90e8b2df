"""Walks against loops written out."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.tiles.layer import Tile, TileGrid
from spmopt.tiles.order import LOOPS, Walk
from tests.tiles.cases import grid

Shape = tuple[int, int, int]
SHAPES = st.tuples(*[st.integers(1, 5)] * 3)
NESTS = st.sampled_from(LOOPS)


def steps(walk: Walk, shape: Shape) -> list[Shape]:
    """(i, k, j) of each step."""
    cells = grid(shape, (1, 1, 1))
    return list(zip(*(index.tolist() for index in cells.indices(walk.through(cells))), strict=True))


def nested(loops: str, ranges: dict[str, range]) -> list[Shape]:
    """(i, k, j) of each step of a plain nest of loops."""
    found = []
    for values in product(*(ranges[loop] for loop in loops)):
        at = dict(zip(loops, values, strict=True))
        found.append((at["i"], at["k"], at["j"]))
    return found


def test_the_six_loop_orders() -> None:
    assert sorted(LOOPS) == sorted("".join(loops) for loops in permutations("ikj"))


@given(SHAPES, NESTS)
def test_plain_walks_are_nests_of_loops(shape: Shape, loops: str) -> None:
    ranges = dict(zip("ikj", map(range, shape), strict=True))
    assert steps(Walk(loops=loops), shape) == nested(loops, ranges)


@given(SHAPES, NESTS, SHAPES, NESTS)
def test_blocks_are_walked_one_after_another(
    shape: Shape, loops: str, block: Shape, blocks: str
) -> None:
    starts = {
        axis: range(0, length, step) for axis, length, step in zip("ikj", shape, block, strict=True)
    }
    expected = [
        cell
        for corner in nested(blocks, starts)
        for cell in nested(
            loops,
            {
                axis: range(at, min(at + step, length))
                for axis, at, step, length in zip("ikj", corner, block, shape, strict=True)
            },
        )
    ]
    assert steps(Walk(loops=loops, block=block, blocks=blocks), shape) == expected


@given(SHAPES, NESTS)
def test_boustrophedon_moves_by_one_tile(shape: Shape, loops: str) -> None:
    walked = np.array(steps(Walk(loops=loops, boustrophedon=True), shape))
    assert (np.abs(np.diff(walked, axis=0)).sum(axis=1) == 1).all()
    # The outermost loop is never entered anew, so it never turns.
    assert (np.diff(walked[:, "ikj".index(loops[0])]) >= 0).all()


@given(SHAPES, NESTS, SHAPES, NESTS, st.booleans())
def test_every_walk_is_a_permutation(
    shape: Shape, loops: str, block: Shape, blocks: str, turns: bool
) -> None:
    walk = Walk(loops=loops, block=block, blocks=blocks, boustrophedon=turns)
    numbers = walk.through(grid(shape, (1, 1, 1)))
    assert np.array_equal(np.sort(numbers), np.arange(np.prod(shape)))


def test_numbers_are_those_of_the_grid() -> None:
    cells: TileGrid = grid((5, 4, 7), (2, 4, 3))
    assert (cells.shape, cells.products) == ((3, 1, 3), 9)
    assert [side.tolist() for side in cells.sides] == [[2, 2, 1], [4], [3, 3, 1]]
    i, k, j = cells.indices(np.array([0, 5, 9 + 7]))
    assert (i.tolist(), k.tolist(), j.tolist()) == ([0, 1, 2], [0, 0, 0], [0, 2, 1])


def test_bad_walks_are_refused() -> None:
    with pytest.raises(InputError, match="walk: loops 'iij' are unknown; use ikj, ijk, kij"):
        Walk(loops="iij")
    with pytest.raises(InputError, match="walk: loops 'x' are unknown"):
        Walk(loops="ikj", block=(1, 1, 1), blocks="x")
    with pytest.raises(InputError, match="walk: loops 'jki' over blocks, but no block; give"):
        Walk(loops="ikj", blocks="jki")
    with pytest.raises(InputError, match=r"walk: block \(1, 0, 1\); every size must be at least 1"):
        Walk(loops="ikj", block=(1, 0, 1))
    with pytest.raises(InputError, match="tile: k is 0; every size must be at least 1"):
        Tile(m=1, k=0, n=1)
