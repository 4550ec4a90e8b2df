"""The forward pass: executed exactly, and its cost by its mirror image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.shared.forward import forward_on_cores, forward_order
from spmopt.core.errors import InputError
from spmopt.core.machine import SystolicArray
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.scheduler import Request
from spmopt.solving import compare
from spmopt.tiles.fetches import backward, forward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import Walk
from tests.thorough import share
from tests.tiles.cases import ANY_WALK, grid, machine
from tests.tiles.execution import matrix_of, numbers
from tests.tiles.maps import CONVOLUTIONS
from tests.tiles.simulate import simulate

RAGGED = grid((5, 4, 7), (2, 4, 3))  # 3 x 1 x 3 tiles; the last ones are 1 along M and N
_SCHEDULERS = ("double-buffer", "belady", "residency")


def executed(cells: TileGrid, problem: Problem, objective: Objective = TRAFFIC) -> None:
    """Check every schedule: each product once, Y exact."""
    given = numbers(cells)
    expected = sorted(f"Y({i},{k},{j})" for i, k, j in np.ndindex(cells.shape))
    results = compare(problem, _SCHEDULERS, Request(objective=objective))
    for result in results:
        assert result.schedule is not None
        computed = simulate(cells, problem, result.schedule, given)
        assert sorted(name for step in computed.ran for name in step.split("+")) == expected
        assert np.array_equal(computed.y, matrix_of(cells, given["X"]) @ given["W"])


@settings(max_examples=share(15), deadline=None)
@given(
    cells=st.builds(grid, st.tuples(*[st.integers(1, 7)] * 3), st.tuples(*[st.integers(2, 4)] * 3)),
    walk=ANY_WALK,
    pages=st.integers(12, 40),
    objective=st.sampled_from([TRAFFIC, MAKESPAN]),
)
def test_any_walk_and_any_tiles(
    cells: TileGrid, walk: Walk, pages: int, objective: Objective
) -> None:
    small = machine(16 * pages, page_bytes=16)
    executed(cells, forward(cells, small, forward_order(cells, walk)), objective)


@settings(max_examples=share(15), deadline=None)
@given(cells=CONVOLUTIONS, walk=ANY_WALK, spare_pages=st.integers(0, 20))
def test_feature_maps(cells: TileGrid, walk: Walk, spare_pages: int) -> None:
    (m, k, n), most = cells.tile.sizes, int(cells.map_elements.max())
    pages = spare_pages + sum(-(-4 * size // 16) for size in (most, k * n, m * n))
    small = machine(16 * pages, page_bytes=16)
    executed(cells, forward(cells, small, forward_order(cells, walk)))


@pytest.mark.parametrize("cores", [2, 3])
def test_several_cores_execute_exactly(cores: int) -> None:
    cells = grid((7, 6, 5), (2, 3, 2))
    problem = forward(cells, machine(1024, page_bytes=16), forward_on_cores(cells, cores))
    executed(cells, problem)
    # No tile of Y is a sum over the cores.
    assert {operation.kind for operation in problem.operations} == {"Y"}
    assert not any("@" in name for name in problem.tensor_names)


def test_the_problem_by_hand() -> None:
    array = SystolicArray(rows=2, columns=3)
    problem = forward(RAGGED, machine(4096, array=array), forward_order(RAGGED), element_bytes=2)
    assert problem.source == (
        "the forward pass of a product, M 5, K 4, N 7, in tiles of 2, 4, 3, elements of 2 bytes"
    )
    sizes = {tensor.name: tensor.size_bytes for tensor in problem.tensors}
    assert (sizes["X[2,0]"], sizes["W[0,2]"], sizes["Y[2,2]"], sizes["Y[0,0]"]) == (8, 8, 2, 12)
    for tensor in problem.tensors:
        assert (tensor.kind is TensorKind.WEIGHT) == tensor.name.startswith("W")
        assert tensor.keep == tensor.name.startswith("Y")
        assert tensor.in_dram != tensor.keep
    first = problem.operations[0]
    assert first.name == "Y(0,0,0)"
    assert [problem.tensor_names[t] for t in first.reads] == ["X[0,0]", "W[0,0]"]
    assert first.mappings[0].compute_cycles == 4 + 2 + 3 - 2  # 2 x 4 times 4 x 3: one fold
    assert sum(operation.mappings[0].macs for operation in problem.operations) == 5 * 4 * 7


def test_a_pipelined_array_is_filled_once() -> None:
    array = SystolicArray(rows=2, columns=3, pipelined=True)
    small = machine(4096, array=array)
    operations = forward(RAGGED, small, forward_order(RAGGED)).operations
    cycles = [operation.mappings[0].compute_cycles for operation in operations]
    # Products of 2 x 4 or 1 x 4 times 4 x 3 or 4 x 1: one fold each, as long as they sum over.
    assert cycles == [4 + 2 + 3 - 2, *[4] * 8]
    gradients = backward(RAGGED, small, np.arange(2 * RAGGED.products)).operations
    first, *_, last = (operation.mappings[0].compute_cycles for operation in gradients)
    # dX[0,0] is 2 x 3 times 3 x 4 in two folds; dW[0,2] sums over 1 in two, of 2 rows each.
    assert (first, last) == (2 * 3 + 2 + 3 - 2, 2 * 2)


def test_gradients_are_no_forward_pass() -> None:
    order = np.arange(2 * RAGGED.products)
    with pytest.raises(InputError, match="layer fc: the order computes dW, not Y"):
        forward(RAGGED, machine(4096), order)
    with pytest.raises(InputError, match="layer fc: the order computes Y, not dW"):
        backward(RAGGED, machine(4096), forward_order(RAGGED))
    with pytest.raises(InputError, match="elements of 0 bytes"):
        forward(RAGGED, machine(4096), forward_order(RAGGED), element_bytes=0)
