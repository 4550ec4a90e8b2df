"""Ctrl-C asks for the best schedule so far; a second one ends the program."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


class Interrupted(BaseException):
    """Ctrl-C while there is nothing to hand over; no library takes it for its own."""


@contextmanager
def leaving() -> Iterator[Callable[[], bool]]:
    """Raise :class:`Interrupted` at Ctrl-C; give a function that says whether it was.

    A library may turn the exception into one of its own, so what was pressed is asked for.
    """
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        pressed = True
        raise Interrupted

    with _handler(handle):
        yield lambda: pressed


def ignore() -> None:
    """Let Ctrl-C have no effect: the program is about to end."""
    if current_thread() is main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interruptible(tell: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Give a function that says whether Ctrl-C was pressed; ``tell`` gets one line then."""
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        if pressed:
            raise Interrupted
        pressed = True
        tell("interrupted: the best so far follows; press Ctrl-C again to leave at once")

    with _handler(handle):
        yield lambda: pressed


@contextmanager
def _handler(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle SIGINT by ``handle``; only the main thread may say so."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
