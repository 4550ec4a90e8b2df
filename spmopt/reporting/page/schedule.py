"""The page of one schedule, or of two of one problem."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.core.errors import InputError
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.page.shell import Json, html
from spmopt.reporting.palette import CAUSE_COLORS, COLORS, KIND_COLORS
from spmopt.reporting.reasons import reasons
from spmopt.reporting.schedule_view import ScheduleView, schedule_record
from spmopt.reporting.schedule_view.view import headings

SHARED = ("base", "theme", "number-axis", "plot", "table")
"""Scripts that every page uses: elements, data, themes, charts, tables."""
SCRIPTS = (
    *(*SHARED, "axis", "schedule", "words", "map", "lanes", "stage", "side", "board"),
    *("roofline", "headline", "schedule-page"),
)
_LATER = ("tables", "roofline", "explained")
"""Parts of a record that are read when the pictures are drawn."""


def page(title: str, records: Sequence[Json], contrast: Json | None = None) -> str:
    """Return a self-contained page.

    Parameters
    ----------
    title
        Of the window and the page.
    records
        One or two of :func:`spmopt.reporting.schedule_view.schedule_record`.
    contrast
        Of two records, :func:`spmopt.reporting.contrast.contrast_record`.

    Raises
    ------
    InputError
        No records or more than two, or two without their contrast (or one with).
    """
    if len(records) not in (1, 2) or (contrast is None) != (len(records) == 1):
        raise InputError(f"page of {len(records)} schedules: give one, or two and their contrast")
    blocks: dict[str, Json] = {"look": look()}
    for place, record in enumerate(records):
        blocks[f"view-{place}"], blocks[f"tables-{place}"] = part(record)
    if contrast is not None:
        blocks["contrast"] = contrast
    return html(
        title=title,
        subtitle=str((contrast or records[0])["subtitle"]),
        body="schedule.html",
        scripts=SCRIPTS,
        blocks=blocks,
    )


def page_of(pictures: Sequence[ScheduleView]) -> str:
    """Return the page of one schedule, or of two of one problem.

    Raises
    ------
    InputError
        Not one or two, or of different problems or times.
    """
    records = [schedule_record(picture) for picture in pictures]
    if len(pictures) != 2:
        return page(", ".join(str(record["title"]) for record in records), records)
    first, second = pictures
    contrast = contrast_record(first, second) | {"reasons": reasons(first, second)}
    return page(f"{first.problem.name}, {'; '.join(headings(pictures))}", records, contrast)


def part(record: Json) -> tuple[Json, Json]:
    """Return a record in two: what pictures show, and what is read when they are drawn."""
    run_parallel = {name: value for name, value in record.items() if name not in _LATER}
    return run_parallel, {name: record[name] for name in _LATER}


def look() -> dict[str, object]:
    """Return colors by numbers of kinds and causes; of compute-bound and memory-bound layers."""
    return {"kinds": KIND_COLORS, "causes": CAUSE_COLORS, "bounds": COLORS[:2]}
