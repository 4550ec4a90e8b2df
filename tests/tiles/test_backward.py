"""The problem of a backward pass: sizes, costs and precedence by hand."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.core.order import reorder
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.table import Ints
from spmopt.graph.cycles import systolic_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.fetches import backward
from spmopt.tiles.order import ORDERS
from tests.tiles.cases import grid, machine

RAGGED = grid((5, 4, 7), (2, 4, 3))  # 3 x 1 x 3 tiles; the last ones are 1 along M and N
ORDER = ORDERS["interleaved"].through(RAGGED)


def tensor_sizes(problem: Problem, matrix: str) -> list[int]:
    return [t.size_bytes for t in problem.tensors if t.name.startswith(f"{matrix}[")]


def test_tiles_are_tensors() -> None:
    problem = backward(RAGGED, machine(4096), ORDER, element_bytes=2)
    assert (problem.name, problem.mapper) == ("fc", "tiles")
    assert problem.source == (
        "gradients of a product, M 5, K 4, N 7, in tiles of 2, 4, 3, elements of 2 bytes"
    )
    assert tensor_sizes(problem, "dY") == [12, 12, 4, 12, 12, 4, 6, 6, 2]
    assert tensor_sizes(problem, "X") == tensor_sizes(problem, "dX") == [16, 16, 8]
    assert tensor_sizes(problem, "W") == tensor_sizes(problem, "dW") == [24, 24, 8]
    for tensor in problem.tensors:
        result = tensor.name.startswith("d") and not tensor.name.startswith("dY")
        assert (tensor.in_dram, tensor.keep) == (not result, result)
    kinds = {tensor.name.partition("[")[0]: tensor.kind for tensor in problem.tensors}
    assert kinds == {
        "dY": TensorKind.GRADIENT,
        "X": TensorKind.ACTIVATION,
        "W": TensorKind.WEIGHT,
        "dX": TensorKind.GRADIENT,
        "dW": TensorKind.WEIGHT_GRADIENT,
    }


def test_sums_commute_but_for_the_first_product() -> None:
    cells = grid((1, 1, 3), (1, 1, 1))  # dX is a sum of three products
    problem = backward(cells, machine(4096), np.array([0, 1, 2, 3, 4, 5]))
    swapped = reorder(problem, np.array([0, 2, 1, 3, 4, 5]))
    assert [op.name for op in swapped.operations[:3]] == ["dX(0,0,0)", "dX(0,0,2)", "dX(0,0,1)"]
    with pytest.raises(InputError, match="predecessor"):
        reorder(problem, np.array([1, 0, 2, 3, 4, 5]))


def test_costs_of_a_product() -> None:
    array = SystolicArray(rows=2, columns=3)
    problem = backward(RAGGED, machine(4096, array=array), ORDER)
    mappings = {operation.name: operation.mappings[0] for operation in problem.operations}
    # The tile at the far edge: 1 along M, 4 along K, 1 along N.
    assert mappings["dX(2,0,2)"].compute_cycles == systolic_cycles(array, Gemm(m=1, k=1, n=4))
    assert mappings["dW(2,0,2)"].compute_cycles == systolic_cycles(array, Gemm(m=4, k=1, n=1))
    assert mappings["dX(0,0,0)"].compute_cycles == systolic_cycles(array, Gemm(m=2, k=3, n=4))
    assert mappings["dW(0,0,0)"].compute_cycles == systolic_cycles(array, Gemm(m=4, k=2, n=3))
    # dY 2 x 3 and W 4 x 3; then dX 2 x 4 too.
    first, second = mappings["dX(0,0,0)"], mappings["dX(0,0,1)"]
    assert (first.spm_read_bytes, first.spm_write_bytes) == (4 * (6 + 12), 4 * 8)
    assert (second.spm_read_bytes, second.spm_write_bytes) == (4 * (6 + 12 + 8), 4 * 8)
    assert sum(mapping.macs for mapping in mappings.values()) == 2 * prod((5, 4, 7))


@pytest.mark.parametrize("resident", [True, False])
def test_tiles_stay_while_they_are_used(resident: bool) -> None:
    problem = backward(RAGGED, machine(4096), ORDER, resident=resident)
    for operation in problem.operations:
        (mapping,) = operation.mappings
        assert [o.required_resident for o in mapping.operands] == [resident] * 3
        assert (mapping.scratch_bytes, {o.fetches for o in mapping.operands}) == (0, {1})


@pytest.mark.parametrize(
    "order", [[0, 1], [*range(17), 16], [*range(1, 19)], [*range(9)], [*range(9, 17), 9]]
)
def test_other_orders_are_refused(order: list[int]) -> None:
    numbers: Ints = np.array(order)
    with pytest.raises(InputError, match="layer fc: the order must name each of the 9 tile prod"):
        backward(RAGGED, machine(4096), numbers)


def test_tiles_larger_than_the_spm_are_refused() -> None:
    # dY 24, W 48 and dX 32 bytes: a page each.
    assert backward(RAGGED, machine(192), ORDER).operations
    with pytest.raises(InputError) as raised:
        backward(RAGGED, machine(128), ORDER)
    assert str(raised.value) == (
        "layer fc: tiles of m 2, k 4, n 3 need 192 bytes of SPM at once, in pages of 64, for "
        "dX(0,0,0), but there are 128; give smaller tiles or a larger --spm"
    )
    assert backward(RAGGED, machine(64), ORDER, resident=False).operations


def test_elements_without_bytes_are_refused() -> None:
    with pytest.raises(InputError, match="layer fc: elements of 0 bytes; give at least 1"):
        backward(RAGGED, machine(4096), ORDER, element_bytes=0)
