"""Curves and fronts by pointer and controls: what is drawn, hidden, found and opened."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.screen import Screen

_RING = """
const svg = document.querySelector(arguments[0]), box = svg.getBoundingClientRect();
const ring = svg.querySelector('.ring');
return [box.left + Number(ring.getAttribute('cx')), box.top + Number(ring.getAttribute('cy'))];
"""


def count(screen: Screen, css: str) -> int:
    return len(screen.all(css))


def chart_label(screen: Screen, place: str) -> str:
    return str(screen.find(f"{place} svg.chart").get_attribute("aria-label"))


def test_schedulers_are_hidden_and_shown(show: Show) -> None:
    screen = show("sweep")
    before = count(screen, "#panels path.series")
    assert before == count(screen, "#legend input") > 1
    screen.click("#legend input")
    assert count(screen, "#panels path.series") == before - 1
    screen.click("#legend input")
    assert count(screen, "#panels path.series") == before
    assert count(screen, "#panels circle.rings") == 4


def test_another_quantity_takes_the_place_of_the_first(show: Show) -> None:
    screen = show("sweep")
    assert chart_label(screen, "#panels").startswith("time over scratchpad")
    screen.click("#controls input[value='gap to bound']")
    assert chart_label(screen, "#panels").startswith("gap to bound over scratchpad")
    assert count(screen, "#panels circle.rings") == 0
    focused = "return document.activeElement.value"
    assert screen.run(focused) == "gap to bound"
    assert all(text.endswith(" %") for text in screen.texts("#panels .grid text[text-anchor=end]"))


def test_each_axis_is_logarithmic_as_its_box_says(show: Show) -> None:
    screen = show("sweep")
    boxes = "return [...document.querySelectorAll('#controls input[type=checkbox]')]"
    states = f"{boxes}.map((box) => box.checked)"
    assert screen.texts("#controls .check") == ["time logarithmic", "scratchpad logarithmic"]
    assert screen.run(states) == [False, False]
    marks = "return document.querySelector('#panels path.series').getAttribute('d')"
    before = screen.run(marks)
    screen.run(f"{boxes[7:]}[1].click()")
    assert screen.run(states) == [False, True]
    assert screen.run(marks) != before


def test_values_and_bounds_of_rows_bear_the_unit_of_their_objective(show: Show) -> None:
    screen = show("sweep")
    heads = screen.texts("#rows thead th")
    cells = screen.texts("#rows tbody tr:first-child > *")
    for name in ("value", "bound"):
        assert cells[heads.index(name)].endswith((" s", " ms"))


def test_the_front_is_drawn_by_any_two_figures(show: Show) -> None:
    screen = show("search")
    assert chart_label(screen, "#front").startswith("area_mm2 over time of 5 trials")
    assert (count(screen, "path.series"), count(screen, "line.limit")) == (1, 1)
    Select(screen.find("#axes label:nth-of-type(2) select")).select_by_value("trial")
    assert chart_label(screen, "#front").startswith("area_mm2 over trial of 5 trials")
    assert (count(screen, "path.series"), count(screen, "line.limit")) == (0, 1)
    Select(screen.find("#axes label:nth-of-type(1) select")).select_by_value("time_s")
    assert chart_label(screen, "#front").startswith("time over trial of 5 trials")
    assert count(screen, "line.limit") == 0
    assert "1 trial came to nothing" in screen.text("#missing")


def test_a_click_on_a_member_opens_its_schedule(show: Show) -> None:
    screen = show("search")
    picture = screen.find("#front svg.chart")
    screen.run("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", picture)
    picture.send_keys(Keys.HOME + Keys.ARROW_RIGHT)
    assert "trial 0: on the front, solved" in screen.text("#said")
    x, y = screen.run(_RING, "#front svg.chart")
    screen.mouse("mouseMoved", x + 9, y + 6)
    assert screen.texts("#tip > *")[0] == "trial 0: on the front, solved"
    for kind in ("mousePressed", "mouseReleased"):
        screen.mouse(kind, x + 9, y + 6, button="left", clickCount=1)
    screen.until("return document.documentElement.dataset.opened === '0'")
    assert screen.run("return document.activeElement.id") == "opened-head"
    assert count(screen, "#front circle.chosen") == 1
    screen.click(".opened a")
    assert screen.run("return location.hash") == "#front-head"


def test_themes_reach_a_schedule_that_is_opened(show: Show) -> None:
    screen = show("search")
    screen.click("#trials tbody button", 0)
    screen.until("return document.documentElement.dataset.opened === '0'")
    screen.settle()
    pixels = "return document.querySelector('#pictures .stage canvas').toDataURL()"
    light = screen.run(pixels)
    screen.click("#theme")
    screen.click("#theme")
    screen.settle()
    assert screen.text("#theme") == "Theme: dark"
    assert screen.run(pixels) != light


def test_constraints_far_away_are_arrows_and_leave_the_axes_to_the_trials(show: Show) -> None:
    screen = show("far")
    assert (count(screen, "line.limit"), count(screen, "path.limit-arrow")) == (0, 2)
    assert screen.texts("#front .limit-name") == ["area_mm2 <= 1000", "area_mm2 >= 1"]
    ticks = [float(text) for text in screen.texts("#front .grid text[text-anchor=end]")]
    assert 59 < min(ticks) < max(ticks) < 66


def test_names_of_members_meet_neither_each_other_nor_a_mark(show: Show) -> None:
    screen = show("far")
    boxes = screen.run(
        "return [...document.querySelectorAll('#front .point-name')]"
        ".map((e) => e.getBoundingClientRect().toJSON())"
    )
    assert 3 <= len(boxes) <= 12
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            apart = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert apart or one["bottom"] <= other["top"] + 4 or other["bottom"] <= one["top"] + 4


def test_a_sweep_opens_on_what_can_be_seen(show: Show) -> None:
    screen = show("close")
    assert chart_label(screen, "#panels").startswith("gap to bound over scratchpad")
    assert screen.text("#title").endswith("gap to bound over scratchpad")
    screen.click("#controls input[value='time']")
    boxes = "return [...document.querySelectorAll('#controls input[type=checkbox]')]"
    assert screen.run(f"{boxes}.map((box) => box.checked)") == [True, True]
    assert "logarithmic" in screen.text("#panels .key")
    screen.run(f"{boxes[7:]}[0].click()")
    assert "does not begin at 0" in screen.text("#panels .key")
