"""A page of Markdown as it is printed: a terminal gets tables that fit, and folded lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from spmopt.report.fit import room
from spmopt.report.table import draw_rows, draw_text

_BAR = "|"


def draw_page(text: str, console: Console) -> None:
    """Print a page whose tables begin with a line of names and one of rules."""
    for is_table, block in groupby(text.splitlines(), lambda line: line.startswith(_BAR)):
        lines = list(block)
        if is_table and room(console) is not None:
            _draw_table(lines, console)
            continue
        for line in lines:
            draw_text(line, console, indent=2 if line.startswith("* ") else 0)


def _draw_table(lines: Sequence[str], console: Console) -> None:
    names, rule, *rows = (
        line.removeprefix(f"{_BAR} ").removesuffix(f" {_BAR}").split(f" {_BAR} ") for line in lines
    )
    left = [name for name, side in zip(names, rule, strict=True) if side.startswith(":")]
    draw_rows(names, rows, console, left=left)
