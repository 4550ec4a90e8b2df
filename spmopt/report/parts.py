"""What is printed, in parts: lines, named values, tables; for a terminal, a pipe, or as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO

from rich.console import Console

from spmopt.report.table import draw_rows, draw_text

WIDE = 10
"""Characters of a name beside its value."""
MOST_ROWS = 200
"""Rows of a table in HTML; a note says how many more there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A paragraph; what is folded of it is indented."""

    text: str = ""
    indent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """Names, each with a value beside it."""

    rows: Sequence[tuple[str, str]]

    @property
    def lines(self) -> list[str]:
        """A line each."""
        return [f"{name:<{WIDE}} {text}" for name, text in self.rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table; the other fields are those of :func:`spmopt.report.table.draw_rows`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str] | None = None
    dispensable: Sequence[str] | None = None


Part = Line | Values | Grid


def draw_parts(parts: Iterable[Part], console: Console) -> None:
    """Print the parts."""
    for part in parts:
        match part:
            case Line():
                draw_text(part.text, console, part.indent)
            case Values():
                for line in part.lines:
                    draw_text(line, console, WIDE + 1)
            case Grid():
                draw_rows(
                    part.columns,
                    part.rows,
                    console,
                    left=part.left,
                    dispensable=part.dispensable,
                )


def plain_text(parts: Iterable[Part]) -> str:
    """The parts as a pipe gets them."""
    file = StringIO()
    draw_parts(parts, Console(file=file, color_system=None, force_jupyter=False))
    return file.getvalue().rstrip("\n")


def as_html(parts: Iterable[Part]) -> str:
    """The parts as HTML, names escaped; no scripts, and nothing that is loaded."""
    return "\n".join(filter(None, map(_html, parts)))


def _html(part: Part) -> str:
    match part:
        case Line():
            return f"<p>{escape(part.text)}</p>" if part.text else ""
        case Values():
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
        f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
        for text, side in zip(texts, sides, strict=True)
    )
