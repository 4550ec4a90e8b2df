"""A network's story in Chromium: it fits a screen, bars are to scale, points move."""

from __future__ import annotations

from typing import Any

import pytest

from spmopt.reporting.story import page_record
from tests.reporting.page.browser.conftest import Show
from tests.stories import in_full

WIDTHS = ((1440, 900), (900, 900), (390, 844))


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(show: Show, size: tuple[int, int], theme: str) -> None:
    width, height = size
    screen = show("story", state=f"#theme={theme}", width=width, height=height)
    assert screen.run("return document.documentElement.scrollWidth") == width
    if width == 1440:
        feet = "return ['fall', 'parts', 'roofs'].map((id) =>"
        feet += "document.getElementById(id).getBoundingClientRect().bottom)"
        assert max(screen.run(feet)) <= height


def test_bars_are_to_scale_on_both_axes(show: Show) -> None:
    screen = show("story", width=1440)
    record: Any = page_record(in_full().instance, in_full().decisions)
    times = [each["time_s"] for each in record["decisions"]]
    ends = (
        "return [...document.querySelectorAll('.waterfall tbody tr:not(.ticks)')].map((row) =>"
        "row.querySelectorAll('.stretch')[1].getBoundingClientRect().right)"
    )
    seen = {}
    for scale in ("from 0", "what is saved"):
        screen.run(f"document.querySelector('#scale input[value=\"{scale}\"]').click()")
        right = screen.run(ends)
        seen[scale] = (right[0] - right[-1]) / (times[0] - times[-1])
        for end, time in zip(right, times, strict=True):
            assert right[0] - end == pytest.approx(seen[scale] * (times[0] - time), abs=1)
    assert seen["what is saved"] > seen["from 0"]
    left = screen.run(
        "return document.querySelector('.waterfall .bar').getBoundingClientRect().left"
    )
    screen.run("document.querySelector('#scale input[value=\"from 0\"]').click()")
    right = screen.run(ends)
    assert (right[0] - left) / (right[-1] - left) == pytest.approx(times[0] / times[-1], rel=0.02)


def test_a_row_says_all_of_it(show: Show) -> None:
    screen = show("story", width=1440)
    screen.run(
        "document.querySelectorAll('.waterfall tr.idle, .waterfall tbody tr')[1].dispatchEvent("
        "new PointerEvent('pointermove', {clientX: 300, clientY: 400, bubbles: true}))"
    )
    text = screen.text("#tip")
    assert "saves" in text
    assert "cross the DRAM boundary" in text


def test_each_schedule_has_its_points(show: Show) -> None:
    screen = show("story", width=1440)
    record: Any = page_record(in_full().instance, in_full().decisions)
    for place, roofline in enumerate(record["rooflines"]):
        screen.run(f"document.querySelectorAll('#schedules input')[{place}].click()")
        dots = screen.run("return document.querySelectorAll('#roofs circle.marks').length")
        assert dots == len(roofline["points"]["name"])
        focus = "return document.querySelector('#schedules input:checked').value"
        assert screen.run(focus) == roofline["name"]
    rows = screen.run("return document.querySelectorAll('#decisions tbody tr').length")
    assert rows == len(record["decisions"])
