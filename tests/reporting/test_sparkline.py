"""Occupancy in one line: nothing of a peak is lost, and all of it fits."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.reporting.occupancy import BLOCKS, fullest, occupancy_lines, sparkline
from spmopt.reporting.quantities import si
from spmopt.solving import solve
from tests.strategies import random_problem


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 50) | st.just(2**58)), min_size=1, max_size=12
    ),
    parts=st.integers(1, 20),
)
def test_each_part_has_the_most_of_its_steps(steps: list[tuple[int, int]], parts: int) -> None:
    occupied, cycles = (np.array(column, np.int64) for column in zip(*steps, strict=True))
    if not cycles.any():
        cycles = np.ones_like(cycles)
    total, found = int(cycles.sum()), [0] * parts
    begin = 0
    for held, length in zip(occupied.tolist(), cycles.tolist(), strict=True):
        for part in range(parts):
            left, right = (Fraction(total * edge, parts) for edge in (part, part + 1))
            last = part == parts - 1
            here = (
                begin < right and begin + length > left
                if length
                else (left <= begin < right or (last and begin == total))
            )
            if here:
                found[part] = max(found[part], held)
        begin += length
    assert fullest(occupied, cycles, parts).tolist() == found


def test_no_steps() -> None:
    assert fullest(np.empty(0, np.int64), np.empty(0, np.int64), 3).tolist() == [0, 0, 0]


@given(values=st.lists(st.integers(0, 80), max_size=20))
def test_characters(values: list[int]) -> None:
    text = sparkline(np.array(values, np.int64), 80)
    assert [(" " + BLOCKS).index(each) for each in text] == [ceil(each / 10) for each in values]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return random_problem(32, max_operations=12, max_tensors=8)


@pytest.mark.parametrize("width", [1, 2, 3, 40, 100])
def test_a_schedule(problem: Problem, width: int) -> None:
    result = solve(problem, "belady", Request())
    assert result.schedule is not None
    assert result.totals is not None
    bar, legend = occupancy_lines(problem, result.schedule, width)
    assert len(bar) == max(3, width)
    assert bar[0] == bar[-1] == "|"
    fullest_block = max(bar[1:-1], key=(" " + BLOCKS).index)
    of_all = result.totals.peak_spm_bytes / problem.machine.spm_bytes
    assert (" " + BLOCKS).index(fullest_block) == ceil(of_all * len(BLOCKS))
    assert f"the peak {result.totals.peak_spm_bytes} B" in legend
    span = result.totals.makespan_cycles / problem.machine.clock_hz
    assert f"over {si(span, 's')}, left to right" in legend
