"""A line on the terminal that says what is going on, from the second second on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

DELAY_S = 1.0
Report = Callable[[str, float | None], None]


@contextmanager
def progress(console: Console, *, remaining: bool = False) -> Iterator[Report]:
    """Give a function to report to: a message, and the part done where it is known.

    Nothing is shown unless ``console`` is a terminal, and nothing stays there afterwards.
    ``remaining`` shows the time left, too.
    """
    if not console.is_terminal:
        yield _silent
        return
    display = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        *([TextColumn("left"), TimeRemainingColumn()] if remaining else []),
        console=console,
        transient=True,
        refresh_per_second=4,
    )
    task = display.add_task("starting", total=None)
    lock, done = Lock(), False

    def show() -> None:
        with lock:
            if not done:
                display.start()

    def report(message: str, part: float | None) -> None:
        total = None if part is None else 1.0
        display.update(task, description=message, total=total, completed=part or 0.0)

    timer = Timer(DELAY_S, show)
    timer.daemon = True
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        with lock:
            done = True
            display.stop()


def _silent(message: str, part: float | None) -> None:
    del message, part
