"""The page of one schedule, or of two of one instance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.io.document import write_text
from spmopt.report.page.shell import Json, Page, html
from spmopt.report.palette import CAUSE_COLOURS, COLOURS, KIND_COLOURS

SHARED = ("base", "blocks", "theme", "tip", "axis", "sheet", "table")
"""Scripts that any page can use: elements, data, themes, pictures along an axis, tables."""
SCRIPTS = (
    *SHARED,
    "schedule",
    "words",
    "raster",
    "map",
    "stack",
    "spans",
    "lanes",
    "life",
    "gestures",
    "stage",
    "overview",
    "legend",
    "followed",
    "find",
    "board",
    "headline",
    "tables",
    "contrast",
    "roofline",
    "link",
    "schedule-page",
)
_LATER = ("tables", "roofline")
"""Parts of a record that are read when the pictures are drawn."""


def page(title: str, records: Sequence[Json], contrast: Json | None = None) -> str:
    """Return a self-contained page.

    Parameters
    ----------
    title
        Of the window and the page.
    records
        One or two of :func:`spmopt.report.picture.picture_record`.
    contrast
        Of two records, :func:`spmopt.report.contrast.contrast_record`.

    Raises
    ------
    InputError
        No records or more than two, or two without their contrast (or one with).
    """
    if len(records) not in (1, 2) or (contrast is None) != (len(records) == 1):
        raise InputError(f"page of {len(records)} schedules: give one, or two and their contrast")
    blocks: dict[str, Json] = {"look": _look()}
    for place, record in enumerate(records):
        blocks[f"view-{place}"] = {k: v for k, v in record.items() if k not in _LATER}
        blocks[f"tables-{place}"] = {name: record[name] for name in _LATER}
    if contrast is not None:
        blocks["contrast"] = contrast
    return html(
        Page(
            title=title,
            subtitle=str(records[0]["subtitle"]),
            body="schedule.html",
            scripts=SCRIPTS,
            blocks=blocks,
        )
    )


def write_page(
    path: Path, title: str, records: Sequence[Json], contrast: Json | None = None
) -> None:
    """Write :func:`page` to ``path``, whole or not at all.

    Raises
    ------
    InputError
        As :func:`page`, or the file cannot be written.
    """
    write_text(path, page(title, records, contrast))


def _look() -> Json:
    """Colours by the numbers of kinds and causes; of compute-bound and memory-bound layers."""
    return {"kinds": KIND_COLOURS, "causes": CAUSE_COLOURS, "bounds": COLOURS[:2]}
