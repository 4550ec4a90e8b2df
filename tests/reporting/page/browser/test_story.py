"""A network's story in Chromium: it fits a screen, bars are to scale, points move."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from spmopt.reporting.ablation import page_record
from tests.ablations import in_full
from tests.reporting.page.browser.conftest import Show

WIDTHS = ((1440, 900), (900, 900), (390, 844))


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(show: Show, size: tuple[int, int], theme: str) -> None:
    width, height = size
    screen = show("ablation", state=f"#theme={theme}", width=width, height=height)
    assert screen.run("return document.documentElement.scrollWidth") == width
    if width == 1440:
        feet = "return ['fall', 'parts', 'roofs'].map((id) =>"
        feet += "document.getElementById(id).getBoundingClientRect().bottom)"
        assert max(screen.run(feet)) <= height


def test_bars_begin_at_0_or_above_as_the_box_says(show: Show) -> None:
    screen = show("ablation", width=1440)
    record: Any = page_record(in_full().problem, in_full().decisions)
    times = [each["time_s"] for each in record["decisions"]]
    fall = "const { chart, lines } = document.querySelector('#fall .plot').plot;"
    scale = f"{fall} return [chart.scales.y.min, chart.scales.y.max]"
    assert screen.run(f"{fall} return lines[1].y") == times
    low, high = screen.run(scale)
    assert (low, high > max(times)) == (0, True)
    screen.click("#from-zero")
    assert 0 < screen.run(scale)[0] < min(times)
    assert "does not begin at 0" in screen.text("#scale")


def test_each_bar_says_all_of_it_to_keys(show: Show) -> None:
    screen = show("ablation", width=1440)
    chart = screen.find("#fall .plot")
    screen.run("arguments[0].focus()", chart)
    chart.send_keys(Keys.HOME + Keys.ARROW_RIGHT)
    text = screen.text("#tip")
    assert "saves" in text
    assert "cross the DRAM boundary" in text


def test_each_schedule_has_its_points(show: Show) -> None:
    screen = show("ablation", width=1440)
    record: Any = page_record(in_full().problem, in_full().decisions)
    for place, roofline in enumerate(record["rooflines"]):
        screen.run(f"document.querySelectorAll('#schedules input')[{place}].click()")
        points = screen.run("return document.querySelector('#roofs .plot').plot.points.length")
        assert points == len(roofline["points"]["name"])
        focus = "return document.querySelector('#schedules input:checked').value"
        assert screen.run(focus) == roofline["name"]
    rows = screen.run("return document.querySelectorAll('#decisions tbody tr').length")
    assert rows == len(record["decisions"])
