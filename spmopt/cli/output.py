"""Where results and messages go: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from rich.console import Console


class _Results(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the program to end, with its exit code for that."""
        raise BrokenPipeError


@cache
def messages() -> Console:
    """Console for progress and warnings."""
    return Console(stderr=True)


def results() -> Console:
    """Console for results."""
    return _Results()


def warn(message: str) -> None:
    """Print a warning."""
    messages().print(f"warning: {message}", markup=False, highlight=False, soft_wrap=True)


def tell(message: str) -> None:
    """Print a message about what is going on."""
    messages().print(message, markup=False, highlight=False, soft_wrap=True)


def print_json(record: Mapping[str, object]) -> None:
    """Print one JSON value, for programs."""
    print(json.dumps(record, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print one line of results."""
    results().print(text, markup=False, highlight=False, soft_wrap=True)
