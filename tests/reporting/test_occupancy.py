"""Occupancy in parts of the time: nothing of a peak is lost."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spmopt.reporting.occupancy import fullest


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
