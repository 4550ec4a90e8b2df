"""What a terminal has room for: words folded, fewer columns; files and pipes get all in full."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Console

GAP = "   "
"""Between columns."""
_LEAST = 16
"""A column of words is not folded to less."""
_WORD = 40
"""Nor is a word of up to so many characters broken."""


def room(console: Console) -> int | None:
    """Characters of a line; None where the output is no terminal, and has room for all."""
    return console.width if console.file.isatty() else None


def folded(text: str, width: int | None, indent: int = 0) -> list[str]:
    """Lines of a text, broken between words, those after the first indented."""
    if width is None or len(text) <= width:
        return [text]
    width = max(width, indent + _LEAST)
    return wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns that are shown, by number, the width of each, and the names of the others."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    hidden: tuple[str, ...]


def layout(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    dispensable: Sequence[str],
    words: Collection[str],
) -> Layout:
    """Fit a table into ``width`` characters, as far as can be.

    Parameters
    ----------
    columns, rows
        Names and cells.
    width
        None for no limit.
    dispensable
        Columns in the order in which a table does without them, where folding is not enough.
    words
        Columns that may be folded.
    """
    cells = [(name, *(row[k] for row in rows)) for k, name in enumerate(columns)]
    sizes = [max(map(len, column)) for column in cells]
    least = [
        min(size, _narrowest(column)) if column[0] in words else size
        for size, column in zip(sizes, cells, strict=True)
    ]
    shown, hidden = list(range(len(columns))), []
    for name in dispensable:
        if width is None or _total([least[k] for k in shown]) <= width:
            break
        hidden.append(name)
        shown = [k for k in shown if columns[k] != name]
    while width is not None and _total([sizes[k] for k in shown]) > width:
        wide = [k for k in shown if sizes[k] > least[k]]
        if not wide:
            break
        sizes[max(wide, key=lambda k: sizes[k])] -= 1
    return Layout(shown=tuple(shown), widths=tuple(sizes[k] for k in shown), hidden=tuple(hidden))


def _narrowest(column: Sequence[str]) -> int:
    longest = max((len(word) for cell in column for word in cell.split()), default=0)
    return max(_LEAST, min(longest, _WORD))


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(GAP) * (len(sizes) - 1)
