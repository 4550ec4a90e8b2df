"""Ctrl-C asks for the best schedule so far; a second one ends the program."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(tell: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Give a function that says whether Ctrl-C was pressed; ``tell`` gets one line then."""
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        tell("interrupted: the best so far follows; press Ctrl-C again to leave at once")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
