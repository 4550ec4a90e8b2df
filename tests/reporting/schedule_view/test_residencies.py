"""Rectangles against the placements, page by page; occupancy against the verifier's."""

from __future__ import annotations

import numpy as np
import pytest

from spmopt.core.schedule import Command
from spmopt.core.timeline import Access
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from spmopt.reporting.schedule_view.residencies import Came, Left
from spmopt.verifier.rules.steps import pages_occupied
from tests.reporting.schedule_view.small import pictures


def held(picture: ScheduleView) -> list[dict[int, tuple[int, int]]]:
    """By step: what lies in each page of the scratchpad, tensor and page of it."""
    table = picture.view.schedule.placements
    pages: list[dict[int, tuple[int, int]]] = [{} for _ in range(picture.view.timeline.steps)]
    for row in range(len(table)):
        for step in range(int(table.begin[row]), int(table.end[row])):
            for k in range(int(table.pages[row])):
                place, page = int(table.spm_page[row]) + k, int(table.tensor_page[row]) + k
                pages[step][place] = (int(table.tensor[row]), page)
    return pages


def test_rectangles_hold_what_the_placements_say() -> None:
    for picture in pictures(("step",)):
        found = picture.residencies
        pages: list[dict[int, tuple[int, int]]] = [{} for _ in held(picture)]
        for row in range(len(found)):
            for step in range(int(found.begin[row]), int(found.end[row])):
                for k in range(int(found.pages[row])):
                    place = int(found.page[row]) + k
                    assert place not in pages[step]
                    page = int(found.tensor_page[row]) + k
                    pages[step][place] = (int(found.tensor[row]), page)
        assert pages == held(picture)


@pytest.mark.parametrize("timing", TIMINGS)
def test_rectangles_never_overlap(timing: str) -> None:
    for picture in pictures((timing,)):
        found, cycles = picture.residencies, picture.times.cycles
        assert (found.start <= found.stop).all()
        assert (found.stop <= cycles).all()
        taken = np.zeros((picture.problem.machine.spm_pages, cycles), np.int64)
        for row in range(len(found)):
            place = slice(int(found.page[row]), int(found.page[row] + found.pages[row]))
            taken[place, int(found.start[row]) : int(found.stop[row])] += 1
        assert taken.max(initial=0) <= 1


def test_kinds_add_up_to_what_the_verifier_counts() -> None:
    for picture in pictures(("step",)):
        page = picture.problem.machine.page_bytes
        expected = pages_occupied(picture.view) * page
        np.testing.assert_array_equal(picture.occupied.sum(axis=0), expected)
        found = picture.residencies
        for step, size in enumerate(expected.tolist()):
            here = (found.begin <= step) & (found.end > step)
            assert int(found.pages[here].sum()) * page == size
        assert (picture.occupied >= 0).all()


def came(picture: ScheduleView, row: int) -> Came:
    """From the commands of the step."""
    found, commands = picture.residencies, picture.view.schedule.commands
    if found.tensor[row] < 0:
        return Came.SCRATCH
    here = commands.step == found.begin[row]
    load = here & (commands.kind == Command.LOAD) & (commands.tensor == found.tensor[row])
    page = picture.problem.machine.page_bytes
    low = int(found.tensor_page[row]) * page
    high = low + int(found.pages[row]) * page
    meets = (commands.begin[load] < high) & (commands.end[load] > low)
    return Came.LOADED if meets.any() else Came.WRITTEN


def left(picture: ScheduleView, row: int) -> Left:
    """From the uses that follow."""
    found, line = picture.residencies, picture.view.timeline
    tensor, end = int(found.tensor[row]), int(found.end[row])
    if end == line.steps:
        return Left.END
    if tensor < 0:
        return Left.DEAD
    uses = np.flatnonzero((line.tensor == tensor) & (line.step >= end))
    if uses.size:
        return Left.DEAD if line.kind[uses[0]] == Access.WRITE else Left.EVICTED
    return Left.OUT if line.keep[tensor] else Left.DEAD


def test_how_they_came_and_why_they_left() -> None:
    seen = set()
    for picture in pictures(("step",)):
        found, line = picture.residencies, picture.view.timeline
        for row in range(len(found)):
            assert found.came[row] == came(picture, row)
            assert found.left[row] == left(picture, row)
            later = (line.tensor == found.tensor[row]) & (line.step > found.begin[row])
            assert found.next[row] == (line.step[later].min() if later.any() else -1)
            seen.add((int(found.came[row]), int(found.left[row])))
    assert {came for came, _ in seen} == {Came.LOADED, Came.WRITTEN, Came.SCRATCH}
    assert {left for _, left in seen} == {*Left} - {Left.MOVED}
