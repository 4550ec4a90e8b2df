"""Views drawn for a terminal, or as plain text when the output is not one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from spmopt.report.view import COLUMNS, View

_STYLES = {"optimal": "green", "infeasible": "red"}
_LEFT = ("scheduler", "status")
_GAP = "   "


def draw(view: View, console: Console) -> None:
    """Print ``view``: heading, table, remarks.

    A terminal that is too narrow gets fewer columns, and is told so.
    """
    wide = not console.file.isatty()
    hidden = () if wide else _hidden(view, console.width)
    shown = [k for k, name in enumerate(COLUMNS) if name not in hidden]
    _line(view.heading, console, wrap=not wide)
    _line("", console)
    rows = [[row[k] for k in shown] for row in view.rows]
    head, *body = _aligned([COLUMNS[k] for k in shown], rows)
    _line(head, console, "bold")
    _line("─" * max(map(len, (head, *body))), console)
    status = COLUMNS.index("status")
    for line, row in zip(body, view.rows, strict=True):
        _line(line, console, _STYLES.get(row[status]))
    _line("", console)
    for remark in view.remarks:
        _line(remark, console, wrap=not wide)
    if hidden:
        _line(f"A wider terminal has room for: {', '.join(hidden)}.", console, wrap=True)


def _hidden(view: View, width: int) -> tuple[str, ...]:
    """Columns to leave out, so that the others fit as far as can be."""
    widths = {
        name: max(map(len, (name, *(row[k] for row in view.rows))))
        for k, name in enumerate(COLUMNS)
    }
    for count in range(len(view.dispensable)):
        hidden = view.dispensable[:count]
        kept = [size for name, size in widths.items() if name not in hidden]
        if sum(kept) + len(_GAP) * (len(kept) - 1) <= width:
            return hidden
    return view.dispensable


def draw_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    console: Console,
    left: Sequence[str] | None = None,
) -> None:
    """Print a plain list; the columns named by ``left``, by default all, to the left."""
    head, *body = _aligned(columns, rows, left=columns if left is None else left)
    _line(head, console, "bold")
    for line in body:
        _line(line, console)


def _aligned(
    columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = _LEFT
) -> list[str]:
    """Lines with cells of equal width; a terminal may wrap them, but nothing is cut."""
    cells = [(name, *(row[k] for row in rows)) for k, name in enumerate(columns)]
    widths = [max(map(len, column)) for column in cells]
    aligned = [
        [cell.ljust(width) if column[0] in left else cell.rjust(width) for cell in column]
        for column, width in zip(cells, widths, strict=True)
    ]
    return [_GAP.join(line).rstrip() for line in zip(*aligned, strict=True)]


def _line(text: str, console: Console, style: str | None = None, *, wrap: bool = False) -> None:
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=not wrap)
