"""The bound over all orders: never above an optimum or a schedule, and how near it comes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.machine import Machine
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import find
from spmopt.tiles.bounds import least_touched, makespan_bound, traffic_bound
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import ORDERS, Order
from spmopt.tiles.window import Window
from tests.policies.owed import residency_plan_of, totals
from tests.thorough import share, some
from tests.tiles.brute_force import least_traffic
from tests.tiles.cases import ANY_ORDER, PAGE, grid, machine, tiles_machine
from tests.tiles.maps import CONVOLUTIONS, convolution


def computing_of(problem: Problem) -> int:
    return sum(operation.mappings[0].compute_cycles for operation in problem.operations)


def bound_in_tiles(shape: tuple[int, int, int], spm_tiles: int, *, both: bool = True) -> int:
    """The bound for a layer of equal tiles."""
    i, k, j = shape
    cells = grid((4 * i, 4 * k, 4 * j), (4, 4, 4))
    bound = traffic_bound(cells, tiles_machine(spm_tiles), input_gradient=both).size_bytes
    assert bound % PAGE == 0
    return bound // PAGE


each_tiny_layer = pytest.mark.parametrize(
    ("shape", "spm_tiles", "both"),
    some(
        [
            ((1, 1, 3), 3, True),
            ((1, 1, 3), 4, True),
            ((1, 2, 2), 3, True),
            ((2, 1, 2), 3, True),
            ((2, 2, 1), 3, True),
            ((2, 2, 2), 3, False),
            ((1, 1, 3), 5, True),
            ((1, 1, 3), 6, True),
        ],
        3,
    ),
)


@each_tiny_layer
def test_never_above_the_optimum(shape: tuple[int, int, int], spm_tiles: int, both: bool) -> None:
    assert bound_in_tiles(shape, spm_tiles, both=both) <= least_traffic(shape, spm_tiles, both=both)


def test_of_a_cube() -> None:
    # 18 phases: 16 of 57 products, 2 of 56; both touch 45 tiles at least, and find 16 of them.
    assert bound_in_tiles((8, 8, 8), 16) == 18 * 45 - 17 * 16 + 2 - 4
    assert bound_in_tiles((16, 4, 4), 64) == 3 * 64 + 2 * 16


def test_compulsory_where_all_fits() -> None:
    cells = grid((7, 5, 9), (2, 2, 2))
    found = traffic_bound(cells, machine(10**6), element_bytes=2)
    assert found.size_bytes == found.compulsory_bytes == 2 * (63 + 2 * 35 + 2 * 45)
    alone = traffic_bound(cells, machine(10**6), element_bytes=2, input_gradient=False)
    assert alone.size_bytes == 2 * (63 + 35 + 45)


@settings(max_examples=share(40), deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 14)] * 3),
    tile=st.tuples(*[st.integers(1, 5)] * 3),
    order=ANY_ORDER,
    spare_pages=st.integers(0, 12),
    how=st.tuples(st.booleans(), st.booleans()),
)
def test_never_above_a_schedule(
    sizes: tuple[int, int, int],
    tile: tuple[int, int, int],
    order: Order,
    spare_pages: int,
    how: tuple[bool, bool],
) -> None:
    resident, both = how
    cells = grid(sizes, tile)
    largest = max(tile[a] * tile[b] * 4 for a, b in ((0, 1), (1, 2), (0, 2)))
    small = machine((3 * -(-largest // 16) + spare_pages) * 16, page_bytes=16)
    problem = backward(cells, small, order.through(cells, input_gradient=both), resident=resident)
    bound = traffic_bound(cells, small, input_gradient=both)
    cycles = makespan_bound(small, computing_of(problem), bound.size_bytes)
    for name in ("stream", "belady:granularity=page"):
        found = totals(
            problem, residency_plan_of(find(name).load()(problem, Request(objective=TRAFFIC)))
        )
        assert found.traffic_bytes >= bound.size_bytes
        assert found.makespan_cycles >= cycles


@settings(max_examples=share(20), deadline=None)
@given(cells=CONVOLUTIONS, both=st.booleans())
def test_what_is_compulsory_of_a_feature_map(cells: TileGrid, both: bool) -> None:
    small = machine(10**6, page_bytes=16)
    problem = backward(cells, small, ORDERS["dx-major"].through(cells, input_gradient=both))
    found = traffic_bound(cells, small, input_gradient=both)
    assert found.size_bytes == found.compulsory_bytes
    assert found.compulsory_bytes == sum(tensor.size_bytes for tensor in problem.tensors)


def little_room(generator: np.random.Generator, both: bool) -> tuple[TileGrid, Machine]:
    """A convolution in so many tiles, and so small an SPM, that the bound is not the compulsory."""
    while True:
        kernel, strides, padding, image = (
            tuple(generator.integers(low, high, 2).tolist())
            for low, high in ((1, 4), (1, 4), (0, 3), (3, 8))
        )
        sides = zip(image, padding, kernel, strides, strict=True)
        window = Window(
            image=image,
            kernel=kernel,
            output=tuple(max(1, (i + 2 * p - k) // s + 1) for i, p, k, s in sides),
            strides=strides,
            padding=padding,
        )
        images, channels, filters, *tile = generator.integers(
            (1, 1, 4, 2, 2, 1), (4, 5, 17, 9, 9, 6)
        ).tolist()
        cells = convolution(window, images, channels, filters, (tile[0], tile[1], tile[2]))
        (m, k, n), most = cells.tile.sizes, int(cells.map_elements.max())
        pages = sum(-(-4 * size // 16) for size in (most, k * n, m * n))
        duplex = bool(generator.integers(0, 2))
        small = replace(machine(16 * (pages + 2), page_bytes=16), duplex=duplex)
        found = traffic_bound(cells, small, input_gradient=both)
        if cells.products <= 120 and found.size_bytes > found.compulsory_bytes:
            return cells, small


@pytest.mark.parametrize("seed", some(range(8)))
def test_never_above_a_schedule_of_a_feature_map(seed: int) -> None:
    generator, both = np.random.default_rng(seed), seed % 4 > 0
    cells, small = little_room(generator, both)
    bound = traffic_bound(cells, small, input_gradient=both).size_bytes
    for order in (
        cells.products * (not both) + generator.permutation((1 + both) * cells.products),
        ORDERS["interleaved"].through(cells, input_gradient=both),
    ):
        for resident, policy in ((True, "double-buffer:reuse=sums"), (False, "stream")):
            problem = backward(cells, small, order, resident=resident)
            cycles = makespan_bound(small, computing_of(problem), bound)
            for name in (policy, "belady:granularity=page"):
                residency_plan = residency_plan_of(
                    find(name).load()(problem, Request(objective=TRAFFIC))
                )
                found = totals(problem, residency_plan)
                assert found.traffic_bytes >= bound
                assert found.makespan_cycles >= cycles


@settings(max_examples=share(30), deadline=None)
@given(cells=CONVOLUTIONS.filter(lambda cells: cells.products <= 5), deep=st.integers(1, 2))
def test_every_set_of_products_touches_as_much(cells: TileGrid, deep: int) -> None:
    """Step by step as the proof says, with the least share of any tile of X."""
    rows, inner, columns = cells.sides
    share = (cells.map_elements / np.multiply.outer(rows, inner)).min()
    box = (cells.layer.m, cells.layer.n / share, deep * cells.layer.k)
    products = list(product(range(deep), *map(range, cells.shape)))
    for chosen in range(1, 2 ** len(products)):
        own = [each for number, each in enumerate(products) if chosen >> number & 1]
        touched = sum(rows[i] * columns[j] for i, j in {(i, j) for _, i, _, j in own})
        touched += sum(inner[k] * columns[j] for _, k, j in {(d, k, j) for d, _, k, j in own})
        touched += sum(cells.map_elements[i, k] for _, i, k in {(d, i, k) for d, i, k, _ in own})
        volume = np.array(sum(rows[i] * inner[k] * columns[j] for _, i, k, j in own) / share)
        assert share * least_touched(volume, box) <= touched * (1 + 1e-9)


@each_tiny_layer
def test_never_above_the_optimum_of_a_feature_map(
    shape: tuple[int, int, int], spm_tiles: int, both: bool
) -> None:
    # A row of 4 under 4 windows of 4: every tile has 4 elements, X in place of 4 x 4.
    window = Window(image=(1, 4), kernel=(1, 4), output=(1, 4), padding=(0, 1))
    images, channels, filters = shape
    cells = convolution(window, images, channels, filters, (4, 4, 1))
    assert set(cells.map_elements.reshape(-1).tolist()) == {4}
    small = machine(16 * spm_tiles, page_bytes=16)
    bound = traffic_bound(cells, small, input_gradient=both).size_bytes
    assert bound <= 16 * least_traffic(shape, spm_tiles, both=both)


def test_of_many_tiles_of_a_feature_map() -> None:
    """Above what is compulsory: of a share of 1/4 of X and dX."""
    window = Window(image=(1, 4), kernel=(1, 4), output=(1, 4), padding=(0, 1))
    cells = convolution(window, 64, 64, 256, (4, 4, 1))
    found = traffic_bound(cells, machine(16 * 64, page_bytes=16))
    assert found.compulsory_bytes == 16 * (64 * 256 + 2 * 64 * 64 + 2 * 64 * 256)
    assert found.size_bytes > 4 * found.compulsory_bytes


@pytest.mark.parametrize("box", [(2, 2, 2), (3, 2, 2), (1, 3, 4), (1, 2, 5)])
def test_least_touched_is_below_every_set(box: tuple[int, int, int]) -> None:
    cells = list(product(*map(range, box)))
    least = np.full(len(cells) + 1, 10**6)
    for chosen in range(1, 2 ** len(cells)):
        places = [cell for number, cell in enumerate(cells) if chosen >> number & 1]
        faces = [{(c[a], c[b]) for c in places} for a, b in ((0, 1), (1, 2), (0, 2))]
        least[len(places)] = min(least[len(places)], sum(map(len, faces)))
    volumes = np.arange(1.0, len(cells) + 1)
    assert (least_touched(volumes, box) <= least[1:] + 1e-9).all()
    assert least_touched(volumes, box)[-1] == pytest.approx(least[-1])


@given(box=st.tuples(*[st.integers(1, 30)] * 3))
def test_least_touched_is_concave(box: tuple[int, int, int]) -> None:
    # What the bound for ragged tiles rests on.
    found = least_touched(np.linspace(0, 1.2 * prod(box), 200), box)
    assert (np.diff(found, 2) <= 1e-7).all()


def test_time_of_both_channels() -> None:
    cells = grid((4, 4, 4), (4, 4, 4))
    for duplex, cycles in ((False, 5), (True, 3)):
        problem = backward(cells, tiles_machine(3, duplex=duplex), np.arange(2))
        computing = computing_of(problem)
        assert makespan_bound(problem.machine, computing, 5 * PAGE) == cycles
        assert makespan_bound(problem.machine, computing, 0) == computing == 2
