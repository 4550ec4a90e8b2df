"""Each corruption of a placement breaks a rule, and the rule says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations.placement.place import place
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.placement import Buffer, Gap, Placement, require_placement, separation
from spmopt.core.scheduler import Request
from tests.checked import need
from tests.formulations.placement.brute_force import collide, draw

BUFFERS = (
    Buffer(name="a", lower=0, upper=4, size_bytes=4),
    Buffer(name="b", lower=2, upper=6, size_bytes=4, alignment_bytes=4),
    Buffer(name="c", lower=4, upper=8, size_bytes=4, fixed_bytes=0),
)
LEGAL = Placement(offsets_bytes=(0, 4, 0), height_bytes=8)


def test_a_legal_placement_passes() -> None:
    require_placement(BUFFERS, LEGAL, 8)


@pytest.mark.parametrize(
    ("offsets", "height", "capacity", "message"),
    [
        ((0, 4), 8, 8, "2 offsets for 3 buffers"),
        ((0, 4, 0), 9, 9, "height is 8, not 9 as claimed"),
        ((0, 4, 0), 8, 7, "buffer b: offset 4: ends at 8, past the capacity of 7"),
        ((-4, 4, 0), 8, 8, "buffer a: offset -4 is out of range"),
        ((0, 6, 0), 10, 10, "buffer b: offset 6 is no multiple of its alignment 4"),
        ((0, 4, 8), 12, 12, "buffer c: offset 8 is not the 0 it is fixed at"),
        ((1, 4, 0), 8, 8, "buffers a and b live at the same time and overlap, at offsets 1 and 4"),
        ((4, 0, 0), 8, 8, "buffers b and c live at the same time and overlap"),
    ],
)
def test_a_corrupt_placement_does_not(
    offsets: tuple[int, ...], height: int, capacity: int, message: str
) -> None:
    with pytest.raises(ScheduleError) as raised:
        require_placement(BUFFERS, Placement(offsets_bytes=offsets, height_bytes=height), capacity)
    assert message in str(raised.value)


@given(st.integers(0, 100_000), st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_the_rule_for_pairs_is_that_of_a_grid(seed: int, drawn: list[int]) -> None:
    buffers = [replace(b, fixed_bytes=None, alignment_bytes=1) for b in draw(seed, windows=True)]
    offsets = drawn[: len(buffers)]
    wrong = any(
        collide(one, offsets[i], other, offsets[j])
        for i, one in enumerate(buffers)
        for j, other in enumerate(buffers[:i])
    )
    try:
        require_placement(buffers, Placement.of(buffers, offsets))
    except ScheduleError:
        assert wrong
    else:
        assert not wrong


def test_windows_bring_buffers_closer() -> None:
    whole = Buffer(name="w", lower=0, upper=4, size_bytes=8)
    part = Buffer(
        name="p",
        lower=0,
        upper=8,
        size_bytes=8,
        gaps=(Gap(lower=0, upper=4, window_bytes=(0, 3)),),
    )
    away = replace(part, gaps=(Gap(lower=0, upper=4),))
    assert separation(part, whole) == 3
    assert separation(whole, part) == 8
    assert separation(away, whole) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"upper": -1}, "buffer a: ends at -1, before it begins at 0"),
        ({"size_bytes": -1}, "size is -1; it cannot be negative"),
        ({"size_bytes": 2**61}, "at most 2**60"),
        ({"alignment_bytes": 0}, "alignment is 0; use 1 for none"),
        ({"fixed_bytes": -8}, "offset is -8; it cannot be negative"),
        ({"gaps": (Gap(lower=3, upper=5),)}, "gap 3-5 is not within 0-4"),
        ({"gaps": (Gap(lower=2, upper=3), Gap(lower=1, upper=2))}, "gap 1-2 is not within 3-4"),
        ({"gaps": (Gap(lower=1, upper=2, window_bytes=(2, 5)),)}, "window 2:5 of a gap"),
    ],
)
def test_a_buffer_that_cannot_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        replace(BUFFERS[0], **change)
    assert message in str(raised.value)


def test_buffers_that_could_end_beyond_64_bits_are_refused_before_the_search() -> None:
    huge = (
        Buffer(name="b0", lower=6, upper=11, size_bytes=10),
        Buffer(name="b1", lower=8, upper=18, size_bytes=2**60),
        Buffer(name="b2", lower=5, upper=18, size_bytes=2),
    )
    with pytest.raises(InputError, match=r"at most 2\*\*60 can be placed"):
        place(huge, None, Request())
    with pytest.raises(InputError, match=r"at most 2\*\*60 can be placed"):
        place([replace(huge[2], fixed_bytes=2**60 - 1)], None, Request())
    placed = place([replace(huge[1], size_bytes=2**60 - 1)], None, Request(), lowest=True)
    assert need(placed.placement).height_bytes == 2**60 - 1
