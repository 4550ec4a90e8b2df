"""Tables, lines and named values: for a terminal, a pipe, CSV or HTML.

A text is a list of parts; each medium is one function here. A terminal gets folded lines and tables
that fit, without dispensable columns; files and pipes get everything. Names come from files of
others: characters that are not printable are escaped, here once for all.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from itertools import zip_longest
from textwrap import wrap

from rich.console import Console

from spmopt.core.validation import cell

GAP = "   "
"""Between columns."""
LABEL_WIDTH = 10
"""Least characters of a name beside its value."""
MOST_ROWS = 200
"""Rows of a table in HTML; a note says how many more there are."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""A blank at which no line is folded; printed as a blank."""
_LEAST_WIDTH = 16  # A column of words is not folded to less
_WORD = 40  # nor is a word of up to so many characters broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A paragraph whose folded lines are indented, or that is not folded: ``fixed``."""

    text: str = ""
    indent: int = 0
    fixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedValues:
    """Names, each with a value beside it."""

    rows: Sequence[tuple[str, str]]

    @property
    def lines(self) -> list[str]:
        """A line each."""
        return [f"{name:<{self.width}} {text}" for name, text in self.rows]

    @property
    def width(self) -> int:
        """Characters of the names."""
        return max(LABEL_WIDTH, *(len(name) for name, _ in self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table.

    Attributes
    ----------
    columns, rows
        Names and cells.
    left
        Columns whose cells stand to the left; default: all.
    dispensable
        Columns in the order in which a terminal does without them where folding is not enough;
        default: from the last one on.
    words
        Columns that are folded where the terminal is narrow; default: those to the left.
    styles
        By the text of a cell: how its row is drawn on a terminal.
    ruled
        A line below the names.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str] | None = None
    dispensable: Sequence[str] | None = None
    words: Sequence[str] | None = None
    styles: Mapping[str, str] | None = None
    ruled: bool = False


Part = str | Line | NamedValues | Grid
"""A text is a paragraph."""


def visible(text: str) -> str:
    r"""Escape unprintable characters: ``\n``, ``\x1b``, marks that turn the direction of text."""
    # Nearly always: a quick exit.
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter == NO_BREAK
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def draw_parts(parts: Iterable[Part], console: Console) -> None:
    """Print the parts."""
    for part in parts:
        match part:
            case str():
                draw_text(part, console)
            case Line():
                draw_text(part.text, console, part.indent, fixed=part.fixed)
            case NamedValues():
                for line in part.lines:
                    draw_text(line, console, part.width + 1)
            case Grid():
                _draw_grid(part, console)


def draw_text(text: str, console: Console, indent: int = 0, *, fixed: bool = False) -> None:
    """Print a line, on a terminal folded between words, further lines indented."""
    width = None if fixed else terminal_width(console)
    _lines(fold(visible(text), width, indent), console)


def plain_text(parts: Iterable[Part]) -> str:
    """Return the parts as a pipe gets them."""
    file = StringIO()
    draw_parts(parts, Console(file=file, color_system=None, force_jupyter=False))
    return file.getvalue().rstrip("\n")


def as_html(parts: Iterable[Part]) -> str:
    """Return the parts as HTML, names escaped; no scripts, and nothing that is loaded."""
    return "\n".join(filter(None, map(_html, parts)))


def csv_text(columns: Mapping[str, Sequence[object]]) -> str:
    """Return columns as CSV, below a line of their names; None is left empty."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([cell(visible(each) if isinstance(each, str) else each) for each in row])
    return text.getvalue()


def terminal_width(console: Console) -> int | None:
    """Return characters of a line; None where the output is no terminal, and has room for all."""
    return console.width if console.file.isatty() else None


def fold(text: str, width: int | None, indent: int = 0) -> list[str]:
    """Fold a text between words into lines, those after the first indented."""
    if width is None or len(text) <= width:
        return [text]
    width = max(width, indent + _LEAST_WIDTH)
    return wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


@dataclass(frozen=True, kw_only=True)
class FittedColumns:
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
) -> FittedColumns:
    """Fit a table into ``width`` characters (None: no limit); the rest is as in :class:`Grid`."""
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
    # Take from the widest column, one character at a time: columns end up even.
    while width is not None and _total([sizes[k] for k in shown]) > width:
        wide = [k for k in shown if sizes[k] > least[k]]
        if not wide:
            break
        sizes[max(wide, key=lambda k: sizes[k])] -= 1
    return FittedColumns(
        shown=tuple(shown), widths=tuple(sizes[k] for k in shown), hidden=tuple(hidden)
    )


def align(
    cells: Sequence[str], columns: Sequence[str], fit: FittedColumns, left: Collection[str]
) -> list[str]:
    """Return the lines of a row, cells padded to the widths of their columns."""
    parts = [
        [
            line.ljust(width) if columns[k] in left else line.rjust(width)
            for line in fold(cells[k], width)
        ]
        for k, width in zip(fit.shown, fit.widths, strict=True)
    ]
    blank = [" " * width for width in fit.widths]
    return [
        GAP.join(line or empty for line, empty in zip(lines, blank, strict=True)).rstrip()
        for lines in zip_longest(*parts)
    ]


def _draw_grid(grid: Grid, console: Console) -> None:
    columns, left = grid.columns, grid.columns if grid.left is None else grid.left
    rows = [[visible(cell) for cell in row] for row in grid.rows]
    fit = layout(
        columns,
        rows,
        terminal_width(console),
        dispensable=columns[:0:-1] if grid.dispensable is None else grid.dispensable,
        words=left if grid.words is None else grid.words,
    )
    head, *body = (align(cells, columns, fit, left) for cells in (columns, *rows))
    _lines(head, console, "bold")
    if grid.ruled:
        _lines(["─" * max(len(line) for lines in (head, *body) for line in lines)], console)
    styles = grid.styles or {}
    for lines, row in zip(body, rows, strict=True):
        _lines(lines, console, next((styles[cell] for cell in row if cell in styles), None))
    if fit.hidden:
        draw_text(f"A wider terminal has room for: {', '.join(fit.hidden)}.", console)


def _lines(lines: Iterable[str], console: Console, style: str | None = None) -> None:
    for line in lines:
        shown = line.replace(NO_BREAK, " ")
        # Names of others may look like markup of rich.
        console.print(shown, style=style, highlight=False, markup=False, soft_wrap=True)


def _narrowest(column: Sequence[str]) -> int:
    longest = max((len(word) for cell in column for word in cell.split()), default=0)
    return max(_LEAST_WIDTH, min(longest, _WORD))


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(GAP) * (len(sizes) - 1)


def _html(part: Part) -> str:
    match part:
        case str():
            return f"<p>{_show(part)}</p>" if part else ""
        case Line():
            return _html(part.text)
        case NamedValues():
            rows = (_cells("th", [name]) + _cells("td", [text]) for name, text in part.rows)
            return _table("", rows)
        case Grid():
            left = set(part.columns if part.left is None else part.left)
            sides = ["left" if name in left else "right" for name in part.columns]
            head = f"<thead><tr>{_cells('th', part.columns, sides)}</tr></thead>"
            more = len(part.rows) - MOST_ROWS
            note = f"<p>and {more:,} more rows</p>" if more > 0 else ""
            return _table(head, (_cells("td", row, sides) for row in part.rows[:MOST_ROWS])) + note


def _table(head: str, rows: Iterable[str]) -> str:
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return f"<table>{head}<tbody>\n{body}</tbody></table>"


def _cells(tag: str, texts: Sequence[str], sides: Sequence[str] | None = None) -> str:
    sides = ["left"] * len(texts) if sides is None else sides
    return "".join(
        f'<{tag} style="text-align:{side}">{_show(text)}</{tag}>'
        for text, side in zip(texts, sides, strict=True)
    )


def _show(text: str) -> str:
    return escape(visible(text))
