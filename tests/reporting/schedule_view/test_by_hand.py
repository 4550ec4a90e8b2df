"""Times and rectangles of schedules that were worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from spmopt.reporting.quantities import si
from spmopt.reporting.schedule_view import ScheduleView, schedule_record
from tests import banks_by_hand
from tests.reporting.schedule_view.small import result_of
from tests.verifier import hand_made

DEAD, EVICTED, END, OUT, MOVED_ON = range(5)
LOADED, WRITTEN, SCRATCH, MOVED = range(4)


def shown(name: str, timing: str) -> Any:
    case = hand_made.all_cases()[name]
    return schedule_record(ScheduleView.of(result_of(case.problem, case.schedule), timing=timing))


def rows(columns: dict[str, list[int]], names: str) -> list[tuple[int, ...]]:
    return list(zip(*(columns[name] for name in names.split()), strict=True))


@pytest.mark.parametrize("timing", ["step", "async"])
def test_required_resident_operands_come_before_and_results_go_after(timing: str) -> None:
    """L = 8, then 5 of computation beside 4 of a stream, then S = 4."""
    record = shown("required_resident", timing)
    assert record["cycles"] == 17
    steps = rows(record["steps"], "start cycles compute_start compute_cycles stall_cycles")
    assert steps == [(0, 17, 8, 5, 12)]
    assert record["causes"][record["steps"]["cause"][0]] == "required resident"
    assert rows(record["commands"], "start cycles stall_cycles") == [
        (0, 8, 8),
        (8, 4, 0),
        (13, 4, 4),
    ]


def test_outward_commands_of_a_duplex_channel_wait_for_the_operation() -> None:
    """w: load 4 and stream 4 in; beside them stream 4 and store 4 out."""
    record = shown("in_place_duplex", "step")
    assert rows(record["commands"], "step start cycles")[:4] == [
        (0, 0, 4),
        (0, 4, 4),
        (0, 0, 4),
        (0, 4, 4),
    ]
    assert record["steps"]["start"] == [0, 8, 16]


def test_the_replay_loads_ahead() -> None:
    assert shown("run_ahead", "step")["residencies"]["start"] == [10]
    record = shown("run_ahead", "async")
    assert record["cycles"] == 12
    assert rows(record["steps"], "start cycles compute_start stall_cycles") == [
        (0, 10, 0, 0),
        (10, 2, 10, 1),
    ]
    assert rows(record["commands"], "start cycles stall_cycles") == [(0, 2, 0), (2, 10, 1)]
    assert rows(record["residencies"], "start stop") == [(2, 12)]


RECTANGLES = [
    (0, 0, 1, 0, 2, WRITTEN, EVICTED, 3),
    (0, 1, 1, 0, 1, WRITTEN, EVICTED, 3),
    (-1, 1, 1, 1, 2, SCRATCH, DEAD, -1),
    (2, 0, 2, 2, 4, WRITTEN, END, -1),
    (0, 2, 2, 3, 4, LOADED, END, -1),
]
"""Of the case ``reuse``: tensor, page, pages, begin, end, came, left, next use."""


def test_rectangles_say_what_came_and_went() -> None:
    record = shown("reuse", "step")
    found = record["residencies"]
    assert rows(found, "tensor page pages begin end came left next") == RECTANGLES
    assert rows(found, "start stop") == [(0, 17), (0, 9), (9, 17), (17, 44), (24, 44)]


def test_in_the_replay_a_page_is_free_after_its_last_use() -> None:
    """The scratch when its operation ends at 15; y is loaded from 21, before step 3 begins."""
    record = shown("reuse", "async")
    found = record["residencies"]
    assert rows(found, "tensor page pages begin end came left next") == RECTANGLES
    assert rows(found, "start stop") == [(0, 17), (0, 9), (9, 15), (17, 41), (21, 41)]
    assert record["steps"]["stall_cycles"] == [0, 0, 2, 16]
    words = [record["causes"][cause] for cause in record["steps"]["cause"]]
    assert words == ["none", "none", "store", "store"]


@pytest.mark.parametrize("timing", ["step", "async"])
def test_a_tensor_moves_to_another_bank(timing: str) -> None:
    stored = result_of(banks_by_hand.problem(), banks_by_hand.moving())
    record: Any = schedule_record(ScheduleView.of(stored, timing=timing))
    assert rows(record["residencies"], "tensor page begin end came left") == [
        (0, 0, 0, 1, LOADED, MOVED_ON),
        (1, 0, 1, 3, LOADED, DEAD),
        (0, 1, 1, 4, MOVED, END),
    ]
    assert [bank["pages"] for bank in record["banks"]] == [*stored.problem.machine.bank_pages]
    figures = {figure["key"]: figure for figure in record["figures"]}
    totals = stored.result.totals
    assert totals is not None
    assert figures["moved"]["value"] == totals.moved_bytes > 0
    for number, size in enumerate(totals.bank_read_bytes):
        assert figures[f"bank-{number}"]["text"].startswith(f"{si(float(size), 'B')} read")
    assert "no lane of shadow prices: with several banks" in record["remarks"][-1]
    assert "spm_shadow_price" not in figures


def test_tensors_and_their_uses() -> None:
    tensors = shown("in_place", "step")["tensors"]
    assert tensors["name"] == ["w", "d", "e"]
    columns = "bytes in_dram keep loaded stored streamed_in streamed_out"
    assert rows(tensors, columns) == [
        (8, 1, 1, 4, 4, 12, 4),
        (8, 0, 0, 0, 0, 0, 0),
        (4, 1, 0, 0, 0, 4, 0),
    ]
    assert tensors["uses_first"] == [0, 2, 3, 4]
    assert rows(tensors, "uses_step uses_access") == [(0, 2), (1, 0), (1, 1), (2, 2)]
