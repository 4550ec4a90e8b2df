"""The page of a network's story: what it holds, and that names stay text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spmopt.reporting.ablation import page_record
from spmopt.reporting.page.story import ablation_page
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plain import plain
from tests.ablations import in_full, told
from tests.reporting.page.reading import Document

ODD = "</script><img src=x onerror=alert(1)>\"'&🙂 $x^2$"


def test_the_page_holds_the_record() -> None:
    ablation = told()
    record = page_record(ablation.problem, ablation.decisions)
    blocks = Document.of(ablation_page(record)).blocks()
    assert blocks == {"ablation": plain(record), "look": {"series": list(COLORS)}}


def test_bars_are_the_time_before() -> None:
    record: Any = page_record(in_full().problem, in_full().decisions)
    before = record["decisions"][0]["time_s"]
    for each in record["decisions"]:
        assert abs(each["time_s"] + each["saved_s"] - before) < 1e-15
        assert each["compute_s"] <= each["time_s"]
        before = each["time_s"]
    assert len(record["table"]["rows"]) == len(record["decisions"])


def test_each_schedule_has_one_roofline() -> None:
    ablation = told()
    record: Any = page_record(ablation.problem, ablation.decisions)
    saved = [each for each in ablation.decisions[1:] if each.saved_cycles]
    assert len(record["rooflines"]) == 1 + len(saved)


def test_names_stay_text() -> None:
    ablation = told()
    odd = [
        replace(each, why=ODD, problem=replace(each.problem, name=ODD))
        for each in ablation.decisions
    ]
    text = ablation_page(page_record(replace(ablation.problem, name=ODD), odd))
    document = Document.of(text)
    assert not document.all("img")
    ((_, title),) = document.all("title")
    assert title.startswith(ODD)


def test_every_id_that_scripts_ask_for_is_there() -> None:
    document = Document.of(ablation_page(page_record(told().problem, told().decisions)))
    known = {element.attributes.get("id") for element in document.elements}
    asked = {"said", "scale", "fall", "parts", "schedules", "roofs", "marks", "decisions"}
    assert asked | {"remarks", "theme"} <= known


def test_every_head_says_what_it_means() -> None:
    record: Any = page_record(told().problem, told().decisions)
    assert all(head["help"].endswith(".") for head in record["table"]["columns"])
