"""Tiles chosen for the scratchpad, against every tile that there is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine, SystolicArray
from spmopt.core.table import Ints
from spmopt.hardware.machines import load_machine
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.order import ORDERS
from spmopt.tiles.partition import Partition, partition
from spmopt.tiles.tiling import HalfSpm, TileChoice, axis_sizes, choose_tile, evaluate, tile_space
from spmopt.tiles.window import Window
from tests.thorough import THOROUGH, some
from tests.tiles.cases import machine
from tests.tiles.maps import convolution

NAMES = list(ORDERS)


def best_of_all(layer: Layer, spm: Machine, name: str) -> tuple[int, int]:
    """Least makespan, then traffic, over all sizes whose products fit in half of the SPM."""
    pages, found = spm.spm_pages // 2, []
    for m, k, n in product(*(range(1, size + 1) for size in (layer.m, layer.k, layer.n))):
        if sum(-(-4 * area // spm.page_bytes) for area in (m * k, k * n, m * n)) <= pages:
            cells = TileGrid(layer=layer, tile=Tile(m=m, k=k, n=n))
            figures = evaluate(cells, spm, ORDERS[name].through(cells))
            found.append((figures.makespan_cycles, figures.traffic_bytes))
    return min(found)


def value(choice: TileChoice) -> tuple[int, int]:
    return choice.figures.makespan_cycles, choice.figures.traffic_bytes


def drawn(seed: int, largest: int) -> tuple[Layer, Machine, str]:
    """A small layer, a machine and an order."""
    draw = np.random.default_rng(seed)
    m, k, n = draw.integers(1, largest + 1, 3).tolist()
    array = SystolicArray(rows=2 + seed % 2, columns=2) if largest > 3 else None
    spm = machine(int(draw.integers(160, 700)), page_bytes=4 + 12 * (seed % 2), array=array)
    return Layer(name=f"layer{seed}", m=m, k=k, n=n), spm, NAMES[seed % 4]


@pytest.mark.parametrize("seed", some(range(24)))
def test_exact_where_all_sizes_are_candidates(seed: int) -> None:
    # Each of 1, 2 and 3 is the least size for some number of tiles.
    layer, spm, name = drawn(seed, 3)
    assert value(choose_tile(layer, spm, order=ORDERS[name].through)) == best_of_all(
        layer, spm, name
    )


def test_close_where_they_are_not() -> None:
    # Over 136 drawn like these: 92 % exact, mean 0.2 %, worst 8.7 %; by search 0.3 and 11.4 %.
    lost, searched = [], []
    for seed in some(range(12)):
        layer, spm, name = drawn(seed, 7)
        best, _ = best_of_all(layer, spm, name)
        thorough = choose_tile(layer, spm, order=ORDERS[name].through, thorough=True)
        choice = choose_tile(layer, spm, order=ORDERS[name].through)
        assert best <= value(thorough)[0] <= value(choice)[0]
        lost.append(value(thorough)[0] / best - 1)
        searched.append(value(choice)[0] / best - 1)
    assert sum(loss == 0 for loss in lost) >= len(lost) - 1
    assert max(lost) < 0.09
    assert max(searched) < 0.12


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_search_finds_what_all_candidates_hold(name: str) -> None:
    layer, npu = Layer(name="res5_1x1", m=4 * 49, k=512, n=1024), load_machine("small-npu")
    found, best = (
        choose_tile(layer, npu, order=ORDERS[name].through, thorough=thorough)
        for thorough in (False, True)
    )
    assert found.tile == best.tile
    assert found.figures == best.figures
    assert found.tried < 0.4 * best.tried
    assert best.tried == best.candidates == found.candidates
    assert choose_tile(layer, npu, order=ORDERS[name].through) == found


def test_by_traffic() -> None:
    layer = Layer(name="res4_3x3", m=4 * 196, k=2304, n=256)
    npu = load_machine("small-npu")
    by_time, by_traffic = (
        choose_tile(
            layer, npu, order=ORDERS["dw-major"].through, objective=objective, thorough=THOROUGH
        )
        for objective in ("time", "traffic")
    )
    assert by_time.figures.makespan_cycles < by_traffic.figures.makespan_cycles
    assert by_time.figures.traffic_bytes > by_traffic.figures.traffic_bytes


def test_of_partitions_and_without_dx() -> None:
    layer, npu = Layer(name="res5_1x1", m=196, k=512, n=2048), load_machine("small-npu")
    cut, order = Partition(axis="k", parts=2), ORDERS["dx-major"]

    def through(grid: TileGrid) -> Ints:
        return partition(grid, cut, order)

    choice = choose_tile(layer, npu, order=through)
    cells = TileGrid(layer=layer, tile=choice.tile)
    assert choice.figures == evaluate(cells, npu, through(cells))
    alone = choose_tile(layer, npu, order=partial(order.through, input_gradient=False))
    cells = TileGrid(layer=layer, tile=alone.tile)
    products = order.through(cells, input_gradient=False)
    assert alone.figures == evaluate(cells, npu, products)
    assert alone.figures.traffic_bytes < choice.figures.traffic_bytes


def test_cores_share_the_half() -> None:
    npu = load_machine("small-npu")
    layer = Layer(name="a", m=1000, k=1000, n=1000)
    one, two = (HalfSpm(layer=layer, machine=npu, element_bytes=4, cores=cores) for cores in (1, 2))
    assert one.has((180, 180, 180))
    assert not two.has((180, 180, 180))
    # Three tiles of a page just fit in half of six.
    for pages, fits in ((6, True), (5, False)):
        small = machine(4 * pages, page_bytes=4)
        just = HalfSpm(layer=layer, machine=small, element_bytes=4, cores=1)
        assert just.has((1, 1, 1)) is fits
    # dY twice the pages of W and X: a pair has all but dY twice.
    assert one.has((200, 100, 300))
    assert not one.has((200, 100, 300), pair=True)


def test_sizes_along_an_axis() -> None:
    # One tile, two of 100, three of 67, four of 50, five of 40: in multiples of 45.
    assert axis_sizes(200, (45,)) == (45, 90, 135, 200)
    assert axis_sizes(45, (45,)) == (45,)
    assert axis_sizes(7, (45,)) == (7,)
    assert axis_sizes(9, (1,)) == (1, 2, 3, 5, 9)
    assert axis_sizes(12, (4, 6)) == (4, 6, 8, 12)


def test_sizes_without_an_array_are_few() -> None:
    layer = Layer(name="long", m=50176, k=64, n=3)
    room = HalfSpm(layer=layer, machine=machine(10**6), element_bytes=4, cores=1)
    space = tile_space(room)
    assert max(map(len, space.axes)) <= 32
    assert space.axes[0][0] == 1024
    assert space.axes[2] == (1, 2, 3)


def test_tiles_below_an_array_where_no_others_fit() -> None:
    spm = machine(4000, page_bytes=16, array=SystolicArray(rows=45, columns=45))
    choice = choose_tile(
        Layer(name="fc", m=100, k=100, n=100), spm, order=ORDERS["sequential"].through
    )
    # 45 is halved to 22 and 11: three tiles of 11 x 11 take 1,488 of 2,000 bytes.
    assert min(choice.tile.m, choice.tile.k, choice.tile.n) == 11


def test_nothing_fits() -> None:
    layer = Layer(name="fc1", m=4, k=4, n=4)
    with pytest.raises(InputError) as error:
        choose_tile(layer, machine(320), order=ORDERS["sequential"].through)
    assert str(error.value) == (
        "layer fc1: no tile fits in half of the SPM, 2 pages of 64 bytes; give a larger --spm or "
        "a smaller --page"
    )


def test_unknown_objective() -> None:
    with pytest.raises(InputError, match="'energy': tiles are chosen by time or traffic"):
        choose_tile(
            Layer(name="fc", m=4, k=4, n=4),
            machine(900),
            order=ORDERS["sequential"].through,
            objective="energy",
        )


def test_a_feature_map_takes_its_own_room() -> None:
    """A tile that fits as elements of the map, not as the im2col matrix, is one of the choices."""
    window = Window(image=(8, 8), kernel=(3, 3), output=(8, 8), padding=(1, 1))
    cells = convolution(window, 2, 4, 8, (64, 36, 8))
    (largest,) = {*cells.map_elements.reshape(-1).tolist()}
    assert largest == 4 * 8 * 8
    pages = largest + 36 * 8 + 64 * 8
    for spare, fits in ((0, True), (-1, False)):
        small = machine(4 * 2 * (pages + spare), page_bytes=4)
        half = HalfSpm(layer=cells.layer, machine=small, element_bytes=4, cores=1)
        assert half.has((64, 36, 8)) is fits
        assert ((64, 36, 8) in tile_space(half).tiles) is fits
        matrix = replace(half, layer=replace(cells.layer, window=None))
        assert not matrix.has((64, 36, 8))
