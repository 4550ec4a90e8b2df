"""Two schedules on a page: figures, differences, and what only one of them keeps."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from spmopt.reporting.contrast import bytes_kept_more
from spmopt.reporting.palette import KIND_COLORS
from spmopt.reporting.plots.schedule import Boxes
from spmopt.reporting.quantities import si
from spmopt.reporting.schedule_view import ScheduleView
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import contrast, record
from tests.reporting.page.browser.saved import saved
from tests.reporting.page.browser.screen import GUTTER, LANES, MAP, MAP_FOOT, MAP_HEAD, Screen
from tests.reporting.samples import picture

PICTURES = ".stage canvas"
Image = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]


def test_compare_mode_has_both_and_their_differences(show: Show, downloads: Path) -> None:
    screen, found = show("two"), contrast()
    marks = [text[:1] for text in screen.texts("#pictures h3")]
    assert marks == ["A", "B"]
    main = [figure for figure in found["figures"] if figure["is_main"]]
    cells = screen.texts("#figures tbody tr > *")
    for place, figure in enumerate([*main, *found["figures"]]):
        row = cells[4 * place : 4 * place + 4]
        assert row[:3] == [figure["label"], figure["text_a"], figure["text_b"]]
    assert not screen.find("#all-figures table").is_displayed()
    screen.click("#all-figures summary")
    assert screen.find("#all-figures table").is_displayed()
    gaps, a = found["gaps"], record("belady")
    assert len(gaps["tensor"]) > 0
    rows = saved(screen, downloads, "#contrast .table", "kept.csv")
    assert [
        (row["tensor"], int(row["kept_a_bytes"]), int(row["kept_b_bytes"])) for row in rows
    ] == [
        (a["tensors"]["name"][tensor], kept_a, kept_b)
        for tensor, kept_a, kept_b in zip(
            gaps["tensor"], gaps["kept_a"], gaps["kept_b"], strict=True
        )
    ]
    screen.click("#contrast tbody button")
    assert screen.text("#followed h3") == rows[0]["tensor"]
    assert screen.texts("#followed h4") == ["In A", "In B"]
    head = "return document.getElementById('pictures-head').getBoundingClientRect()"
    assert -1 < screen.run(f"{head}.top") < screen.run("return innerHeight")  # parts of a pixel
    screen.click("#contrast input[value='operations']")
    both = saved(screen, downloads, "#contrast .table", "operations.csv")
    clock = a["clock_hz"]
    for name, side in (("time_a_s", "belady"), ("time_b_s", "residency")):
        total = sum(float(row[name]) for row in both)
        assert total == pytest.approx(record(side)["cycles"] / clock)


def test_what_only_one_keeps_is_marked(show: Show) -> None:
    """It is at first: what one keeps more is strong; the other's half of it stays pale."""
    screen, (a, b) = show("two"), (picture("belady"), picture("residency"))
    shot = "return document.querySelectorAll('.stage canvas')[arguments[0]].toDataURL()"
    places = [0, 2]
    before = [screen.run(shot, place) for place in places]
    for place, (one, other) in zip(places, ((a, b), (b, a)), strict=True):
        require_marked(screen, place, one, other)
    screen.click("#mark")
    screen.settle()
    assert all(screen.run(shot, place) != before[place // 2] for place in places)
    screen.click("#mark")
    screen.settle()
    assert [screen.run(shot, place) for place in places] == before


def test_nothing_is_drawn_after_the_end_of_the_shorter(show: Show) -> None:
    screen = show("two")
    longer, shorter = record("belady")["cycles"], record("residency")["cycles"]
    end = shorter / longer
    assert end < 0.95
    screen.click("#contrast tbody button")
    screen.click("[aria-label='All of the time']")
    screen.settle()
    inked = [ink(screen, place, end, 1, MAP_HEAD) for place in range(4)]
    assert inked[2:] == [0.0] * 2
    assert min(inked[:2]) > 0.5
    before = [ink(screen, place, 0, end, 0) for place in range(2, 4)]
    assert min(before) > 0.5
    for label in (f"{MAP} of B", f"{LANES} of B"):
        assert screen.hover(label, (1 + end) / 2, 60).startswith("B has ended")
        assert "ended" not in screen.hover(label, 0.98 * end, 60)


def test_the_curve_says_what_is_gained_in_each_step(show: Show) -> None:
    screen, (a, b) = show("two"), (record("belady"), record("residency"))
    gained, clock = contrast()["gained_cycles"], a["clock_hz"]
    label, steps = f"{LANES} of A", a["steps"]
    step = max(range(len(steps["name"])), key=lambda k: steps["cycles"][k])
    part = (steps["start"][step] + steps["cycles"][step] / 2) / a["cycles"]
    lead = screen.lane("B ahead")
    said = screen.hover(label, part, lead)
    assert said.startswith(f"step {step}, {steps['name'][step]}")
    here = abs(gained[step + 1] - gained[step]) / clock
    assert f"{si(here, 's')}; then it is {si(abs(gained[step + 1]) / clock, 's')}" in said
    there = b["steps"]["name"].index(steps["name"][step])
    assert f"B {si(b['steps']['cycles'][there] / clock, 's')}" in said
    screen.press(label, part, lead)
    assert screen.texts("#followed h4")[0] == "In A"
    assert "In B" in screen.texts("#followed h4")


def test_a_click_on_a_stall_leads_to_what_is_in_its_way(show: Show) -> None:
    screen, a = show("two"), record("belady")
    steps = a["steps"]
    longest = max(range(len(steps["name"])), key=lambda k: steps["stall_cycles"][k])
    start, computes = steps["compute_start"][longest], steps["compute_cycles"][longest]
    before = start - steps["start"][longest]
    after = steps["cycles"][longest] - before - computes
    middle = steps["start"][longest] + before / 2
    if after > before:
        middle = start + computes + after / 2
    longer = max(a["cycles"], record("residency")["cycles"])
    screen.press(f"{LANES} of A", middle / longer, screen.lane("stalls"))
    assert screen.text("#followed h3") == steps["name"][longest]
    rows = a["explained"]["steps"][str(longest)]
    said = screen.texts("#followed .explained li")
    assert len(said) == len(rows) > 0
    for text, (stall, transfer, _, _, blocked, _) in zip(said, rows, strict=True):
        assert text.startswith(f"{stall.strip()} for {transfer}")
        assert blocked in text


def test_the_views_fit_a_screen(show: Show) -> None:
    """Of one schedule all down to the last lane, of two what is below the heading."""
    foot = (
        "const all = [...document.querySelectorAll('.stage canvas:not([hidden])')];"
        "const foot = Math.max(...all.map((e) => e.getBoundingClientRect().bottom));"
    )
    screen = show("one", width=1440, height=900)
    assert 850 < screen.run(f"{foot} return foot + scrollY") <= 900
    screen = show("two", width=1440, height=900)
    head = "document.getElementById('pictures-head').getBoundingClientRect().top"
    assert 850 < screen.run(f"{foot} return foot - {head}") <= 900


def ink(screen: Screen, place: int, start: float, stop: float, top: int) -> float:
    """Part of the pixels of a picture that something is drawn on, between parts of the time."""
    image = seen(screen, PICTURES, place)
    wide = image.shape[1] - GUTTER["left"] - GUTTER["right"]
    begin, end = (GUTTER["left"] + round(part * wide) for part in (start, stop))
    return float((image[top:, begin + 2 : end - 2, 3] > 0).mean())


def seen(screen: Screen, css: str, place: int) -> Image:
    """Colors of a picture as it stands, with opacity; (height, width, 4)."""
    shot = screen.run(
        "return document.querySelectorAll(arguments[0])[arguments[1]].toDataURL()", css, place
    )
    return np.round(np.asarray(imread(BytesIO(b64decode(shot.split(",")[1])))) * 255)


def require_marked(screen: Screen, place: int, one: ScheduleView, other: ScheduleView) -> None:
    """The largest rectangles on a map have their color just where they are kept more."""
    more, every = Boxes.of(one, bytes_kept_more(one, other)), Boxes.of(one)
    longest = max(a.times.cycles for a in (one, other)) / one.problem.machine.clock_hz
    for boxes in (more, every):
        area = (boxes.right - boxes.left) * (boxes.high - boxes.low) * (boxes.tensor >= 0)
        for row in np.argsort(-area)[:8]:
            # Beside the middle, where a name may stand.
            x = boxes.left[row] + 0.97 * (boxes.right[row] - boxes.left[row])
            y = boxes.low[row] + 0.2 * (boxes.high[row] - boxes.low[row])
            found = np.array(pixel(screen, place, x / longest, y / one.problem.machine.spm_bytes))
            strong = np.array(to_rgb(KIND_COLORS[boxes.kind[row]])) * 255
            here = (more.left <= x) & (x < more.right) & (more.low <= y) & (y < more.high)
            assert (abs(found - strong).max() < 12) == here.any()


def pixel(screen: Screen, place: int, part: float, up: float) -> list[float]:
    """Color of a map at a part of the time, and of the scratchpad."""
    image = seen(screen, PICTURES, place)
    height, width = image.shape[0] - MAP_HEAD - MAP_FOOT, image.shape[1]
    x = GUTTER["left"] + part * (width - GUTTER["left"] - GUTTER["right"])
    found: list[float] = image[int(MAP_HEAD + (1 - up) * height), int(x), :3].tolist()
    return found
