"""Rectangles: all of a schedule, and what one keeps that another does not, page by page."""

from __future__ import annotations

from typing import Any

import numpy as np

from spmopt.reporting.contrast import bytes_kept_more
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.occupancy import KINDS, SCRATCH
from spmopt.reporting.plots.schedule import Boxes
from spmopt.reporting.schedule_view import ScheduleView
from tests.reporting.schedule_view.small import pictures, result_of
from tests.verifier.random_plans import random_schedule

SEEDS = 16
Cell = tuple[int, int, int]


def test_boxes_cover_what_is_occupied() -> None:
    for one in pictures(("step",)):
        boxes, clock = Boxes.of(one), one.problem.machine.clock_hz
        area = (boxes.high - boxes.low) * (boxes.right - boxes.left)
        by_kind = np.bincount(boxes.kind, area, len(KINDS))
        expected = (one.occupied * one.times.duration).sum(axis=1) / clock
        np.testing.assert_allclose(by_kind, expected, rtol=1e-9)
        assert (boxes.tensor[boxes.kind == KINDS.index(SCRATCH)] == -1).all()
        assert boxes.high.max(initial=0) <= one.problem.machine.spm_bytes


def by_gaps(one: ScheduleView, other: ScheduleView) -> set[Cell]:
    """(tensor, page of the tensor, step) that ``one`` keeps more, by the record of differences."""
    found: Any = contrast_record(other, one)["gaps"]
    step_of = {int(op): step for step, op in enumerate(one.view.timeline.order)}
    order, page = other.view.timeline.order, one.view.page_bytes
    cells = set()
    for tensor, begin, end, less, more, saved in zip(*found.values(), strict=True):
        if saved > 0:
            steps = range(step_of[int(order[begin])], step_of[int(order[end])] + 1)
            pages = range(less // page, -(-more // page))
            cells |= {(tensor, p, s) for p in pages for s in steps}
    lasting = np.flatnonzero(one.times.duration)
    return {cell for cell in cells if cell[2] in lasting}


def by_boxes(one: ScheduleView, boxes: Boxes) -> set[Cell]:
    """The same by what is drawn: each rectangle, looked up at its address and time."""
    table, page, clock = one.residencies, one.view.page_bytes, one.problem.machine.clock_hz
    middle = (one.times.start + one.times.duration / 2) / clock
    cells = set()
    for row in range(boxes.tensor.size):
        for step in np.flatnonzero((middle > boxes.left[row]) & (middle < boxes.right[row])):
            if one.times.duration[step] == 0:
                continue
            for place in range(boxes.low[row] // page, boxes.high[row] // page):
                (here,) = np.flatnonzero(
                    (table.page <= place)
                    & (place < table.page + table.pages)
                    & (table.begin <= step)
                    & (step < table.end)
                )
                assert table.tensor[here] == boxes.tensor[row]
                cells.add(
                    (
                        int(boxes.tensor[row]),
                        int(place - table.page[here] + table.tensor_page[here]),
                        int(step),
                    )
                )
    return cells


def test_what_is_kept_more_is_what_the_differences_say() -> None:
    seen = 0
    for seed in range(SEEDS):
        features: Any = {"max_operations": 9, "max_tensors": 6}
        problem, first = random_schedule(seed, **features)
        _, second = random_schedule(seed, free_order=True, **features)
        one, other = (
            ScheduleView.of(result_of(problem, residency_plan))
            for residency_plan in (first, second)
        )
        cells = by_boxes(one, Boxes.of(one, bytes_kept_more(one, other)))
        assert cells == by_gaps(one, other)
        seen += len(cells)
    assert seen > 5
