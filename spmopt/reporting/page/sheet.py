"""Pages of sentences, pictures and tables: of a sweep, a search, or an ablation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from spmopt.reporting.page.shell import Json, html
from spmopt.reporting.tables import visible


def sheet(
    *,
    title: str,
    subtitle: str,
    lines: Iterable[str],
    figures: Mapping[str, str],
    tables: Sequence[Json],
    remarks: Iterable[str] = (),
) -> str:
    """Return a self-contained page.

    Parameters
    ----------
    title, subtitle
        Any text.
    lines
        Sentences above the pictures.
    figures
        Pictures by title, as :func:`spmopt.reporting.plots.style.data_uri` returns them.
    tables
        As :func:`spmopt.reporting.plain.table` returns them; those without rows are left out.
    remarks
        Sentences below the tables.
    """
    # Numbered before the empty ones are left out, so that names do not depend on them.
    shown = {f"table-{place}": each for place, each in enumerate(tables) if each["rows"]}
    body = [
        _section("Summary", items("reasons", lines)),
        figure_sections(figures),
        *(
            _section(str(each["caption"]), f'<div data-table="{name}"></div>')
            for name, each in shown.items()
        ),
        items("remarks", remarks),
    ]
    return html(
        title=title,
        subtitle=subtitle,
        body="\n".join(body),
        scripts=("base", "theme", "table", "sheet"),
        blocks=shown,
    )


def figure_sections(figures: Mapping[str, str]) -> str:
    """Return a section for each figure, by its title."""
    return "\n".join(
        _section(name, f'<img class="chart" alt="{text(name)}" src="{each}">')
        for name, each in figures.items()
    )


def _section(head: str, content: str) -> str:
    return f"<section>\n<h2>{text(head)}</h2>\n{content}\n</section>"


def items(kind: str, lines: Iterable[str]) -> str:
    """Return a list of sentences."""
    return f'<ul class="{kind}">{"".join(f"<li>{text(line)}</li>" for line in lines)}</ul>'


def text(value: str) -> str:
    """Escape text of others."""
    # Names come from files of others: unprintable characters first, then HTML.
    return escape(visible(value))
