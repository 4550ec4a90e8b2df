"""Curves and fronts by pointer and controls: what is drawn, hidden, found and opened."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import LONG_REMARK
from tests.reporting.page.browser.screen import Screen

_PLOT = "return document.querySelector(arguments[0] + ' .plot').plot"
_PICTURE = "return document.querySelector(arguments[0] + ' .plot canvas').toDataURL()"


def lines(screen: Screen, place: str) -> int:
    """How many lines a chart has."""
    found: int = screen.run(f"{_PLOT}.lines.length", place)
    return found


def scales(screen: Screen, place: str) -> list[float]:
    """Least and most of both axes."""
    found: list[float] = screen.run(
        f"const {{ scales: {{ x, y }} }} = ({_PLOT.removeprefix('return ')}).chart;"
        "return [x.min, x.max, y.min, y.max]",
        place,
    )
    return found


def chart_label(screen: Screen, place: str) -> str:
    return str(screen.find(f"{place} .plot").get_attribute("aria-label"))


def test_schedulers_are_hidden_and_shown(show: Show) -> None:
    screen = show("sweep")
    before, picture = lines(screen, "#panels"), screen.run(_PICTURE, "#panels")
    screen.click("#legend input")
    assert lines(screen, "#panels") == before - 1
    assert screen.run(_PICTURE, "#panels") != picture
    screen.click("#legend input")
    assert lines(screen, "#panels") == before
    assert screen.run(_PICTURE, "#panels") == picture


def test_another_quantity_takes_the_place_of_the_first(show: Show) -> None:
    screen = show("sweep")
    assert chart_label(screen, "#panels").startswith("time over scratchpad")
    screen.click("#controls input[value='gap to bound']")
    assert chart_label(screen, "#panels").startswith("gap to bound over scratchpad")
    assert screen.run("return document.activeElement.value") == "gap to bound"
    assert screen.run(f"{_PLOT}.y.text(0.5)", "#panels") == "50 %"


def test_axes_hold_all_points_and_tick_the_sizes_that_were_swept(show: Show) -> None:
    screen = show("sweep")
    low, high, least, most = scales(screen, "#panels")
    assert low < 4096
    assert high > 4 * 4096
    assert least < 0.25
    assert most > 1.5
    ticks = screen.run(f"{_PLOT}.x.ticks(12).map((each) => {_PLOT[7:]}.x.text(each))", "#panels")
    assert ticks == ["4 KiB", "8 KiB", "12 KiB", "16 KiB"]


def test_values_and_bounds_of_rows_bear_the_unit_of_their_objective(show: Show) -> None:
    screen = show("sweep")
    heads = screen.texts("#rows thead th")
    cells = screen.texts("#rows tbody tr:first-child > *")
    for name in ("value", "bound"):
        assert cells[heads.index(name)].endswith((" s", " ms"))


def test_the_front_is_drawn_by_any_two_figures(show: Show) -> None:
    screen = show("search")
    limits = "#front .limit-name"
    assert chart_label(screen, "#front").startswith("area_mm2 over time of 5 trials")
    assert (lines(screen, "#front"), screen.texts(limits)) == (1, ["area_mm2 <= 9"])
    Select(screen.find("#axes label:nth-of-type(2) select")).select_by_value("trial")
    assert chart_label(screen, "#front").startswith("area_mm2 over trial of 5 trials")
    assert (lines(screen, "#front"), screen.texts(limits)) == (0, ["area_mm2 <= 9"])
    Select(screen.find("#axes label:nth-of-type(1) select")).select_by_value("time_s")
    assert chart_label(screen, "#front").startswith("time over trial of 5 trials")
    assert screen.texts(limits) == []
    assert "1 trial without a result" in screen.text("#missing")


def test_a_click_on_a_member_shows_its_machine_and_commands(show: Show) -> None:
    screen = show("search")
    picture = screen.find("#front .plot")
    screen.run("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", picture)
    picture.send_keys(Keys.HOME + Keys.ARROW_RIGHT)
    assert "trial 0: on the front, solved" in screen.text("#said")
    ring = "return document.querySelector('#front .ring').getBoundingClientRect().toJSON()"
    box = screen.run(ring)
    x, y = box["left"] + 8 + 9, box["top"] + 8 + 6
    screen.mouse("mouseMoved", x, y)
    assert screen.texts("#tip > *")[0] == "trial 0: on the front, solved"
    before = screen.run(_PICTURE, "#front")
    for kind in ("mousePressed", "mouseReleased"):
        screen.mouse(kind, x, y, button="left", clickCount=1)
    screen.frames()
    assert screen.text("#trial h3") == "Trial 0: on the front"
    assert screen.texts("#trial code") == ["spmopt report x.json"]
    assert screen.run(_PICTURE, "#front") != before  # the trial is marked


def test_themes_reach_charts(show: Show) -> None:
    screen = show("search")
    light = screen.run(_PICTURE, "#front")
    screen.click("#theme")
    screen.click("#theme")
    screen.settle()
    assert screen.text("#theme") == "Theme: dark"
    assert screen.run(_PICTURE, "#front") != light


def test_constraints_far_away_are_arrows_and_leave_the_axes_to_the_trials(show: Show) -> None:
    screen = show("far")
    assert screen.texts("#front .limit-name") == ["area_mm2 <= 1000 ▴", "area_mm2 >= 1 ▾"]
    _, _, low, high = scales(screen, "#front")
    assert 59 < low < high < 66


def test_names_of_members_do_not_meet(show: Show) -> None:
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


def test_a_sweep_opens_on_the_gap_where_curves_run_into_the_bound(show: Show) -> None:
    screen = show("close")
    assert chart_label(screen, "#panels").startswith("gap to bound over scratchpad")
    assert screen.text("#title").endswith("gap to bound over scratchpad")
    screen.click("#controls input[value='time']")
    assert "logarithmic" in screen.text("#panels .key")


def test_remarks_are_shown_in_full(show: Show) -> None:
    screen = show("far")
    screen.click("#trials input[value='all']")
    assert screen.texts("#trials tbody td:last-child")[-1] == LONG_REMARK
