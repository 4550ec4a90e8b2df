"""Ctrl-C, SIGTERM and SIGHUP ask for the best schedule so far; a second one ends the program."""

from __future__ import annotations

import signal
import sys
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from types import FrameType

from spmopt.experiments.interrupts import endings_as_interrupt, handle_signals

_SOON_S = 0.01


class Interrupted(BaseException):
    """Ctrl-C while there is nothing to hand over; no library takes it for its own.

    Its text, if any, names the loss.
    """


@contextmanager
def leaving() -> Iterator[Callable[[], bool]]:
    """Raise :class:`Interrupted` at Ctrl-C; give a function that says whether it was.

    A library may turn the exception into one of its own, so a flag records the key.
    """
    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        pressed = True
        raise Interrupted

    with handle_signals([signal.SIGINT], handle), endings_as_interrupt(), _again():
        yield lambda: pressed


@contextmanager
def _again() -> Iterator[None]:
    """Raise an exception again that Python lost, and say nothing of it.

    One that is raised where a library's object is freed can be raised no further: Python prints
    it, and goes on. In a moment the main thread is elsewhere.
    """
    before, timers = sys.unraisablehook, list[Timer]()

    def hook(found: sys.UnraisableHookArgs) -> None:
        if found.exc_type is not Interrupted:
            before(found)
            return
        timers.append(Timer(_SOON_S, interrupt_main))
        timers[-1].daemon = True
        timers[-1].start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        sys.unraisablehook = before


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Give a function that returns whether Ctrl-C was pressed, upon which one line is printed."""
    from spmopt.cli.terminal.output import print_message

    pressed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        if pressed:
            raise Interrupted
        pressed = True
        print_message("interrupted: the best so far follows; press Ctrl-C again to leave at once")

    with handle_signals([signal.SIGINT], handle):
        yield lambda: pressed


@contextmanager
def losing(has_schedule: Callable[[], bool]) -> Iterator[None]:
    """Let a second Ctrl-C report the loss that it causes."""
    try:
        yield
    except Interrupted:
        if not has_schedule():
            raise
        # Only where something was found: else there is no loss to report.
        raise Interrupted("left at once; what was found so far was not kept") from None
