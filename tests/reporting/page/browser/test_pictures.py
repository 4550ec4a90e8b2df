"""Map and lanes: what is drawn and said is what the record has; both move together."""

from __future__ import annotations

from base64 import b64decode
from bisect import bisect_right
from io import BytesIO

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from selenium.webdriver.common.keys import Keys

from spmopt.reporting.contrast import bytes_kept_more
from spmopt.reporting.palette import KIND_COLORS
from spmopt.reporting.plots.schedule import Boxes
from spmopt.reporting.quantities import si
from spmopt.reporting.schedule_view import ScheduleView
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import Record, contrast, record
from tests.reporting.page.browser.screen import GUTTER, LANES, MAP, MAP_FOOT, MAP_HEAD, Screen
from tests.reporting.samples import picture

Image = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]


def largest(found: Record) -> dict[str, int]:
    """The rectangle of a tensor that takes most of the picture."""
    rects = found["residencies"]
    rows = [dict(zip(rects, row, strict=True)) for row in zip(*rects.values(), strict=True)]
    return max(rows, key=lambda r: (r["stop"] - r["start"]) * r["pages"] * (r["tensor"] >= 0))


def test_a_rectangle_says_its_tensor_and_is_followed_by_a_click(show: Show) -> None:
    screen, found = show("one"), record("residency")
    rect, columns = largest(found), found["tensors"]
    height = screen.canvas(MAP).size["height"] - MAP_HEAD - MAP_FOOT
    up = (rect["page"] + rect["pages"] / 2) / found["spm_pages"]
    place = (rect["start"] + rect["stop"]) / 2 / found["cycles"], MAP_HEAD + (1 - up) * height
    name, kind, *lines = screen.hover(MAP, *place).split("\n")
    assert name == columns["name"][rect["tensor"]]
    assert si(columns["bytes"][rect["tensor"]], "B") in kind
    for words in ("came: ", "here for: ", f"left: {found['left'][rect['left']]}"):
        assert any(words in line for line in lines)
    screen.press(MAP, *place)
    facts = screen.text("#followed")
    assert screen.text("#followed h3") == name
    moved = {"loaded": "loaded", "streamed_in": "streamed in", "stored": "stored"}
    for column, words in moved.items():
        assert f"{words} {si(columns[column][rect['tensor']], 'B')}" in facts
    first = columns["uses_step"][columns["uses_first"][rect["tensor"]]]
    assert f"in step {first}, {found['steps']['name'][first]}" in facts
    screen.canvas(MAP).send_keys(Keys.ESCAPE)
    assert screen.texts("#followed h3") == []


def test_a_click_on_a_lane_shows_the_operation(show: Show) -> None:
    screen, found = show("one"), record("residency")
    steps = found["steps"]
    step = max(range(len(steps["name"])), key=lambda k: steps["compute_cycles"][k])
    middle = steps["compute_start"][step] + steps["compute_cycles"][step] / 2
    screen.press(LANES, middle / found["cycles"], screen.lane("compute"))
    assert screen.text("#followed h3") == steps["name"][step]
    assert screen.all("#followed .operands button")


@pytest.mark.parametrize("way", ["keys", "wheel", "button"])
def test_zoom_keeps_both_pictures_in_step(show: Show, way: str) -> None:
    screen, found = show("one"), record("residency")
    if way == "button":
        for _ in range(2):
            screen.click("[aria-label='Zoom in']")
    else:
        screen.press(MAP, 0.99, MAP_HEAD + 4)
    if way == "keys":
        screen.find("canvas:focus").send_keys("+++")
    if way == "wheel":
        x, y = screen.point(MAP, 0.5, 100)
        for _ in range(5):
            screen.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
    before = screen.view()
    assert 0 < before[1] - before[0] < found["cycles"] / 2
    screen.drag(LANES, (0.6, 0.4), screen.lane("compute"))
    after = screen.view()
    moved = (before[1] - before[0]) / 5
    assert after[0] == pytest.approx(before[0] + moved, abs=0.02 * moved + 2)
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], abs=2)
    require_in_step(screen, found, after)
    screen.click("[aria-label='All of the time']")
    assert screen.view() == (0, found["cycles"])


def require_in_step(screen: Screen, found: Record, view: tuple[float, float]) -> None:
    """The lanes name the step that the record has at that time."""
    starts, seen = found["steps"]["start"], 0
    for part in (0.2, 0.5, 0.8):
        cycles = view[0] + part * (view[1] - view[0])
        step = bisect_right(starts, cycles) - 1
        ends = found["cycles"] if step + 1 == len(starts) else starts[step + 1]
        width = (view[1] - view[0]) / 1000
        if cycles - starts[step] < 2 * width or ends - cycles < 2 * width:
            continue  # too near to the next one to be told apart by a pixel
        lane = screen.hover(LANES, part, screen.lane("compute")).split("\n")[0]
        assert lane == f"step {step}, {found['steps']['name'][step]}"
        seen += 1
    assert seen


