"""Views drawn for a terminal, or as plain text when the output is not one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

from rich.console import Console

from spmopt.report.fit import GAP, Layout, folded, layout, room
from spmopt.report.view import View

_STYLES = {"optimal": "green", "infeasible": "red"}
LEFT = ("scheduler", "status")
"""Columns of a comparison whose cells stand to the left."""


def draw(view: View, console: Console) -> None:
    """Print ``view``: heading, table, remarks."""
    draw_text(view.heading, console)
    _line("", console)
    columns = view.columns
    fit = layout(columns, view.rows, room(console), dispensable=view.dispensable, words=())
    head, *body = (aligned(cells, columns, fit, LEFT) for cells in (columns, *view.rows))
    _lines(head, console, "bold")
    _line("─" * max(map(len, (line for lines in (head, *body) for line in lines))), console)
    status = columns.index("status")
    for lines, row in zip(body, view.rows, strict=True):
        _lines(lines, console, _STYLES.get(row[status]))
    _line("", console)
    for remark in view.remarks:
        draw_text(remark, console)
    _name_hidden(fit, console)


def draw_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    console: Console,
    *,
    left: Sequence[str] | None = None,
    dispensable: Sequence[str] | None = None,
    words: Sequence[str] | None = None,
) -> None:
    """Print a plain list.

    Parameters
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
    """
    left = columns if left is None else left
    dispensable = columns[:0:-1] if dispensable is None else dispensable
    words = left if words is None else words
    fit = layout(columns, rows, room(console), dispensable=dispensable, words=words)
    for cells, style in ((columns, "bold"), *((row, None) for row in rows)):
        _lines(aligned(cells, columns, fit, left), console, style)
    _name_hidden(fit, console)


def draw_text(text: str, console: Console, indent: int = 0) -> None:
    """Print a line, on a terminal folded between words, what follows indented."""
    _lines(folded(text, room(console), indent), console)


def aligned(
    cells: Sequence[str], columns: Sequence[str], fit: Layout, left: Collection[str]
) -> list[str]:
    """The lines of a row, cells padded to the widths of their columns; ``left`` are to the left."""
    parts = [
        [
            line.ljust(width) if columns[k] in left else line.rjust(width)
            for line in folded(cells[k], width)
        ]
        for k, width in zip(fit.shown, fit.widths, strict=True)
    ]
    blank = [" " * width for width in fit.widths]
    return [
        GAP.join(line or empty for line, empty in zip(lines, blank, strict=True)).rstrip()
        for lines in zip_longest(*parts)
    ]


def _name_hidden(fit: Layout, console: Console) -> None:
    if fit.hidden:
        draw_text(f"A wider terminal has room for: {', '.join(fit.hidden)}.", console)


def _lines(lines: Sequence[str], console: Console, style: str | None = None) -> None:
    for line in lines:
        _line(line, console, style)


def _line(text: str, console: Console, style: str | None = None) -> None:
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
