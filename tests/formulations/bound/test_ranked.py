"""Accesses in slice order, against the timeline read access by access."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.bound.ranked import RankedIntervals
from spmopt.core.timeline import Access, Timeline, timeline_in_order
from tests.formulations.priced import cases
from tests.tiny import Op, tiny


def by_tensor(line: Timeline) -> dict[int, list[int]]:
    """Accesses of each tensor, in order."""
    found: dict[int, list[int]] = {}
    for access, tensor in enumerate(line.tensor.tolist()):
        found.setdefault(tensor, []).append(access)
    return found


def test_a_slice_holds_one_access_of_each_tensor_that_has_as_many() -> None:
    for case in cases(40):
        intervals, rank = case.intervals, 0
        accesses = by_tensor(case.line)
        for rank, (begin, end) in enumerate(intervals.slices):
            expected = {own[rank] for own in accesses.values() if len(own) > rank}
            assert set(intervals.access[begin:end].tolist()) == expected
        assert rank + 1 == len(max(accesses.values(), key=len))


def test_the_access_before_has_the_same_place_in_the_slice_before() -> None:
    for case in cases(40):
        intervals = case.intervals
        previous = np.full(intervals.step.size, -1)
        start = 0
        for begin, end in intervals.slices[1:]:
            previous[begin:end] = np.arange(start, start + end - begin)
            start = begin
        np.testing.assert_array_equal(intervals.previous, previous)
        for place, following in enumerate(intervals.next.tolist()):
            assert following == -1 or intervals.previous[following] == place


def test_what_a_gap_is() -> None:
    """Begin, live and dirty, walked tensor by tensor from the start."""
    for case in cases(60):
        intervals, line = case.intervals, case.line
        place = {access: k for k, access in enumerate(intervals.access.tolist())}
        for tensor, accesses in by_tensor(line).items():
            begin, changed = 0, False
            live = bool(line.in_dram[tensor])
            for access in accesses:
                k, kind = place[access], line.kind[access]
                live = live and kind != Access.WRITE
                changed = changed and live
                assert (intervals.begin[k], intervals.step[k]) == (begin, line.step[access])
                assert (intervals.live[k], intervals.dirty[k]) == (live, changed)
                assert intervals.dead[k] == (not line.live_after[access])
                begin = int(line.step[access]) + 1
                changed = changed or kind != Access.READ
                live = bool(line.live_after[access])
            is_last = changed and bool(line.keep[tensor])
            assert (place[accesses[-1]] in intervals.last.tolist()) == is_last


def test_inner_and_final_steps() -> None:
    operations = [Op(writes="y"), Op(), Op(reads="x"), Op(reads="y"), Op(reads="x"), Op(), Op()]
    problem = tiny({"x": (4, "in keep"), "y": (4, "keep")}, operations, spm=8)
    intervals = RankedIntervals(timeline_in_order(problem))
    # The first accesses of x and y, then the second ones.
    assert intervals.step.tolist() == [2, 0, 4, 3]
    assert intervals.begin.tolist() == [0, 0, 3, 1]
    assert intervals.from_dram.tolist() == [True, False, False, False]
    assert intervals.inner.empty.tolist() == [False, True, False, False]
    assert intervals.last.tolist() == [3]  # x has not changed
    assert (intervals.after_last.left.tolist(), intervals.after_last.level.tolist()) == ([4], [1])


@pytest.mark.parametrize("operations", [[Op(cycles=3)], [Op(), Op()]])
def test_operations_without_operands(operations: list[Op]) -> None:
    intervals = RankedIntervals(timeline_in_order(tiny({"x": (4, "in keep")}, operations, spm=4)))
    assert intervals.slices == ()
    assert intervals.steps == len(operations)