def test_two_memories_are_told_apart(show: Show) -> None:
    screen = show("banks")
    height = screen.canvas(MAP).size["height"]
    for part, bank in ((0.75, "bank 0"), (0.25, "bank 1")):
        assert bank in screen.hover(MAP, 0.1, MAP_HEAD + part * (height - MAP_HEAD - MAP_FOOT))
    assert screen.text("[data-key=moved] .value") == "4 B"


def test_what_only_one_keeps_is_marked(show: Show) -> None:
    """What one keeps more is strong at first; the other's half of it stays pale."""
    screen, (a, b) = show("two"), (picture("belady"), picture("residency"))
    before = [seen(screen, place) for place in (0, 2)]
    for place, (one, other) in zip((0, 2), ((a, b), (b, a)), strict=True):
        require_marked(screen, place, one, other)
    screen.click("#mark")
    screen.settle()
    assert all((seen(screen, place) != before[place // 2]).any() for place in (0, 2))


def test_nothing_is_drawn_after_the_end_of_the_shorter(show: Show) -> None:
    screen = show("two")
    end = record("residency")["cycles"] / record("belady")["cycles"]
    assert end < 0.95
    assert [ink(screen, place, end, 1) for place in (2, 3)] == [0.0] * 2
    assert min(ink(screen, place, 0, end) for place in (2, 3)) > 0.5
    for label in (f"{MAP} of B", f"{LANES} of B"):
        assert screen.hover(label, (1 + end) / 2, 60).startswith("B has ended")


def test_the_curve_says_what_is_gained_in_each_step(show: Show) -> None:
    screen, a, gained = show("two"), record("belady"), contrast()["gained_cycles"]
    steps, clock = a["steps"], a["clock_hz"]
    step = max(range(len(steps["name"])), key=lambda k: steps["cycles"][k])
    part = (steps["start"][step] + steps["cycles"][step] / 2) / a["cycles"]
    said = screen.hover(f"{LANES} of A", part, screen.lane("B ahead"))
    assert said.startswith(f"step {step}, {steps['name'][step]}")
    here = abs(gained[step + 1] - gained[step]) / clock
    assert f"{si(here, 's')}; then it is {si(abs(gained[step + 1]) / clock, 's')}" in said


def test_paper_has_colors_and_no_controls_and_dark_another_ground(show: Show) -> None:
    screen = show("one")
    light = seen(screen, 0)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    screen.cdp("Emulation.setEmulatedMedia", features=dark)
    screen.settle()
    assert (seen(screen, 0) != light).any()
    screen.cdp("Emulation.setEmulatedMedia", media="print", features=[])
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert screen.run(style, "#controls", "display") == "none"
    assert screen.run(style, ".swatch", "printColorAdjust") == "exact"
    screen.cdp("Emulation.setEmulatedMedia", media="")


def seen(screen: Screen, place: int) -> Image:
    """Colors of a picture as it stands, with opacity; (height, width, 4)."""
    shot = screen.run(
        "return document.querySelectorAll('.stage canvas')[arguments[0]].toDataURL()", place
    )
    return np.round(np.asarray(imread(BytesIO(b64decode(shot.split(",")[1])))) * 255)


def ink(screen: Screen, place: int, start: float, stop: float) -> float:
    """Part of the pixels of a picture that something is drawn on, between parts of the time."""
    image = seen(screen, place)
    wide = image.shape[1] - GUTTER["left"] - GUTTER["right"]
    begin, end = (GUTTER["left"] + round(part * wide) for part in (start, stop))
    return float((image[MAP_HEAD:, begin + 2 : end - 2, 3] > 0).mean())


def require_marked(screen: Screen, place: int, one: ScheduleView, other: ScheduleView) -> None:
    """The largest rectangles on a map have their color just where they are kept more."""
    more, every = Boxes.of(one, bytes_kept_more(one, other)), Boxes.of(one)
    longest = max(a.times.cycles for a in (one, other)) / one.problem.machine.clock_hz
    image = seen(screen, place)
    height, width = image.shape[0] - MAP_HEAD - MAP_FOOT, image.shape[1]
    wide = width - GUTTER["left"] - GUTTER["right"]
    for boxes in (more, every):
        area = (boxes.right - boxes.left) * (boxes.high - boxes.low) * (boxes.tensor >= 0)
        for row in np.argsort(-area)[:8]:
            # Beside the middle, where a name may stand.
            x = boxes.left[row] + 0.97 * (boxes.right[row] - boxes.left[row])
            y = boxes.low[row] + 0.2 * (boxes.high[row] - boxes.low[row])
            up = 1 - y / one.problem.machine.spm_bytes
            found = image[int(MAP_HEAD + up * height), int(GUTTER["left"] + x / longest * wide), :3]
            strong = np.array(to_rgb(KIND_COLORS[boxes.kind[row]])) * 255
            here = (more.left <= x) & (x < more.right) & (more.low <= y) & (y < more.high)
            assert (abs(found - strong).max() < 12) == here.any()
