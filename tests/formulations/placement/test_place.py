"""Placements against brute force, in copies, on the published problems; and what is refused."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.placement import greedy
from formulations.placement.greedy import Order
from formulations.placement.parts import split
from formulations.placement.place import place
from formulations.placement.tree import TreeSearch
from spmopt.core.placement import Buffer, Placement, require_placement
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.io.minimalloc import read_buffers
from tests.checked import need
from tests.formulations.placement.brute_force import draw, least_height
from tests.thorough import share, some

ROOT = Path(__file__).parents[3]
PUBLISHED = 1048576
CAPACITY = 24
Buffers = tuple[Buffer, ...]


def published(name: str) -> Buffers:
    return read_buffers(ROOT / "instances" / "minimalloc" / f"{name}.{PUBLISHED}.csv")


def mirrored(buffers: Buffers, seed: int) -> Buffers:
    """Backwards in time, and shuffled."""
    copies = [replace(b, lower=-b.upper, upper=-b.lower) for b in buffers]
    random.Random(seed).shuffle(copies)
    return tuple(copies)


def rectangles(buffers: Buffers, placement: Placement) -> list[tuple[int, ...]]:
    """Without names: identical buffers may change places."""
    offsets = zip(buffers, placement.offsets_bytes, strict=True)
    return sorted((b.lower, b.upper, b.size_bytes, offset) for b, offset in offsets)


def rectangle(name: str, lower: int, upper: int, size: int, fixed: int | None = None) -> Buffer:
    return Buffer(name=name, lower=lower, upper=upper, size_bytes=size, fixed_bytes=fixed)


@given(st.integers(0, 100_000), st.booleans())
@settings(max_examples=share(190), deadline=None)
def test_least_height_is_that_of_brute_force(seed: int, windows: bool) -> None:
    buffers = draw(seed, windows=windows)
    expected = least_height(buffers, CAPACITY)
    found = place(buffers, CAPACITY, Request(time_limit_s=20.0), lowest=True)
    if expected is None:
        assert found.status is Status.INFEASIBLE
        assert found.conflict is not None
        return
    assert found.status is Status.OPTIMAL
    assert need(found.placement).height_bytes == found.bound_bytes == expected
    require_placement(buffers, need(found.placement), CAPACITY)


@given(st.integers(0, 100_000))
@settings(max_examples=share(60), deadline=None)
def test_a_capacity_is_enough_or_proved_not_to_be(seed: int) -> None:
    buffers = draw(seed)
    expected = least_height(buffers, CAPACITY)
    if expected is None or expected == 0:
        return
    enough = place(buffers, expected, Request(time_limit_s=20.0))
    assert need(enough.placement).height_bytes == expected
    short = place(buffers, expected - 1, Request(time_limit_s=20.0))
    assert short.status is Status.INFEASIBLE
    assert short.conflict is not None
    assert short.bound_bytes == expected


@given(st.integers(0, 100_000))
@settings(max_examples=share(60), deadline=None)
def test_greedy_ways_are_legal_and_above_the_load(seed: int) -> None:
    buffers = [replace(buffer, fixed_bytes=None) for buffer in draw(seed, windows=True)]
    unit, parts = split(buffers)
    for part in parts:
        for _, offsets in greedy.fits(part):
            kept = [buffers[k] for k in part.ids]
            placement = Placement.of(kept, (offsets * unit).tolist())
            require_placement(kept, placement)
            assert placement.height_bytes >= part.load * unit


@pytest.mark.parametrize("name", some(["C", "G", "I", "J", "K"], 3))
def test_published_problems_and_mirrored_copies(name: str) -> None:
    for buffers in (published(name), mirrored(published(name), 1)):
        found = place(buffers, PUBLISHED, Request())
        require_placement(buffers, need(found.placement), PUBLISHED)


def test_the_order_of_the_file_does_not_matter() -> None:
    buffers = published("J")
    shuffled = mirrored(mirrored(buffers, 1), 2)
    assert shuffled != buffers
    found, other = (
        place(buffers, PUBLISHED, Request()),
        place(shuffled, PUBLISHED, Request()),
    )
    assert rectangles(buffers, need(found.placement)) == rectangles(shuffled, need(other.placement))


def test_sections_and_load_of_a_published_problem() -> None:
    unit, parts = split(published("F"))
    assert unit == 1024
    assert [len(part) for part in parts] == [2, 8, 286]
    assert [part.needs.shape[1] for part in parts] == [1, 3, 127]
    assert max(part.load for part in parts) * unit == PUBLISHED


def test_running_out_of_time_is_not_infeasible() -> None:
    found = place(published("B"), PUBLISHED, Request(time_limit_s=1e-6))
    assert found.status is Status.UNKNOWN
    assert found.placement is None
    assert found.bound_bytes == PUBLISHED
    lowest = place(published("B"), None, Request(time_limit_s=1e-6), lowest=True)
    assert lowest.status is Status.FEASIBLE
    assert 0 < need(lowest.gap) < 1


def test_hints_that_will_do_are_kept() -> None:
    buffers = tuple(
        replace(rectangle(str(k), 0, 2, 4), hint_bytes=hint) for k, hint in enumerate((8, 0, 4))
    )
    found = place(buffers, 12, Request(time_limit_s=1.0))
    assert found.placement == Placement(offsets_bytes=(8, 0, 4), height_bytes=12)
    assert found.method == "hints"
    moved = (*buffers[:2], replace(buffers[2], hint_bytes=5))
    assert place(moved, 12, Request(time_limit_s=1.0)).status is Status.OPTIMAL


def test_nothing_to_place() -> None:
    found = place((), None, Request(time_limit_s=1.0), lowest=True)
    assert found.placement == Placement(offsets_bytes=(), height_bytes=0)
    assert found.status is Status.OPTIMAL


def test_alignment_leaves_what_is_common_to_sizes() -> None:
    buffers = (
        replace(rectangle("a", 0, 2, 48), alignment_bytes=32),
        replace(rectangle("b", 0, 2, 16), alignment_bytes=32),
    )
    unit, (part,) = split(buffers)
    assert unit == 16
    np.testing.assert_array_equal(part.alignment, [2, 2])
    found = place(buffers, None, Request(time_limit_s=5.0), lowest=True)
    assert (need(found.placement).height_bytes, found.status) == (80, Status.OPTIMAL)


def test_a_search_goes_on_where_it_was_stopped() -> None:
    _, (part,) = split(published("J"))
    whole, halves = (TreeSearch(Order(part, "TWA"), 1024) for _ in range(2))
    assert whole.run(10_000, bool) is Status.FEASIBLE
    for limit in range(50, 10_000, 50):
        if halves.run(limit, bool) is Status.FEASIBLE:
            break
    assert halves.nodes == whole.nodes
    np.testing.assert_array_equal(halves.offsets, whole.offsets)
