"""Ctrl-C, and the signals that batch systems and terminals end a program with."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

_ONE_S = 1.0
_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_Handler = Callable[[int, FrameType | None], Any] | int | None


@contextmanager
def endings_as_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP act as Ctrl-C; those that are ignored, as by nohup, stay so.

    Several at once are one: shells and systems send both, or one again, to whom it has reached.
    """
    last_s = -_ONE_S

    def forward(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        before_s, last_s = last_s, monotonic()
        if last_s < before_s + _ONE_S:
            return
        # Asked now, not at the start: the handler of Ctrl-C changes while the program runs.
        handle = signal.getsignal(signal.SIGINT)
        if callable(handle):
            handle(number, frame)
        else:  # shells let background jobs ignore Ctrl-C, but not these
            raise KeyboardInterrupt

    own = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    with handle_signals(own, forward):
        yield


def ignore_endings() -> None:
    """Ignore Ctrl-C and the signals that act as it: the program is about to end."""
    if current_thread() is main_thread():
        for number in (signal.SIGINT, *_ENDINGS):
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Take no second Ctrl-C while processes end, which is soon: it would leave some of them."""
    with handle_signals([signal.SIGINT], lambda number, frame: None):
        yield


@contextmanager
def unbroken() -> Iterator[None]:
    """Defer a Ctrl-C to the end of a block that must not be left half done."""
    waiting: list[tuple[int, FrameType | None]] = []
    before = signal.getsignal(signal.SIGINT)
    with handle_signals([signal.SIGINT], lambda number, frame: waiting.append((number, frame))):
        yield
    if waiting and callable(before):
        # Once: several presses while waiting mean one.
        before(*waiting[0])
    elif any(number in _ENDINGS for number, _ in waiting):
        raise KeyboardInterrupt


@contextmanager
def handle_signals(numbers: list[Any], handle: _Handler) -> Iterator[None]:
    """Handle signals so; only the main thread may say it."""
    # Python sets handlers in the main thread only; elsewhere there is nothing to protect.
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
