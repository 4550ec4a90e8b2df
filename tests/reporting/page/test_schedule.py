"""The page of schedules holds their records, whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.scheduler import Request
from spmopt.core.solution import Solution
from spmopt.io.files import read_problem
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.page import page_of
from spmopt.reporting.reasons import reasons
from spmopt.reporting.schedule_view import ScheduleView, schedule_record
from spmopt.solving import solve
from tests.reporting.page.reading import Document

PROBLEM = Path(__file__).parents[3] / "instances" / "lstm.json"


def _picture(scheduler: str) -> ScheduleView:
    problem = read_problem(PROBLEM)
    result = solve(problem, scheduler, Request(time_limit_s=5))
    return ScheduleView.of(Solution(problem=problem, result=result))


@pytest.fixture(scope="module")
def pictures() -> list[ScheduleView]:
    return [_picture("belady"), _picture("lru")]


def _blocks(text: str) -> dict[str, Any]:
    return Document.of(text).blocks()


def test_a_page_holds_all_of_the_record(pictures: list[ScheduleView]) -> None:
    record = json.loads(json.dumps(schedule_record(pictures[0])))
    blocks = _blocks(page_of(pictures[:1]))
    assert blocks["view-0"] | blocks["tables-0"] == record
    assert "tables" not in blocks["view-0"]
    assert {*blocks} == {"look", "view-0", "tables-0"}


def test_two_schedules_come_with_their_contrast(pictures: list[ScheduleView]) -> None:
    text = page_of(pictures)
    blocks = _blocks(text)
    assert blocks["contrast"].pop("reasons") == reasons(*pictures)
    assert blocks["contrast"] == json.loads(json.dumps(contrast_record(*pictures)))
    assert [blocks[f"view-{place}"]["title"] for place in (0, 1)] == ["lstm, belady", "lstm, lru"]
    assert [title for _, title in Document.of(text).all("title")] == ["lstm, A: belady; B: lru"]
