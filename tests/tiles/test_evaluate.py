"""Figures without a schedule are those of the verified schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine, SystolicArray
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.policies.double_buffer.figures import Figures
from spmopt.schedulers.registry import find
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import Order
from spmopt.tiles.partition import Partition, on_cores, partition
from spmopt.tiles.tiling import evaluate
from tests.policies.owed import residency_plan_of, totals
from tests.thorough import share
from tests.tiles.cases import ANY_ORDER, grid, machine
from tests.tiles.maps import CONVOLUTIONS

MACHINES = st.builds(
    lambda base, array, setup, duplex, rate: replace(
        base, array=array, dma_setup_cycles=setup, duplex=duplex, dram_bytes_per_s=rate
    ),
    st.builds(machine, st.integers(150, 1500), st.sampled_from([4, 16, 64])),
    st.sampled_from(
        [None, *(SystolicArray(rows=2, columns=3, pipelined=each) for each in (False, True))]
    ),
    st.sampled_from([0, 5]),
    st.booleans(),
    st.sampled_from([1, 8, 100]),
)
GRIDS = st.builds(grid, st.tuples(*[st.integers(1, 9)] * 3), st.tuples(*[st.integers(1, 4)] * 3))
REUSES = st.sampled_from(["shared", "none", "sums"])


def same(found: Figures, verified: Totals) -> bool:
    return (
        found.dram_in_bytes == verified.dram_in_bytes
        and found.dram_out_bytes == verified.dram_out_bytes
        and found.traffic_bytes == verified.traffic_bytes
        and found.makespan_cycles == verified.makespan_cycles
    )


def verified(problem: Problem, reuse: str) -> Totals:
    """Totals of the policy's schedule, from the verifier."""
    policy = find(f"double-buffer:reuse={reuse}").load()
    return totals(problem, residency_plan_of(policy(problem, Request())))


@settings(max_examples=share(150), deadline=None)
@given(
    cells=GRIDS | CONVOLUTIONS,
    order=ANY_ORDER,
    spm=MACHINES,
    reuse=REUSES,
    input_gradient=st.booleans(),
    element_bytes=st.sampled_from([1, 2, 4]),
)
def test_of_any_layer_tile_order_and_machine(
    *,
    cells: TileGrid,
    order: Order,
    spm: Machine,
    reuse: str,
    input_gradient: bool,
    element_bytes: int,
) -> None:
    products = order.through(cells, input_gradient=input_gradient)
    try:
        problem = backward(cells, spm, products, element_bytes=element_bytes)
    except InputError:
        with pytest.raises(InputError, match=r"give smaller tiles or a larger --spm$"):
            evaluate(cells, spm, products, element_bytes=element_bytes, reuse=reuse)
        return
    found = evaluate(cells, spm, products, element_bytes=element_bytes, reuse=reuse)
    assert same(found, verified(problem, reuse))


@settings(max_examples=share(25), deadline=None)
@given(
    cells=GRIDS,
    order=ANY_ORDER,
    axis=st.sampled_from("mkn"),
    parts=st.integers(1, 3),
    reuse=REUSES,
    add_early=st.booleans(),
)
def test_of_partitions(
    *, cells: TileGrid, order: Order, axis: str, parts: int, reuse: str, add_early: bool
) -> None:
    spm, cut = machine(2500, page_bytes=16), Partition(axis=axis, parts=parts)
    turns: tuple[Ints, ...] = (partition(cells, cut, order), on_cores(cells, cut, order, parts))
    for products in turns:
        problem = backward(cells, spm, products, add_early=add_early)
        found = evaluate(cells, spm, products, reuse=reuse, add_early=add_early)
        assert same(found, verified(problem, reuse))
