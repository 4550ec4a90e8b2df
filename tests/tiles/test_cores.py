"""Several cores in lock-step: steps, problems by hand, machines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.table import Ints
from spmopt.graph.cycles import systolic_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.hardware.machines import load_machine
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import ORDERS, Order
from spmopt.tiles.partition import (
    Partition,
    on_cores,
    parse_partition,
    partition,
    scale,
)
from spmopt.tiles.program import IDLE
from tests.tiles.cases import ANY_ORDER, grid, machine
from tests.tiles.test_partition import ANY_GRID, ANY_PARTITION

SEQUENTIAL = ORDERS["sequential"]


def baseline(cells: TileGrid, cores: int) -> Ints:
    """Data parallel, sequential: each core has its share of the batch."""
    return on_cores(cells, Partition(axis="m", parts=cores), ORDERS["sequential"], cores)


def steps(cells: TileGrid, cut: str, cores: int) -> list[list[int]]:
    table: list[list[int]] = on_cores(cells, parse_partition(cut), SEQUENTIAL, cores).tolist()
    return table


def described(problem: Problem) -> list[tuple[str, list[str], list[str], tuple[int, ...]]]:
    """Every operation: its name, its inputs and writes, its predecessors."""
    names = problem.tensor_names
    return [
        (op.name, [names[t] for t in op.reads], [names[t] for t in op.writes], op.predecessors)
        for op in problem.operations
    ]


@given(cells=ANY_GRID, cut=ANY_PARTITION, order=ANY_ORDER, cores=st.integers(1, 4))
def test_every_product_once_on_some_core(
    cells: TileGrid, cut: Partition, order: Order, cores: int
) -> None:
    table = on_cores(cells, cut, order, cores)
    busy = table != IDLE
    assert np.array_equal(np.sort(table[busy]), np.arange(2 * cells.products))
    # A core never waits: once it is idle, it is done.
    assert (busy[1:] <= busy[:-1]).all()
    assert table.shape[1] == cores
    if cores == 1:
        assert np.array_equal(table[:, 0], partition(cells, cut, order))


def test_two_cores_along_m_by_hand() -> None:
    cells = grid((3, 2, 4), (2, 2, 4))  # two tiles along M, the second has one row
    array = SystolicArray(rows=2, columns=3)
    table = on_cores(cells, parse_partition("m/2"), SEQUENTIAL, 2)
    problem = backward(cells, machine(4096, array=array), table)
    assert described(problem) == [
        (
            "dX(0,0,0)+dX(1,0,0)",
            ["dY[0,0]", "W[0,0]", "dY[1,0]"],  # both cores use W: it is there once
            ["dX[0,0]", "dX[1,0]"],
            (),
        ),
        (
            "dW(0,0,0)+dW(1,0,0)",
            ["dY[0,0]", "X[0,0]", "dY[1,0]", "X[1,0]"],
            ["dW[0,0]", "dW@1[0,0]"],
            (),
        ),
        ("sum dW[0,0]", ["dW[0,0]", "dW@1[0,0]"], ["dW[0,0]"], (1,)),
    ]
    (dx,), (dw,), (total,) = (operation.mappings for operation in problem.operations)
    # dX: 2 x 4 by 4 x 2 on core 0, one row on core 1. dW: 2 x 2 by 2 x 4, one column by one row.
    assert dx.compute_cycles == systolic_cycles(array, Gemm(m=2, k=4, n=2)) == 7
    assert dw.compute_cycles == systolic_cycles(array, Gemm(m=2, k=2, n=4)) == 10
    assert (dx.macs, dw.macs, total.macs) == (24, 24, 0)
    # 2 x 4 elements to add, on 3 columns of each of two arrays (20 operations a cycle, of 12 each).
    assert total.compute_cycles == 2
    # dY 32 and 16 bytes, W 32; dX 16 and 8. X 16 and 8, dW 32 twice.
    assert (dx.spm_read_bytes, dx.spm_write_bytes) == (32 + 32 + 16, 16 + 8)
    assert (dw.spm_read_bytes, dw.spm_write_bytes) == (32 + 16 + 16 + 8, 64)
    assert (total.spm_read_bytes, total.spm_write_bytes) == (64, 32)
    assert [len(mapping.operands) for mapping in (dx, dw, total)] == [5, 6, 2]
    partial = problem.tensors[-1]
    assert (partial.name, partial.size_bytes) == ("dW@1[0,0]", 32)
    assert (partial.kind, partial.in_dram, partial.keep) == (
        TensorKind.WEIGHT_GRADIENT,
        False,
        False,
    )
    assert [op.kind for op in problem.operations] == ["dX", "dW", "sum"]
    assert problem.source.endswith("elements of 4 bytes, on 2 cores")


def test_tiles_of_all_cores_must_fit() -> None:
    cells = grid((4, 4, 4), (2, 4, 4))
    # dY, X and dW of both cores, a page each.
    assert backward(cells, machine(6 * 64), baseline(cells, 2)).operations
    with pytest.raises(InputError) as raised:
        backward(cells, machine(5 * 64), baseline(cells, 2))
    assert str(raised.value) == (
        "layer fc: tiles of m 2, k 4, n 4 need 384 bytes of SPM at once, in pages of 64, for "
        "dW(0,0,0)+dW(1,0,0), but there are 320; give smaller tiles or a larger --spm"
    )


def test_steps_that_cannot_be() -> None:
    cells = grid((2, 1, 1), (1, 1, 1))
    for table in ([[0, 1], [2, 2]], [[0, 1], [2, IDLE]], [[0, 1], [2, 4]], [[0, 1], [2, -2]]):
        with pytest.raises(InputError, match="layer fc: the order must name each of the 2 tile"):
            backward(cells, machine(4096), np.array(table))
    with pytest.raises(InputError, match="layer fc: no core has a product in step 1; leave it out"):
        backward(cells, machine(4096), np.array([[0, 1], [IDLE, IDLE], [2, 3]]))


def test_machines_of_several_cores() -> None:
    core = load_machine("large-npu", {"energy.leakage_w": 1.5})
    four = scale(core, 4)
    assert four.name == "large-npu-x4"
    assert four.spm_bytes == 32_000_000
    assert four.dram_bytes_per_s == 600_000_000_000
    assert four.operations_per_s == 4 * core.operations_per_s
    assert four.energy.leakage_w == 6.0
    assert (four.array, four.clock_hz, four.page_bytes) == (
        core.array,
        core.clock_hz,
        core.page_bytes,
    )
    assert scale(core, 1) is core


def test_no_cores_are_refused() -> None:
    cells = grid((2, 1, 1), (1, 1, 1))
    with pytest.raises(InputError, match="0 cores; give at least 1"):
        scale(machine(4096), 0)
    with pytest.raises(InputError, match="0 cores; give at least 1"):
        steps(cells, "m/2", 0)
