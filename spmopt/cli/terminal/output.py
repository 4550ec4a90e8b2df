"""Where results and messages go: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from rich.console import Console

from spmopt.cli.codes import Code
from spmopt.cli.terminal.streams import discard, escape
from spmopt.core.validation import shorten
from spmopt.reporting.tables import visible

if TYPE_CHECKING:
    from spmopt.api.shown import Shown


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise, so that the program decides; rich would exit with status 1."""
        raise BrokenPipeError


_QUIET = ContextVar("quiet", default=False)


@contextmanager
def silence(quiet: bool = True) -> Iterator[None]:
    """Print neither results nor messages; errors are printed elsewhere, and stay."""
    before = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(before)


def messages() -> Console:
    """Console for progress and warnings."""
    return _messages(_QUIET.get())


@cache
def _messages(quiet: bool) -> Console:
    return _Console(stderr=True, quiet=quiet)


def results() -> Console:
    """Console for results."""
    return _Console(quiet=_QUIET.get())


def print_warning(message: str) -> None:
    """Print a warning."""
    print_message(f"warning: {message}")


def print_message(message: str) -> None:
    """Print a message on the course of the work, if possible."""
    try:
        messages().print(shorten(visible(message)), markup=False, highlight=False, soft_wrap=True)
    except OSError:
        discard(sys.stderr)


def print_json(record: Mapping[str, object]) -> None:
    """Print one JSON value, for programs."""
    # NaN is no JSON: fail here, not in the program that reads it.
    print(json.dumps(record, indent=2, allow_nan=False))


def print_text(text: str) -> None:
    """Print lines for people and programs; a terminal gets nothing that could steer it."""
    if not _QUIET.get():
        print(escape(text) if sys.stdout.isatty() else text, end="")


def emit(found: Shown, as_json: bool) -> None:
    """Print a result, for people or as JSON."""
    from spmopt.reporting.tables import draw_parts

    if as_json:
        print_json(found.record())
        return
    draw_parts(found.parts(), results())


def print_line(text: str) -> None:
    """Print one line of results."""
    from spmopt.reporting.tables import draw_text

    draw_text(text, results())


def exit_code(left: str) -> Code:
    """Return the exit code of a run, after a message where an interrupt ``left`` some undone."""
    if not left:
        return Code.OK
    print_message(f"interrupted: {left}")
    return Code.INTERRUPTED
