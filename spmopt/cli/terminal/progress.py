"""Progress on a terminal, after one second: a line, and the state of searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock, Timer

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from spmopt.api.callbacks import Callbacks
from spmopt.cli.terminal.interrupt import Interrupted
from spmopt.cli.terminal.live import Live
from spmopt.cli.terminal.output import messages, print_message, print_warning
from spmopt.reporting.tables import align, fold, layout, visible

DELAY_S = 1.0
Report = Callable[[str, float | None], None]
_BELOW = 4
"""Lines that a terminal needs below the rows."""
_INDENT = 2
"""Blanks before all lines of a note but the first."""


def is_animated(console: Console) -> bool:
    """Return whether lines can be drawn anew: no file, no pipe, with or without colors."""
    return console.file.isatty() and not console.is_dumb_terminal and not console.quiet


@contextmanager
def progress(
    console: Console, live: Live | None = None, *, remaining: bool = False
) -> Iterator[Report]:
    """Give a function to report to: a message, and the part done where it is known.

    Nothing is shown unless ``console`` is a terminal, and nothing stays there afterwards.

    Parameters
    ----------
    live
        Rows to be shown above the line.
    remaining
        Show the time left, too.
    """
    if not is_animated(console):
        yield lambda message, part: None
        return
    display = _Display(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        *([TextColumn("left"), TimeRemainingColumn()] if remaining else []),
        console=console,
        transient=True,
        refresh_per_second=4,
    )
    display.live_rows = live
    task = display.add_task("starting", total=None)
    lock, done = Lock(), False

    def start() -> None:
        with lock:
            if not done:
                display.start()

    def report(message: str, part: float | None) -> None:
        total = None if part is None else 1.0
        display.update(task, description=visible(message), total=total, completed=part or 0.0)

    # Short commands show nothing: a line that flashes is worse than none.
    timer = Timer(DELAY_S, start)
    timer.daemon = True
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        with lock:
            done = True
            display.stop()


@contextmanager
def watching(live: Live | None = None, *, remaining: bool = False) -> Iterator[Callbacks]:
    """Give callbacks that show progress and warnings, and news of schedules in ``live``."""
    ends = (Interrupted, KeyboardInterrupt)
    with progress(messages(), live, remaining=remaining) as report:
        callbacks = Callbacks(
            progress=report, note=print_message, warn=print_warning, interrupts=ends
        )
        yield callbacks if live is None else replace(callbacks, on_incumbent=live.add)


class _Display(Progress):
    """The line, and rows above it that are asked for each time."""

    live_rows: Live | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield all parts, from top to bottom."""
        if self.live_rows is not None:
            yield from _draw(self.live_rows, self.console)
        yield self.make_tasks_table(self.tasks)


def _draw(live: Live, console: Console) -> Iterator[RenderableType]:
    """Yield the rows that there is room for, at least the last one, and notes on them."""
    rows = [tuple(map(visible, row)) for row in live.rows()]
    notes = [line for note in live.notes() for line in fold(note, console.width, _INDENT)]
    # rich cannot erase lines that have scrolled off, so that all must fit the terminal.
    most = max(1, console.height - _BELOW - len(notes))
    fit = layout(live.columns, rows, console.width, dispensable=live.dispensable, words=())
    if not rows:
        return
    head, *body = (
        align(cells, live.columns, fit, live.columns[:1]) for cells in (live.columns, *rows[-most:])
    )
    # One text: a table of rich takes five times as long, and is made anew again and again.
    text = Text(
        "\n".join(line for lines in (head, *body, notes) for line in lines),
        no_wrap=True,
        overflow="crop",
    )
    text.stylize("bold", 0, len(head[0]))
    yield text
