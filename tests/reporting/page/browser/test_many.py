"""30,000 operations: a small file, drawn at once, and smooth to move.

The limits are such that a busy machine keeps them; how fast it is on a quiet one is recorded apart
(``tests.reporting.page.browser.record``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.screen import MAP
from tests.reporting.page.browser.timing import drag

MOST_BYTES = 20_000_000
PAINT_MS, FRAME_MS = 20_000, 330
"""Ten times what is wanted of a quiet machine: 2 s, and 30 frames a second."""


def test_many_operations(show: Show, written: Callable[[str], Path]) -> None:
    assert written("many").stat().st_size < MOST_BYTES
    screen = show("many")
    drawn = screen.run("return window.drawnAt")
    assert drawn["pictures"] < PAINT_MS
    screen.press(MAP, 0.5, 200)
    screen.find("canvas:focus").send_keys("++")
    before = screen.view()
    assert median(drag(screen, sweeps=1)) < FRAME_MS
    assert screen.view()[0] > before[0]
    assert "steps" in screen.text("#tip") or screen.hover(MAP, 0.5, 200)
