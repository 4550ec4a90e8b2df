"""How long pages take: to be written, to show something, and to follow a pointer that drags."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from results.shared.bench import Figures, timed
from spmopt.io.document import write_text
from spmopt.io.files import read_result
from spmopt.reporting.page import page_of
from spmopt.reporting.schedule_view import ScheduleView
from tests.reporting.page.browser.screen import MAP, Screen

ZOOMS = (2, 16, 128)
"""How many times as wide as at first the time is drawn, in the middle; all of it cannot move."""
SWEEPS, MOVES, PIXELS = 3, 40, 8
"""A drag: so many ways forth or back, of so many moves of the pointer each, of so many pixels."""
_DRAG = """
const [canvas, x, y, sweeps, moves, pixels, done] = arguments;
const frames = [];
const next = (time) => {
  frames.push(time);
  const move = frames.length - 1;
  if (move === sweeps * moves) return done(frames);
  // To the left and back.
  const turn = Math.abs(((move + moves) % (2 * moves)) - moves);
  canvas.dispatchEvent(new PointerEvent("pointermove", {
    pointerId: 1, pointerType: "mouse", buttons: 1, bubbles: true,
    clientX: x - pixels * turn, clientY: y,
  }));
  requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""
_PAINTED = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def written(results: Sequence[Path], page: Path) -> Figures:
    """Write the page of one schedule or two; seconds do not hold reading and importing.

    ``rectangles`` are those of all maps on the page, ``mb`` is 10^6 bytes.
    """
    stored = [read_result(path) for path in results]

    def make() -> list[ScheduleView]:
        pictures = [ScheduleView.of(each) for each in stored]
        write_text(page, page_of(pictures))
        return pictures

    pictures, taken = timed(make)
    return {
        "operations": len(stored[0].problem.operations),
        "rectangles": sum(picture.residencies.tensor.size for picture in pictures),
        "mb": page.stat().st_size / 1e6,
        "write_s": taken["wall_s"],
    }


def looked_at(screen: Screen, page: Path) -> Figures:
    """Open a page, and drag its first map at every one of :data:`ZOOMS`.

    ``painted_ms`` until something is to be seen (first contentful paint), ``pictures_ms`` until
    all pictures are drawn; of each zoom frames a second, and the 95th percentile of the time from
    one frame to the next.
    """
    screen.open(page)
    painted = screen.run(_PAINTED)
    drawn = screen.run("return window.drawnAt.pictures")
    found: dict[str, float | str | None] = {"painted_ms": painted, "pictures_ms": drawn}
    for zoom in ZOOMS:
        screen.click("[aria-label='All of the time']")
        for _ in range(zoom.bit_length() - 1):
            screen.click("[aria-label='Zoom in']")
        screen.settle()
        times = drag(screen)
        found[f"frames_{zoom}"] = 1000 * len(times) / sum(times)
        found[f"frame_{zoom}_ms"] = float(np.percentile(times, 95))
    return found


def drag(screen: Screen, sweeps: int = SWEEPS) -> list[float]:
    """Drag the first map to the left, back, and so on, a move each frame.

    Milliseconds from frame to frame. The driver moves a pointer in every second frame only, so
    that the page itself makes events of moves once the button is down.
    """
    x, y = screen.point(MAP, 0.6, 100)
    screen.mouse("mousePressed", x, y, button="left", clickCount=1)
    times = screen.driver.execute_async_script(
        _DRAG, screen.canvas(MAP), x, y, sweeps, MOVES, PIXELS
    )
    screen.mouse("mouseReleased", x, y, button="left", clickCount=1)
    return [after - before for before, after in pairwise(times)]
