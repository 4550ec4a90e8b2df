"""Cuts of a layer: sub_layers, and the order of their products on one core."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import Order
from spmopt.tiles.partition import (
    AXIS_NAMES,
    Partition,
    parse_partition,
    partition,
    sub_layers,
)
from tests.tiles.cases import ANY_ORDER, grid

ANY_PARTITION = st.builds(Partition, axis=st.sampled_from(AXIS_NAMES), parts=st.integers(1, 5))
ANY_GRID = st.builds(grid, st.tuples(*[st.integers(1, 9)] * 3), st.tuples(*[st.integers(1, 4)] * 3))


def cut(cells: TileGrid, text: str) -> list[tuple[int, tuple[int, int, int]]]:
    """First row of tiles of each piece, and its sizes."""
    return [
        (piece.first, (piece.grid.layer.m, piece.grid.layer.k, piece.grid.layer.n))
        for piece in sub_layers(cells, parse_partition(text))
    ]


def test_pieces_are_whole_rows_of_tiles() -> None:
    cells = grid((13, 9, 4), (2, 3, 2))  # 7, 3 and 2 tiles, the last along M holds 1
    assert cut(cells, "m/3") == [(0, (6, 9, 4)), (3, (4, 9, 4)), (5, (3, 9, 4))]
    assert cut(cells, "k/2") == [(0, (13, 6, 4)), (2, (13, 3, 4))]
    assert cut(cells, "n/2") == [(0, (13, 9, 2)), (1, (13, 9, 2))]
    assert cut(cells, "n/1") == [(0, (13, 9, 4))]
    assert {piece.grid.tile for piece in sub_layers(cells, parse_partition("m/3"))} == {cells.tile}


@given(cells=ANY_GRID, order=ANY_ORDER)
def test_one_part_is_no_cut(cells: TileGrid, order: Order) -> None:
    whole = order.through(cells)
    for axis in AXIS_NAMES:
        assert np.array_equal(partition(cells, Partition(axis=axis, parts=1), order), whole)


@given(cells=ANY_GRID, cutting=ANY_PARTITION, order=ANY_ORDER, both=st.booleans())
def test_every_product_once_piece_by_piece(
    cells: TileGrid, cutting: Partition, order: Order, both: bool
) -> None:
    products = partition(cells, cutting, order, input_gradient=both)
    first = 0 if both else cells.products
    assert np.array_equal(np.sort(products), np.arange(first, 2 * cells.products))
    axis = AXIS_NAMES.index(cutting.axis)
    tiles, parts = cells.shape[axis], min(cutting.parts, cells.shape[axis])
    # Longer pieces first, none longer by more than one.
    ends = np.cumsum([tiles // parts + (piece < tiles % parts) for piece in range(parts)])
    piece = np.searchsorted(ends, cells.indices(products)[axis], side="right")
    assert (np.diff(piece) >= 0).all()
    assert piece[-1] == parts - 1


@given(cutting=ANY_PARTITION)
def test_partitions_are_text(cutting: Partition) -> None:
    assert parse_partition(str(cutting)) == cutting


@pytest.mark.parametrize("text", ["", "m", "m/", "i/2", "m/-1", "m/2/3", "M/2", "m/1000000000"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"partition '.*': write m/2, k/2 or n/2"):
        parse_partition(text)


def test_partitions_that_cannot_be() -> None:
    with pytest.raises(InputError, match="partition: 0 parts; give at least 1"):
        parse_partition("m/0")
    with pytest.raises(InputError, match="partition: axis 'i' is unknown; use m, k or n"):
        Partition(axis="i", parts=2)
