"""Compute cycles: exact rounding, and the systolic formulas on small arrays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.machine import Blocks, Machine, SystolicArray
from spmopt.graph.cycles import block_count, compute_cycles, with_outputs
from spmopt.graph.operators.spec import Gemm
from tests.tiny import plain_machine


def machine(clock_hz: int, operations_per_s: int, array: SystolicArray | None = None) -> Machine:
    return plain_machine(4096, clock_hz=clock_hz, operations_per_s=operations_per_s, array=array)


@pytest.mark.parametrize(
    ("operations", "cycles"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (10**30, 10**29)]
)
def test_throughput_rounds_up_exactly(operations: int, cycles: int) -> None:
    assert compute_cycles(machine(100, 1000), operations, None) == cycles


SIZES = st.integers(1, 300)


@given(SIZES, SIZES, SIZES, st.sampled_from([1, 64, 512, 4096]))
def test_results_overlap_products(m: int, k: int, n: int, accumulators: int) -> None:
    own = Blocks(rows=4, columns=16, depth=32, outputs=8, accumulators=accumulators)
    gemm = Gemm(m=m, k=k, n=n)
    products, leaving = block_count(own, gemm), -(-m * n // 8)
    cycles = with_outputs(own, gemm, products)
    assert max(products, leaving) <= cycles <= products + leaving
    if m * n <= accumulators:
        assert cycles == products + leaving
    more = Gemm(m=m + 1, k=k, n=n)
    assert with_outputs(own, more, block_count(own, more)) >= cycles


def test_throughput_below_the_clock() -> None:
    assert compute_cycles(machine(3, 2), 5, Gemm(m=1, k=1, n=1)) == 8


def test_point_wise_work_does_not_use_the_array() -> None:
    array = SystolicArray(rows=4, columns=8)
    # 8 lanes, of two cores 16.
    assert compute_cycles(machine(1, 2 * 4 * 8, array), 100, None) == 13
    assert compute_cycles(machine(1, 2 * 2 * 4 * 8, array), 100, None) == 7
