"""The page of a network's story: what it holds, and that names stay text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spmopt.reporting.page.story import story_page
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plain import plain
from spmopt.reporting.story import page_record
from tests.reporting.page.reading import Document
from tests.stories import in_full, told

ODD = "</script><img src=x onerror=alert(1)>\"'&🙂 $x^2$"


def test_the_page_holds_the_record() -> None:
    story = told()
    record = page_record(story.instance, story.decisions)
    blocks = Document.of(story_page(record)).blocks()
    assert blocks == {"story": plain(record), "look": {"series": list(COLORS)}}


def test_bars_are_the_time_before() -> None:
    record: Any = page_record(in_full().instance, in_full().decisions)
    before = record["decisions"][0]["time_s"]
    for each in record["decisions"]:
        assert abs(each["time_s"] + each["saved_s"] - before) < 1e-15
        assert each["compute_s"] <= each["time_s"]
        before = each["time_s"]
    assert len(record["table"]["rows"]) == len(record["decisions"])


def test_each_schedule_has_one_roofline() -> None:
    story = told()
    record: Any = page_record(story.instance, story.decisions)
    saved = [each for each in story.decisions[1:] if each.saved_cycles]
    assert len(record["rooflines"]) == 1 + len(saved)


def test_names_stay_text() -> None:
    story = told()
    odd = [
        replace(each, why=ODD, instance=replace(each.instance, name=ODD))
        for each in story.decisions
    ]
    text = story_page(page_record(replace(story.instance, name=ODD), odd))
    document = Document.of(text)
    assert not document.all("img")
    ((_, title),) = document.all("title")
    assert title.startswith(ODD)


def test_every_id_that_scripts_ask_for_is_there() -> None:
    document = Document.of(story_page(page_record(told().instance, told().decisions)))
    known = {element.attributes.get("id") for element in document.elements}
    asked = {"said", "scale", "fall", "parts", "schedules", "roofs", "marks", "decisions"}
    assert asked | {"remarks", "theme"} <= known


def test_every_head_says_what_it_means() -> None:
    record: Any = page_record(told().instance, told().decisions)
    assert all(head["help"].endswith(".") for head in record["table"]["columns"])
