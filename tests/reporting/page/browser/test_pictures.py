"""Hover, click, zoom and pan: what is said is what the record has, in both pictures at once."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from selenium.webdriver.common.keys import Keys

from spmopt.reporting.quantities import si
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import Record, record
from tests.reporting.page.browser.screen import LANES, MAP, MAP_FOOT, MAP_HEAD, Screen


def largest(found: Record) -> int:
    """The rectangle of a tensor that takes most of the picture."""
    rects = found["residencies"]
    areas = [
        (stop - start) * pages * (tensor >= 0)
        for tensor, start, stop, pages in zip(
            rects["tensor"], rects["start"], rects["stop"], rects["pages"], strict=True
        )
    ]
    return areas.index(max(areas))


def place_of(screen: Screen, found: Record, rect: int) -> tuple[float, float]:
    """Part of the time, and pixels down the map, of the middle of a rectangle."""
    rects = {name: column[rect] for name, column in found["residencies"].items()}
    height = screen.canvas(MAP).size["height"] - MAP_HEAD - MAP_FOOT
    up = (rects["page"] + rects["pages"] / 2) / found["spm_pages"]
    part = (rects["start"] + rects["stop"]) / 2 / found["cycles"]
    return part, MAP_HEAD + (1 - up) * height


def test_hover_names_the_tensor_its_bytes_and_why_it_is_there(show: Show) -> None:
    screen, found = show("one"), record("residency")
    rect = largest(found)
    tensor = found["residencies"]["tensor"][rect]
    said = screen.hover(MAP, *place_of(screen, found, rect))
    lines = said.split("\n")
    assert lines[0] == found["tensors"]["name"][tensor]
    assert si(found["tensors"]["bytes"][tensor], "B") in lines[1]
    assert found["kinds"][found["tensors"]["kind"][tensor]] in lines[1]
    assert "here for: " in said
    assert "left: " in said


def test_a_click_follows_a_tensor_through_its_life(show: Show) -> None:
    screen, found = show("one"), record("residency")
    rect = largest(found)
    tensor = found["residencies"]["tensor"][rect]
    screen.press(MAP, *place_of(screen, found, rect))
    assert screen.text("#followed h3") == found["tensors"]["name"][tensor]
    facts = screen.text("#followed")
    columns = found["tensors"]
    for name, words in (
        ("loaded", "loaded"),
        ("streamed_in", "streamed in"),
        ("stored", "stored"),
        ("streamed_out", "streamed out"),
    ):
        assert f"{words} {si(columns[name][tensor], 'B')}" in facts
    uses = columns["uses_step"][columns["uses_first"][tensor] : columns["uses_first"][tensor + 1]]
    events = screen.texts("#followed li")
    for step in uses:
        name = found["steps"]["name"][step]
        assert any(f"step {step}" in event and name in event for event in events)
    commands = [k for k, of in enumerate(found["commands"]["tensor"]) if of == tensor]
    assert sum(" of " in event for event in events) >= len(commands)
    screen.until("return location.hash.includes(arguments[0])", f"tensor={tensor}")
    screen.canvas(MAP).send_keys(Keys.ESCAPE)
    assert screen.texts("#followed h3") == []


def test_a_click_on_a_lane_shows_the_operation(show: Show) -> None:
    screen, found = show("one"), record("residency")
    steps = found["steps"]
    step = max(range(len(steps["name"])), key=lambda k: steps["compute_cycles"][k])
    middle = steps["compute_start"][step] + steps["compute_cycles"][step] / 2
    screen.press(LANES, middle / found["cycles"], screen.lane("compute"))
    assert screen.text("#followed h3") == steps["name"][step]


@pytest.mark.parametrize("way", ["keys", "wheel", "button"])
def test_zoom_keeps_both_pictures_in_step(show: Show, way: str) -> None:
    screen, found = show("one"), record("residency")
    if way == "keys":
        screen.press(MAP, 0.99, MAP_HEAD + 4)
        screen.find("canvas:focus").send_keys("+++")
    elif way == "wheel":
        screen.press(MAP, 0.99, MAP_HEAD + 4)
        x, y = screen.point(MAP, 0.5, 100)
        for _ in range(5):
            screen.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
    else:
        for _ in range(2):
            screen.click("[aria-label='Zoom in']")
    before = screen.view()
    assert 0 < before[1] - before[0] < found["cycles"] / 2
    screen.drag(LANES, (0.6, 0.4), screen.lane("compute"))
    after = screen.view()
    moved = (before[1] - before[0]) / 5
    assert after[0] == pytest.approx(before[0] + moved, abs=0.02 * moved + 2)
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], abs=2)
    require_in_step(screen, found, after)
    screen.click("[aria-label='All of the time']")
    assert screen.view() == (0, float("inf"))


def require_in_step(screen: Screen, found: Record, view: tuple[float, float]) -> None:
    """The map and the lanes name the step that the record has at that time."""
    starts = found["steps"]["start"]
    seen = 0
    for part in (0.2, 0.5, 0.8):
        cycles = view[0] + part * (view[1] - view[0])
        step = bisect_right(starts, cycles) - 1
        ends = found["cycles"] if step + 1 == len(starts) else starts[step + 1]
        width = (view[1] - view[0]) / 1000
        if cycles - starts[step] < 2 * width or ends - cycles < 2 * width:
            continue  # too near to the next one to be told apart by a pixel
        name = found["steps"]["name"][step]
        lane = screen.hover(LANES, part, screen.lane("compute")).split("\n")[0]
        assert lane == f"step {step}, {name}"
        above = screen.hover(MAP, part, MAP_HEAD + 2)
        assert f"free in step {step}, {name}" in above or fusion_plans(found, above, step)
        seen += 1
    assert seen


def fusion_plans(found: Record, said: str, step: int) -> bool:
    """Whether a rectangle that is named is there in a step."""
    rects, names = found["residencies"], found["tensors"]["name"]
    head = said.split("\n", maxsplit=1)[0]
    return any(
        begin <= step < end
        and head in (names[tensor], f"scratch of {found['steps']['name'][begin]}")
        for tensor, begin, end in zip(rects["tensor"], rects["begin"], rects["end"], strict=True)
    )


def test_a_link_shows_the_same(show: Show) -> None:
    found = record("residency")
    low, high = found["cycles"] // 4, found["cycles"] // 2
    screen = show("one", state=f"#theme=dark&tensor=3&from={low}&to={high}")
    assert screen.text("#followed h3") == found["tensors"]["name"][3]
    assert screen.text("#theme") == "Theme: dark"
    assert screen.view() == (low, high)


def test_two_memories_are_told_apart(show: Show) -> None:
    """The first page is of bank 0, the second of bank 1, where the tensor is moved to."""
    screen = show("banks")
    height = screen.canvas(MAP).size["height"]
    first, second = (MAP_HEAD + part * (height - MAP_HEAD - MAP_FOOT) for part in (0.75, 0.25))
    assert "bank 1" in screen.hover(MAP, 0.1, second)
    assert "bank 0" in screen.hover(MAP, 0.1, first)
    screen.press(MAP, 0.1, first)
    life = " ".join(screen.texts("#followed .events li"))
    assert "moved here, on chip" in life
    assert "moved from here" in life
    assert screen.text("[data-key=moved] .value") == "4 B"


def test_what_lanes_show_is_said_below_them(show: Show) -> None:
    assert "back to back from its start" in show("one").text("#said-of-time")


def test_paper_has_colors_and_no_controls(show: Show) -> None:
    screen = show("one")
    screen.cdp("Emulation.setEmulatedMedia", media="print")
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert screen.run(style, "#controls", "display") == "none"
    assert screen.run(style, ".swatch", "printColorAdjust") == "exact"
    assert screen.run(style, "#pictures-head", "breakAfter") == "avoid"
    screen.cdp("Emulation.setEmulatedMedia", media="")
