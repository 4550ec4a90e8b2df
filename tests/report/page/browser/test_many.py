"""30,000 operations: a small file, drawn at once, and smooth to move.

The limits are such that a busy machine keeps them; how fast it is on a quiet one is measured apart.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

from tests.report.page.browser.conftest import Show
from tests.report.page.browser.screen import MAP, Screen

MOST_BYTES = 20_000_000
PAINT_MS, FRAME_MS = 20_000, 330
"""Ten times what is wanted of a quiet machine: 2 s, and 30 frames a second."""
MOVES = 30
_FRAMES = """
window.frames = [];
const next = (time) => {
  window.frames.push(time);
  if (window.frames.length < 5000) requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""


def frames(screen: Screen, moves: Callable[[], None]) -> list[float]:
    """Milliseconds from frame to frame meanwhile."""
    screen.run(_FRAMES)
    moves()
    times = screen.run("const found = window.frames; window.frames = []; return found")
    return [after - before for before, after in pairwise(times)]


def test_many_operations(show: Show, written: Callable[[str], Path]) -> None:
    assert written("many").stat().st_size < MOST_BYTES
    screen = show("many")
    drawn = screen.run("return window.drawnAt")
    assert drawn["pictures"] < PAINT_MS
    screen.press(MAP, 0.5, 200)
    screen.find("canvas:focus").send_keys("++")

    def pan() -> None:
        x, y = screen.point(MAP, 0.8, 150)
        screen.mouse("mousePressed", x, y, button="left", clickCount=1)
        for move in range(MOVES):
            screen.mouse("mouseMoved", x - 12 * move, y, button="left", buttons=1)
        screen.mouse("mouseReleased", x - 12 * MOVES, y, button="left", clickCount=1)

    before = screen.view()
    assert median(frames(screen, pan)) < FRAME_MS
    assert screen.view()[0] > before[0]
    assert "steps" in screen.text("#tip") or screen.hover(MAP, 0.5, 200)
