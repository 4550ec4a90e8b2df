"""Terminals that are strings."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from rich.console import Console


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def printed(draw: Callable[[Console], None], width: int, file: StringIO | None = None) -> list[str]:
    """Lines of what ``draw`` prints, by default to a terminal."""
    file = Terminal() if file is None else file
    draw(Console(file=file, width=width, color_system=None))
    return file.getvalue().splitlines()
