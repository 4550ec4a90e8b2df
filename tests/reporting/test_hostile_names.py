"""Names from files of others: wherever they are shown nothing acts, and all of them is seen."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from spmopt.analysis import Analysis
from spmopt.analysis.explanation import Explanation
from spmopt.core.result import Result
from spmopt.reporting import analysis, explanation
from spmopt.reporting.comparison import compare_view
from spmopt.reporting.page import page_of
from spmopt.reporting.plots.schedule import save_picture
from spmopt.reporting.results import result_parts, results_record
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.tables import as_html, csv_text, plain_text, visible
from spmopt.reporting.trace import trace_events, trace_text
from tests.reporting.page.reading import Document
from tests.reporting.samples import picture

NAME = "a\nverified\x1b[2J<script>"
SHOWN = r"a\nverified\x1b[2J<script>"


@pytest.fixture(scope="module")
def view() -> ScheduleView:
    """A schedule of a problem, an operation and a tensor of that name."""
    found = picture("belady")
    first, *tensors = found.problem.tensors
    op, *operations = found.problem.operations
    problem = replace(
        found.problem,
        name=NAME,
        tensors=(replace(first, name=NAME), *tensors),
        operations=(replace(op, name=NAME), *operations),
    )
    schedule = found.result.schedule
    assert schedule is not None
    measured = Analysis.of(problem, schedule)
    return replace(found, problem=problem, analysis=measured)


def texts(view: ScheduleView) -> list[str]:
    """All that is printed for people."""
    result: Result = view.result
    assert result.schedule is not None
    found = Explanation.of(view.problem, result.schedule)
    steps = found.largest(1000)
    parts = (
        list(result_parts(view.problem, result)),
        list(compare_view(view.problem, [result]).parts()),
        *(list(analysis.detail_parts(view.analysis, per)) for per in ("tensor", "layer")),
        list(explanation.explanation_parts(found, None, result, steps, in_full=True)),
    )
    return [shown(each) for each in parts for shown in (plain_text, as_html)]


def test_what_is_printed_has_no_control_character(view: ScheduleView) -> None:
    for text in texts(view):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert not any(line.startswith("verified\\x1b") for line in text.splitlines())
        assert r"a\nverified\x1b[2J" in text
    assert all("<script>" not in text for text in texts(view)[1::2])


def test_pages_show_it_as_text(view: ScheduleView) -> None:
    document = Document.of(page_of([view]))
    (title,) = (text for _, text in document.all("title"))
    assert title.startswith(SHOWN)
    assert len([attributes for attributes, _ in document.all("script") if not attributes]) == 1
    assert document.blocks()["view-0"]["tensors"]["name"][0] == NAME


def test_files_keep_their_lines(view: ScheduleView) -> None:
    text = csv_text(analysis.detail(view.analysis, "tensor"))
    assert len(text.splitlines()) == 1 + len(view.problem.tensors)
    assert next(csv.DictReader(StringIO(text)))["name"] == SHOWN
    trace = trace_text([view], trace_events([view]))
    assert "\x1b" not in trace
    assert json.loads(trace)["otherData"]["problem"] == NAME
    assert "\x1b" not in json.dumps(results_record(view.problem, [view.result]))


def test_pictures_have_it_in_one_line(view: ScheduleView, tmp_path: Path) -> None:
    save_picture("map", [view], tmp_path / "map.svg")
    assert "\x1b" not in (tmp_path / "map.svg").read_text()


def test_what_is_visible_stays() -> None:
    assert visible("conv1 ünïcode ✓") == "conv1 ünïcode ✓"
    assert visible(NAME) == SHOWN
    assert visible("\u202e") == r"\u202e"
