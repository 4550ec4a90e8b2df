"""The page of schedules holds their records, whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.core.scheduler import Request
from spmopt.io.files import StoredResult, read_problem
from spmopt.metrics import metrics
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.page import page, page_of
from spmopt.reporting.palette import CAUSE_COLORS, KIND_COLORS
from spmopt.reporting.reasons import reasons
from spmopt.reporting.schedule_view import ScheduleView, schedule_record
from spmopt.solving import solve
from tests.reporting.page.reading import Document

PROBLEM = Path(__file__).parents[3] / "instances" / "lstm.json"


def _picture(scheduler: str) -> ScheduleView:
    problem = read_problem(PROBLEM)
    result = solve(problem, scheduler, Request(time_limit_s=5))
    return ScheduleView.of(StoredResult(problem=problem, result=result))


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


def test_figures_are_those_of_metrics(pictures: list[ScheduleView]) -> None:
    (picture, _), blocks = pictures, _blocks(page_of(pictures[:1]))
    found = metrics(picture.problem.machine, picture.totals)
    shown = {figure["key"]: figure["value"] for figure in blocks["view-0"]["figures"]}
    assert shown["makespan"] == found.time_s
    assert shown["traffic"] == picture.totals.traffic_bytes
    assert shown["energy"] == found.energy_j
    commands = blocks["view-0"]["commands"]
    assert sum(commands["bytes"]) == picture.totals.traffic_bytes
    assert sum(blocks["view-0"]["steps"]["cycles"]) == picture.totals.makespan_cycles


def test_two_schedules_come_with_their_contrast(pictures: list[ScheduleView]) -> None:
    text = page_of(pictures)
    blocks = _blocks(text)
    assert blocks["contrast"].pop("reasons") == reasons(*pictures)
    assert blocks["contrast"] == json.loads(json.dumps(contrast_record(*pictures)))
    assert [blocks[f"view-{place}"]["title"] for place in (0, 1)] == ["lstm, belady", "lstm, lru"]
    assert [title for _, title in Document.of(text).all("title")] == ["lstm, A: belady; B: lru"]


def test_every_kind_and_cause_has_a_color(pictures: list[ScheduleView]) -> None:
    blocks = _blocks(page_of(pictures[:1]))
    assert len(blocks["look"]["kinds"]) == len(blocks["view-0"]["kinds"]) == len(KIND_COLORS)
    assert len(blocks["look"]["causes"]) == len(blocks["view-0"]["causes"]) == len(CAUSE_COLORS)
    for colors in (KIND_COLORS, CAUSE_COLORS):
        assert len({*colors}) == len(colors)


def test_names_of_the_problem_stay_text(pictures: list[ScheduleView]) -> None:
    first = pictures[0]
    hostile = "</script><script>alert('🧮')</script>" + "n" * 1000
    record = schedule_record(replace(first, problem=replace(first.problem, name=hostile)))
    document = Document.of(page(hostile, [record]))
    assert [text for _, text in document.all("h1")] == [hostile]
    assert document.blocks()["view-0"]["title"].startswith(hostile)
    assert len([a for a, _ in document.all("script") if "type" not in a]) == 1


@pytest.mark.parametrize(("count", "contrast"), [(0, None), (1, {}), (2, None), (3, {})])
def test_a_page_has_one_schedule_or_two_and_their_contrast(
    pictures: list[ScheduleView], count: int, contrast: dict[str, object] | None
) -> None:
    records = [schedule_record(pictures[0])] * count
    with pytest.raises(InputError, match=f"page of {count} schedules: give one, or two"):
        page("x", records, contrast)
