"""Compute cycles: exact rounding, and the systolic formulas on small arrays."""

import pytest

from spmopt.core.machine import Machine, SystolicArray
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.spec import Gemm
from tests.tiny import plain_machine


def machine(clock_hz: int, operations_per_s: int, array: SystolicArray | None = None) -> Machine:
    return plain_machine(4096, clock_hz=clock_hz, operations_per_s=operations_per_s, array=array)


@pytest.mark.parametrize(
    ("operations", "cycles"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (10**30, 10**29)]
)
def test_throughput_rounds_up_exactly(operations: int, cycles: int) -> None:
    assert compute_cycles(machine(100, 1000), operations, None) == cycles


def test_throughput_below_the_clock() -> None:
    assert compute_cycles(machine(3, 2), 5, Gemm(m=1, k=1, n=1)) == 8


def test_point_wise_work_does_not_use_the_array() -> None:
    array = SystolicArray(rows=4, columns=8)
    # 8 lanes, of two cores 16.
    assert compute_cycles(machine(1, 2 * 4 * 8, array), 100, None) == 13
    assert compute_cycles(machine(1, 2 * 2 * 4 * 8, array), 100, None) == 7
