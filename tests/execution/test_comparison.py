"""How far numbers may be apart, and what is compared at all."""

from dataclasses import replace

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.execution.commands import machine_program
from spmopt.execution.comparison import Comparison, compare, plain_order
from spmopt.execution.executor import Trace
from tests.execution.test_commands import PROBLEM, RESIDENCY_PLAN
from tests.tiny import Op, tiny

PROGRAM = machine_program(PROBLEM, assemble(PROBLEM, RESIDENCY_PLAN))
F16 = [np.dtype(np.float16)] * 3


def differing(x: list[float], z: list[float], tolerance: float) -> Comparison:
    """What differs where ``x`` should be 1, 2, 3, 4 and ``z`` 0, 0, 1000."""
    contents = [np.array([1, 2, 3, 4.0]), np.zeros(4), np.array([0, 0, 1000.0])]
    expected = [each.astype(np.float16).view(np.uint8) for each in contents]
    found = [np.array(each, np.float16).view(np.uint8) for each in (x, [9.0] * 4, z)]
    traces = (Trace(contents=each) for each in (found, expected))
    return compare(PROGRAM, *traces, dtypes=F16, tolerance=tolerance)


def test_only_what_is_kept_or_never_written_is_compared() -> None:
    found = differing([1, 2, 3, 4], [0, 0, 1000], 0.0)
    assert found.same
    assert (found.tensors, found.compared_bytes, found.largest) == (2, 14, 0.0)


@pytest.mark.parametrize(("off", "same"), [(0.25, True), (0.75, False), (np.nan, False)])
def test_a_tolerance_is_relative_to_the_tensor(off: float, same: bool) -> None:
    found = differing([1, 2, 3, 4 + off], [0, 0, 1000], 0.1)
    assert found.same is same
    assert [each.tensor for each in found.differences] == ([] if same else ["x"])
    if same:
        assert found.largest_part == pytest.approx(0.25 / 4)


def test_a_tensor_of_rounding_is_measured_by_the_others() -> None:
    contents = [np.full(4, 1e-3), np.zeros(4), np.array([0, 0, 1000.0])]
    expected = [each.astype(np.float16).view(np.uint8) for each in contents]
    found = [np.full(4, 0.05, np.float16).view(np.uint8), *expected[1:]]
    traces = [Trace(contents=each) for each in (found, expected)]
    assert compare(PROGRAM, *traces, dtypes=F16, tolerance=0.1).same
    assert not compare(PROGRAM, *traces, dtypes=F16, tolerance=0.01).same
    assert not compare(PROGRAM, *traces, dtypes=F16).same


def test_bytes_that_are_no_numbers_must_be_the_same() -> None:
    contents = [np.zeros(tensor.size_bytes, np.uint8) for tensor in PROBLEM.tensors]
    wrong = [contents[0], contents[1], contents[2].copy()]
    wrong[2][3] = 1
    found = compare(PROGRAM, Trace(contents=wrong), Trace(contents=contents), tolerance=0.5)
    (difference,) = found.differences
    assert (difference.tensor, difference.wrong_bytes, difference.largest) == ("z", 1, None)


def test_plain_execution_takes_the_order_in_which_contents_are_read() -> None:
    problem = tiny(
        {"x": (4, "in"), "y": (4, "keep"), "z": (4, "keep")},
        [Op(reads="x", writes="y"), Op(reads="x", writes="z"), Op(reads="z", writes="x")],
        spm=12,
    )
    assert plain_order(problem, np.array([1, 0, 2])) == [0, 1, 2]
    free = replace(
        problem, operations=tuple(replace(o, predecessors=()) for o in problem.operations)
    )
    # The last one overwrites what the first reads: another order means something else.
    assert plain_order(free, np.array([1, 2, 0])) == [1, 2, 0]
