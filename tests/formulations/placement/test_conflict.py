"""Why buffers do not fit: the largest hole beside fixed ones, and the fixed ones that count."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from formulations.placement.conflict import explain
from spmopt.core.errors import Conflict
from spmopt.core.placement import Buffer, Placed


def fixed(name: str, offset: int, size: int, lower: int = 0) -> Buffer:
    return Buffer(name=name, lower=lower, upper=10, size_bytes=size, fixed_bytes=offset)


def explained(buffers: Sequence[Buffer], capacity: int) -> Conflict:
    def decide(_: Sequence[Buffer]) -> Placed:
        pytest.fail("a hole that is too small needs no search")

    return explain(buffers, capacity, decide)


@pytest.mark.parametrize(
    ("alignment", "hole", "walls"),
    [(1, 7, ["low", "high"]), (4, 5, ["low"])],  # bytes 9 to 15; 0 to 4, as 12 to 15 are fewer
)
def test_the_largest_hole_that_fixed_buffers_leave(
    alignment: int, hole: int, walls: list[str]
) -> None:
    low, high = fixed("low", 5, 4), fixed("high", 16, 2)
    tall = Buffer(name="tall", lower=2, upper=3, size_bytes=8, alignment_bytes=alignment)
    found = explained([low, high, tall], 18)
    assert found.where == "buffer tall"
    assert (found.required_bytes, found.available_bytes) == (8, hole)
    assert [member.name for member in found.members] == ["tall", *walls]


def test_fixed_buffers_of_other_times_and_those_not_needed_are_left_out() -> None:
    later = fixed("later", 0, 5, lower=8)
    middle, top = fixed("middle", 6, 4), fixed("top", 15, 1)
    tall = Buffer(name="tall", lower=2, upper=3, size_bytes=7)
    found = explained([later, middle, top, tall], 16)
    assert found.available_bytes == 6
    assert [member.name for member in found.members] == ["tall", "middle"]
