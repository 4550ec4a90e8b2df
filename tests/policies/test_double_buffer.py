"""Double buffering, by hand, in halves, and on tile products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from spmopt.policies.double_buffer import buffer, double_buffer
from spmopt.policies.double_buffer.batches import batch
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import ORDERS
from tests.assemble.small import make_problem, rows_of, stores_of
from tests.policies.owed import residency_plan_of, totals
from tests.tiles.cases import grid, machine
from tests.tiny import Op

REUSES = ("shared", "none", "sums")
each_reuse = pytest.mark.parametrize("reuse", REUSES)


def all_required_resident(reads: str, writes: str, cycles: int) -> Op:
    both = f"{reads} {writes}"
    return Op(reads=reads, writes=writes, cycles=cycles, required_resident=both)


def by_hand() -> Problem:
    """Three batches of at most 10 bytes: b, y, a; then b, c, d; then a, y, z."""
    return make_problem(
        {
            "a": (4, "in"),
            "b": (3, "in"),
            "c": (5, "in"),
            "d": (2, "in"),
            "y": (3, "keep"),
            "z": (3, "keep"),
        },
        [
            all_required_resident("b", "y", 10),
            all_required_resident("a", "", 10),
            all_required_resident("a", "", 10),
            all_required_resident("b c", "", 8),
            all_required_resident("c d", "", 8),
            all_required_resident("a y", "y", 10),
            all_required_resident("a", "z", 10),
        ],
        spm=20,
    )


def test_shared_by_hand() -> None:
    problem = by_hand()
    residency_plan = residency_plan_of(double_buffer(problem, Request()))
    # b stays from the first batch to the second. c and d come evenly during the first, of which
    # a page of c after the second step. a, away in step 3, comes back in step 4 for step 5.
    assert rows_of(problem, residency_plan.residency) == [
        ("a", 0, 3, 4),
        ("a", 4, 7, 4),
        ("b", 0, 4, 3),
        ("c", 0, 1, 2),
        ("c", 1, 2, 4),
        ("c", 2, 5, 5),
        ("d", 2, 5, 2),
        ("y", 0, 3, 3),
        ("y", 4, 7, 3),
        ("z", 6, 7, 3),
    ]
    # y must be away in step 3 to come back in step 4, so it leaves in step 2.
    assert stores_of(problem, residency_plan.stores) == [(2, "y", 3), (6, "y", 3), (6, "z", 3)]
    figures = totals(problem, residency_plan)
    assert figures.dram_in_bytes == 3 + 4 + 5 + 2 + 4 + 3
    assert figures.dram_out_bytes == 3 + 3 + 3
    # All is hidden but b before the first operation, and z after the last one.
    assert figures.makespan_cycles == figures.compute_cycles + 3 + 3 == 72


def test_what_is_used_beyond_the_next_batch_leaves_but_over_one_operation() -> None:
    tensors = {"a": (5, "in"), "b": (5, "in"), "c": (5, "in")}
    one = make_problem(tensors, [all_required_resident(name, "", 9) for name in "aba"], spm=10)
    assert rows_of(one, residency_plan_of(double_buffer(one, Request())).residency)[0] == (
        "a",
        0,
        3,
        5,
    )
    two = make_problem(tensors, [all_required_resident(name, "", 9) for name in "abca"], spm=10)
    assert rows_of(two, residency_plan_of(double_buffer(two, Request())).residency)[:2] == [
        ("a", 0, 1, 5),
        ("a", 2, 4, 5),
    ]


def one_each(inputs: list[int], results: list[int], spm: int) -> Problem:
    """Operations of 9 cycles, each with an input and a result of its own."""
    tensors = {f"x{step}": (size, "in") for step, size in enumerate(inputs)}
    tensors |= {f"y{step}": (size, "keep") for step, size in enumerate(results)}
    operations = [all_required_resident(f"x{step}", f"y{step}", 9) for step in range(len(inputs))]
    return make_problem(tensors, operations, spm=spm)


def test_results_in_the_way_are_stored_after_their_operation() -> None:
    # In step 1 there are 5 bytes in use, 3 that leave and 4 that come: just as many as there are.
    problem = one_each([3, 3, 4, 3], [3, 2, 2, 2], spm=12)
    residency_plan = residency_plan_of(double_buffer(problem, Request()))
    assert totals(problem, residency_plan).makespan_cycles == 3 + 4 * 9 + 2
    # With 6 in use one byte of y0 has to go before.
    problem = one_each([3, 3, 4, 3], [3, 3, 2, 2], spm=12)
    residency_plan = residency_plan_of(double_buffer(problem, Request()))
    assert stores_of(problem, residency_plan.stores)[:2] == [(0, "y0", 1), (1, "y0", 2)]
    assert totals(problem, residency_plan).makespan_cycles == 3 + 1 + 4 * 9 + 2


def test_an_operation_larger_than_a_half_is_alone() -> None:
    problem = make_problem(
        {"a": (3, "in"), "w": (6, "in"), "x": (9, "in"), "y": (3, "keep")},
        [
            all_required_resident("a", "y", 4),
            Op(reads="w x a", required_resident="w", cycles=4),
            all_required_resident("a", "", 4),
        ],
        spm=12,
    )
    found = batch(problem.machine, timeline_in_order(problem), "shared")[0]
    assert found.begin.tolist() == [0, 1, 2, 3]
    assert found.alone.tolist() == [False, True, False]
    residency_plan = residency_plan_of(double_buffer(problem, Request()))
    # x and a stream; w is loaded at its use, and y is stored before.
    assert rows_of(problem, residency_plan.residency) == [
        ("a", 0, 1, 3),
        ("a", 2, 3, 3),
        ("w", 1, 2, 6),
        ("y", 0, 1, 3),
    ]
    assert stores_of(problem, residency_plan.stores) == [(0, "y", 3)]
    totals(problem, residency_plan)


@pytest.mark.parametrize("name", ORDERS)
@each_reuse
def test_tile_products(name: str, reuse: str) -> None:
    cells = grid((14, 10, 12), (4, 3, 4))
    for spm_bytes in (512, 800, 1600, 4096):
        problem = backward(cells, machine(spm_bytes, page_bytes=16), ORDERS[name].through(cells))
        totals(problem, residency_plan_of(double_buffer(problem, Request(), reuse=reuse)))


def loaded(cells: TileGrid, spm: Machine, name: str, matrix: str, reuse: str = "shared") -> int:
    """Bytes of a matrix that come from DRAM."""
    problem = backward(cells, spm, ORDERS[name].through(cells))
    residency_plan = buffer(problem.machine, timeline_in_order(problem), reuse=reuse)
    totals(problem, residency_plan)
    commands = assemble(problem, residency_plan).commands
    own = [tensor.name.startswith(f"{matrix}[") for tensor in problem.tensors]
    mine = commands.take((commands.kind == Command.LOAD) & np.array(own)[commands.tensor])
    return int((mine.end - mine.begin).sum())


def test_interleaving_reads_dy_once_where_the_distance_is_within_half() -> None:
    # Tiles of 64 bytes, five tiles a half: a pair of products that share a tile of dY. One tile
    # along K, so that no later pair needs it again.
    cells, spm = grid((24, 4, 24), (4, 4, 4)), machine(10 * 64)
    dy = 24 * 24 * 4
    assert loaded(cells, spm, "dx-major", "dY") == dy
    assert loaded(cells, spm, "dw-major", "dY") == dy
    # The baseline is done with dX before it begins dW; each walk of its own is too far off.
    assert loaded(cells, spm, "sequential", "dY") > 1.9 * dy
    assert loaded(cells, spm, "interleaved", "dY") > 1.5 * dy


@pytest.mark.parametrize(("tiles", "returning"), [(6, 12), (9, 9), (17, 1), (18, 0)])
def test_sums_stay_to_the_extent_possible(tiles: int, returning: int) -> None:
    # dX-major over 2 rows with 12 tiles of dW: each but the first-come ones returns in the second
    # row. A product has three tiles; those that stay are beside twice these.
    cells = grid((8, 12, 16), (4, 4, 4))
    spm = machine(tiles * 64)
    assert loaded(cells, spm, "dx-major", "dW", "sums") == 64 * returning
    assert loaded(cells, spm, "dx-major", "dW") == 64 * 12
    # Walks that finish each sum before the next have none that return.
    for matrix in ("dX", "dW"):
        assert loaded(cells, spm, "sequential", matrix, "sums") == 0
    for matrix in ("dY", "X", "W"):
        same = loaded(cells, spm, "sequential", matrix)
        assert loaded(cells, spm, "sequential", matrix, "sums") == same


def test_time_is_that_of_full_overlap_but_for_both_ends() -> None:
    # Compute time and transfers of each batch overlap: no more than the greater of both, the
    # first loads, the last stores, and what rounding to pages costs.
    cells = grid((64, 32, 32), (8, 8, 8))
    for rate in (1024, 128, 16):
        spm = replace(machine(16 * 256, page_bytes=16), operations_per_s=rate)
        problem = backward(cells, spm, ORDERS["sequential"].through(cells))
        figures = totals(problem, residency_plan_of(double_buffer(problem, Request())))
        most = max(figures.compute_cycles, figures.dma_cycles)
        assert most <= figures.makespan_cycles < 1.1 * most
