"""One case: the figures are those of the same problem solved directly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.api.gradient_tables import table
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import find
from spmopt.solving import solve
from spmopt.tiles.bounds import makespan_bound, traffic_bound
from spmopt.tiles.case import LayerCase
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.order import ORDERS, algorithm_1
from spmopt.tiles.partition import Partition, on_cores, scale
from spmopt.tiles.records import record
from spmopt.tiles.run import MATRICES, run, total
from spmopt.tiles.tiling import choose_tile
from tests.thorough import nightly
from tests.tiles.asked import LAYER, case, machine


@pytest.mark.parametrize(
    ("replacement", "reuse"),
    [
        ("double-buffer", "shared"),
        ("double-buffer:reuse=none", "none"),
        ("lru", "shared"),
        ("belady", "shared"),
        ("residency", "shared"),
    ],
)
def test_equal_to_the_problem_solved_directly(replacement: str, reuse: str) -> None:
    asked = case(order="dx-major", replacement=replacement, tolerance=1e-2)
    row = run(asked)
    tile = choose_tile(LAYER, machine(), order=ORDERS["dx-major"].through, reuse=reuse).tile
    assert row.ran == replace(asked, tile=tile)
    grid = TileGrid(layer=LAYER, tile=tile)
    problem = backward(grid, machine(), ORDERS["dx-major"].through(grid))
    result = solve(problem, replacement, Request(tolerance=1e-2, threads=1))
    totals, cost = result.totals, row.cost
    assert totals is not None
    assert (cost.dram_in_bytes, cost.dram_out_bytes) == (
        totals.dram_in_bytes,
        totals.dram_out_bytes,
    )
    assert cost.makespan_cycles == totals.makespan_cycles
    assert cost.compute_cycles == totals.compute_cycles
    assert cost.dma_cycles == totals.dma_cycles
    least = traffic_bound(grid, machine())
    assert cost.traffic_bound_bytes == least.size_bytes
    assert cost.makespan_bound_cycles == makespan_bound(
        machine(), totals.compute_cycles, least.size_bytes
    )
    assert cost.products == 2 * grid.products == len(problem.operations)
    if replacement == "residency":
        assert cost.order_bound == result.bound
        assert row.status is result.status
        assert cost.order_gap("time") == result.gap
    else:
        assert cost.order_bound is None
        assert row.status is Status.FEASIBLE


def test_matrices_by_hand() -> None:
    """All of the layer fits: each matrix crosses once, in its direction."""
    layer = Layer(name="small", m=20, k=30, n=40)
    cost = run(case(layer=layer)).cost
    assert dict(zip(MATRICES, cost.read_bytes, strict=True)) == {
        "dY": 4 * 20 * 40,
        "X": 4 * 20 * 30,
        "W": 4 * 30 * 40,
        "dX": 0,
        "dW": 0,
    }
    assert cost.written_bytes == (0, 0, 0, 4 * 20 * 30, 4 * 30 * 40)
    assert cost.traffic_bytes == cost.compulsory_bytes == cost.traffic_bound_bytes
    assert cost.gap == 0


def test_a_first_layer_needs_neither_w_nor_dx() -> None:
    cost = run(case(input_gradient=False, order="dw-major")).cost
    moved = cost
    assert all(moved.read_bytes[MATRICES.index(name)] == 0 for name in ("W", "dX"))
    assert moved.written_bytes[MATRICES.index("dX")] == 0
    assert moved.written_bytes[MATRICES.index("dW")] >= 4 * LAYER.k * LAYER.n
    assert cost.compulsory_bytes == 4 * (160 * 90 + 160 * 300 + 300 * 90)


def test_groups_multiply() -> None:
    one = run(case(layer=replace(LAYER, groups=1))).cost
    assert run(case(layer=replace(LAYER, groups=7))).cost == total([(7, one)])
    assert total([(3, one)]) == total([(1, one), (2, one)])


@pytest.mark.parametrize(
    ("objective", "replacement"),
    [("time", "double-buffer"), ("traffic", "lru"), ("time", "belady:granularity=page")],
)
def test_best_is_the_best_of_the_named(objective: str, replacement: str) -> None:
    asked = case(objective=objective, replacement=replacement)
    rows = [run(replace(asked, order=order)) for order in ORDERS]
    best = run(replace(asked, order="best"))
    assert best.value == min(row.value for row in rows)
    assert best.ran.order == min(rows, key=lambda row: row.value).ran.order


def test_algorithm_1_says_what_it_chose() -> None:
    row = run(case(order="algorithm-1"))
    assert row.case.order == "algorithm-1"
    assert row.ran.order == algorithm_1(LAYER)


def test_a_given_tile_is_kept_within_the_layer() -> None:
    row = run(case(tile=Tile(m=45, k=1000, n=45)))
    assert row.ran.tile == Tile(m=45, k=300, n=45)
    assert row.ran.grid.shape == (4, 1, 2)


@pytest.mark.parametrize("add_early", [False, True])
def test_cores_take_pieces(add_early: bool) -> None:
    both = scale(machine(), 2)
    asked = case(
        machine=both, cores=2, partition="m/2", tile=Tile(m=45, k=90, n=45), add_early=add_early
    )
    row = run(asked)
    grid = asked.grid
    order = on_cores(grid, Partition(axis="m", parts=2), ORDERS["sequential"], 2)
    problem = backward(grid, both, order, add_early=add_early)
    totals = solve(problem, "double-buffer", Request(threads=1)).totals
    assert totals is not None
    assert row.cost.makespan_cycles == totals.makespan_cycles
    # Partial tiles are of dW: nothing is lost.
    assert row.cost.traffic_bytes == totals.traffic_bytes
    assert row.cost.traffic_bound_bytes == row.cost.compulsory_bytes
    assert row.cost.time_gap >= 0


@pytest.mark.parametrize(("cores", "said"), [(1, ()), (8, ("m/4, 4 of 8 cores stay idle",))])
def test_parts_are_those_made(cores: int, said: tuple[str, ...]) -> None:
    """Four rows of tiles along M cannot be cut into 16 parts."""
    asked = case(
        machine=scale(machine(), cores),
        cores=cores,
        partition="m/16",
        tile=Tile(m=45, k=90, n=45),
    )
    row, four = run(asked), run(replace(asked, partition="m/4"))
    assert (row.case.partition, row.ran.partition) == ("m/16", "m/4")
    assert row.cost == four.cost
    assert row.notes == four.notes == tuple(f"cut into {each}" for each in said)
    (shown,) = table([record(row)], ()).rows
    assert "m/16: m/4" in shown
    assert record(row)["partition_run"] == "m/4"


@nightly
def test_page_cut_short_is_no_worse_than_double_buffering() -> None:
    """The policies that it starts from would have been worse here."""
    asked = case(
        layer=Layer(name="long", m=392, k=128, n=512),
        machine=machine("310KiB"),
        order="dw-major",
        tile=Tile(m=45, k=128, n=180),
        time_limit_s=0.0,
    )
    double = run(asked)
    starts = [run(replace(asked, replacement=name)) for name in find("residency").starts]
    assert min(row.value for row in starts) > double.value
    page = run(replace(asked, replacement="residency"))
    assert page.value <= double.value
    assert page.cost.order_bound is not None
    assert page.cost.order_bound <= page.cost.makespan_cycles
    assert page.notes[-1] == "nothing better found than double-buffer, whose schedule this is"
    assert (page.cost.read_bytes, page.cost.written_bytes) == (
        double.cost.read_bytes,
        double.cost.written_bytes,
    )


def test_candidates_have_nothing_open() -> None:
    found = LayerCase(layer=LAYER, machine=machine(), order="best", partition="best").candidates()
    assert len(found) == 4 * 7
    assert all(each.candidates() == (each,) for each in found)
    cores = replace(found[0], machine=scale(machine(), 4), cores=4, partition="best")
    assert [each.partition for each in cores.candidates()] == ["m/4", "k/4", "n/4"]
