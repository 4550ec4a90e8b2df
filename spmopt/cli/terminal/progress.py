"""What is going on, on a terminal from the second second on: a line, and how searches stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Protocol

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
from spmopt.cli.terminal.output import messages, tell, warn
from spmopt.reporting.tables import aligned, folded, layout, visible

DELAY_S = 1.0
Report = Callable[[str, float | None], None]
_BELOW = 4
"""Lines that a terminal needs below the rows."""
_INDENT = 2
"""Of what follows the first line of a note."""


class Board(Protocol):
    """Rows that change, to be shown above the line."""

    columns: tuple[str, ...]
    dispensable: tuple[str, ...]

    def rows(self) -> list[tuple[str, ...]]:
        """Cells of all rows; the last ones are the latest."""
        ...

    def notes(self) -> list[str]:
        """Lines below the rows."""
        ...


Show = Callable[[Board], None]


def animated(console: Console) -> bool:
    """Whether what is shown can be shown anew: no file, no pipe, whatever colors they get."""
    return console.file.isatty() and not console.is_dumb_terminal and not console.quiet


@contextmanager
def progress(console: Console, *, remaining: bool = False) -> Iterator[Report]:
    """Give a function to report to: a message, and the part done where it is known.

    Nothing is shown unless ``console`` is a terminal, and nothing stays there afterwards.
    ``remaining`` shows the time left, too.
    """
    with watched(console, remaining=remaining) as (report, _):
        yield report


@contextmanager
def watched(console: Console, *, remaining: bool = False) -> Iterator[tuple[Report, Show]]:
    """As :func:`progress`; the second function shows rows from then on."""
    if not animated(console):
        yield _silent, _unseen
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
    task = display.add_task("starting", total=None)
    lock, done = Lock(), False

    def start() -> None:
        with lock:
            if not done:
                display.start()

    def report(message: str, part: float | None) -> None:
        total = None if part is None else 1.0
        display.update(task, description=visible(message), total=total, completed=part or 0.0)

    timer = Timer(DELAY_S, start)
    timer.daemon = True
    timer.start()
    try:
        yield report, display.show
    finally:
        timer.cancel()
        with lock:
            done = True
            display.stop()


@contextmanager
def watching(*, remaining: bool = False) -> Iterator[Callbacks]:
    """Give callbacks that show progress and warnings."""
    with watching_rows(remaining=remaining) as (callbacks, _):
        yield callbacks


@contextmanager
def watching_rows(*, remaining: bool = False) -> Iterator[tuple[Callbacks, Show]]:
    """As :func:`watching`; the second function shows rows from then on."""
    with watched(messages(), remaining=remaining) as (report, show):
        ends = (Interrupted, KeyboardInterrupt)
        yield Callbacks(progress=report, note=tell, warn=warn, interrupts=ends), show


class _Display(Progress):
    """The line, and rows above it that are asked for each time."""

    _board: Board | None = None

    def show(self, board: Board) -> None:
        """Show rows from now on."""
        self._board = board

    def get_renderables(self) -> Iterable[RenderableType]:
        """All parts, from top to bottom."""
        if self._board is not None:
            yield from _drawn(self._board, self.console)
        yield self.make_tasks_table(self.tasks)


def _drawn(board: Board, console: Console) -> Iterator[RenderableType]:
    """The rows that there is room for, at least the last one, and what is said of them."""
    rows = [tuple(map(visible, row)) for row in board.rows()]
    notes = [line for note in board.notes() for line in folded(note, console.width, _INDENT)]
    most = max(1, console.height - _BELOW - len(notes))
    fit = layout(board.columns, rows, console.width, dispensable=board.dispensable, words=())
    if not rows:
        return
    head, *body = (
        aligned(cells, board.columns, fit, board.columns[:1])
        for cells in (board.columns, *rows[-most:])
    )
    # One text: a table of rich takes five times as long, and is made anew again and again.
    text = Text(
        "\n".join(line for lines in (head, *body, notes) for line in lines),
        no_wrap=True,
        overflow="crop",
    )
    text.stylize("bold", 0, len(head[0]))
    yield text


def _silent(message: str, part: float | None) -> None:
    del message, part


def _unseen(board: Board) -> None:
    del board
