"""Two schedules on a page: figures, differences, and what only one of them keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from spmopt.report.palette import KIND_COLOURS
from spmopt.report.picture import Picture
from spmopt.report.plots.schedule import Boxes
from tests.report.page.browser.conftest import Show
from tests.report.page.browser.pages import contrast, record
from tests.report.page.browser.saved import saved
from tests.report.page.browser.screen import GUTTER, MAP_FOOT, MAP_HEAD, Screen
from tests.report.samples import picture


def test_compare_mode_has_both_and_their_differences(show: Show, downloads: Path) -> None:
    screen, found = show("two"), contrast()
    marks = [text[:1] for text in screen.texts("#pictures h3")]
    assert marks == ["A", "B"]
    cells = screen.texts("#figures tbody tr > *")
    for place, figure in enumerate(found["figures"]):
        row = cells[4 * place : 4 * place + 4]
        assert row[:3] == [figure["label"], figure["text_a"], figure["text_b"]]
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
    screen.click("#contrast input[value='operations']")
    both = saved(screen, downloads, "#contrast .table", "operations.csv")
    clock = a["clock_hz"]
    for name, side in (("time_a_s", "belady"), ("time_b_s", "page")):
        total = sum(float(row[name]) for row in both)
        assert total == pytest.approx(record(side)["cycles"] / clock)


def test_what_only_one_keeps_is_marked(show: Show) -> None:
    """Pages at the middle of what one keeps more are strong; the other's half of it stays pale."""
    screen, (a, b) = show("two"), (picture("belady"), picture("page"))
    shot = "return document.querySelectorAll('.stage canvas')[arguments[0]].toDataURL()"
    places = [0, 3]
    before = [screen.run(shot, place) for place in places]
    screen.click("#mark")
    screen.settle()
    for place, (one, other) in zip(places, ((a, b), (b, a)), strict=True):
        require_marked(screen, place, one, other)
    screen.click("#mark")
    screen.settle()
    assert [screen.run(shot, place) for place in places] == before


def require_marked(screen: Screen, place: int, one: Picture, other: Picture) -> None:
    """The largest rectangles on a map have their colour just where they are kept more."""
    more, every = Boxes.kept_more(one, other), Boxes.of(one)
    longest = max(a.times.cycles for a in (one, other)) / one.instance.machine.clock_hz
    for boxes in (more, every):
        area = (boxes.right - boxes.left) * (boxes.high - boxes.low) * (boxes.tensor >= 0)
        for row in np.argsort(-area)[:8]:
            # Beside the middle, where a name may stand.
            x = boxes.left[row] + 0.97 * (boxes.right[row] - boxes.left[row])
            y = boxes.low[row] + 0.2 * (boxes.high[row] - boxes.low[row])
            found = np.array(pixel(screen, place, x / longest, y / one.instance.machine.spm_bytes))
            strong = np.array(to_rgb(KIND_COLOURS[boxes.kind[row]])) * 255
            here = (more.left <= x) & (x < more.right) & (more.low <= y) & (y < more.high)
            assert (abs(found - strong).max() < 12) == here.any()


def pixel(screen: Screen, place: int, part: float, up: float) -> list[float]:
    """Colour of a map at a part of the time, and of the scratchpad."""
    found: list[float] = screen.run(
        "const [place, part, up, left, right, head, foot] = arguments;"
        "const canvas = document.querySelectorAll('.stage canvas')[place];"
        "const x = left + part * (canvas.width - left - right);"
        "const y = head + (1 - up) * (canvas.height - head - foot);"
        "const copy = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});"
        "copy.drawImage(canvas, -Math.floor(x), -Math.floor(y));"
        "return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3)",
        *(place, part, up, GUTTER["left"], GUTTER["right"], MAP_HEAD, MAP_FOOT),
    )
    return found
