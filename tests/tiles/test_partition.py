"""Cuts of a layer: sub_layers, and the order of their products on one core."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.tiles.layer import Layer, TileGrid
from spmopt.tiles.order import ORDERS, Order, algorithm_1
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


def test_there_are_no_more_pieces_than_rows_of_tiles() -> None:
    cells = grid((5, 9, 4), (2, 3, 2))
    assert cut(cells, "m/4") == cut(cells, "m/3")
    assert cut(cells, "m/4") == [(0, (2, 9, 4)), (1, (2, 9, 4)), (2, (1, 9, 4))]


def test_one_piece_after_another() -> None:
    cells = grid((2, 1, 3), (1, 1, 1))
    # Numbers 0 to 5 are dX(i,0,j) by rows, 6 to 11 dW.
    assert partition(cells, parse_partition("m/2"), ORDERS["dx-major"]).tolist() == [
        *(0, 6, 1, 7, 2, 8),
        *(3, 9, 4, 10, 5, 11),
    ]
    assert partition(cells, parse_partition("n/2"), ORDERS["sequential"]).tolist() == [
        *(0, 1, 3, 4, 6, 9, 7, 10),
        *(2, 5, 8, 11),
    ]


def test_every_size_of_pieces_may_choose_its_order() -> None:
    cells = grid((2, 6, 3), (1, 1, 1))
    seen: list[tuple[int, int, int]] = []

    def choose(layer: Layer) -> Order:
        seen.append((layer.m, layer.k, layer.n))
        return ORDERS[algorithm_1(layer)]

    order = partition(cells, parse_partition("k/4"), choose)
    assert seen == [(2, 2, 3), (2, 1, 3)]
    # Nearly square: walks of their own; a quarter of K less is nearly square too.
    assert (
        order.tolist() == partition(cells, parse_partition("k/4"), ORDERS["interleaved"]).tolist()
    )
    whole = partition(cells, parse_partition("k/1"), choose)
    assert whole.tolist() == ORDERS["interleaved"].through(cells).tolist()


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


def test_text_of_a_partition() -> None:
    assert str(Partition(axis="k", parts=8)) == "k/8"


@pytest.mark.parametrize("text", ["", "m", "m/", "i/2", "m/-1", "m/2/3", "M/2", "m/1000000000"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"partition '.*': write m/2, k/2 or n/2"):
        parse_partition(text)


def test_partitions_that_cannot_be() -> None:
    with pytest.raises(InputError, match="partition: 0 parts; give at least 1"):
        parse_partition("m/0")
    with pytest.raises(InputError, match="partition: axis 'i' is unknown; use m, k or n"):
        Partition(axis="i", parts=2)
