"""The page of one schedule, or of two of one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spmopt.reporting.differences import contrast_record
from spmopt.reporting.page.sheet import figure_sections
from spmopt.reporting.page.shell import Json, html, source
from spmopt.reporting.palette import CAUSE_COLORS, KIND_COLORS
from spmopt.reporting.plots.schedule import figure_of
from spmopt.reporting.plots.style import data_uri
from spmopt.reporting.reasons import reasons
from spmopt.reporting.schedule_view import ScheduleView, schedule_record
from spmopt.reporting.schedule_view.view import headings

SCRIPTS = (
    *("base", "theme", "table", "axis", "schedule", "words", "map", "lanes", "stage", "side"),
    *("board", "headline", "schedule-page"),
)


def page(
    title: str,
    records: Sequence[Json],
    contrast: Json | None = None,
    figures: Mapping[str, str] | None = None,
) -> str:
    """Return a self-contained page.

    Parameters
    ----------
    title
        Of the window and the page.
    records
        One or two of :func:`spmopt.reporting.schedule_view.schedule_record`.
    contrast
        Of two records, :func:`spmopt.reporting.contrast.contrast_record`.
    figures
        Pictures by title, below the tables.
    """
    blocks: dict[str, Json] = {"look": look()}
    for place, record in enumerate(records):
        # Both schedules have blocks of their own; scripts find them by place.
        blocks[f"view-{place}"], blocks[f"tables-{place}"] = part(record)
    if contrast is not None:
        blocks["contrast"] = contrast
    return html(
        title=title,
        subtitle=str((contrast or records[0])["subtitle"]),
        body=source("schedule.html") + figure_sections(figures or {}),
        scripts=SCRIPTS,
        blocks=blocks,
    )


def page_of(pictures: Sequence[ScheduleView]) -> str:
    """Return the page of one schedule, or of two of one problem.

    Raises
    ------
    InputError
        Two of different problems or times.
    """
    records = [schedule_record(picture) for picture in pictures]
    if len(pictures) != 2:
        title, contrast = ", ".join(str(record["title"]) for record in records), None
    else:
        first, second = pictures
        title = f"{first.problem.name}, {'; '.join(headings(pictures))}"
        contrast = contrast_record(first, second) | {"reasons": reasons(first, second)}
    return page(title, records, contrast, {"Roofline": data_uri(figure_of("roofline", pictures))})


def part(record: Json) -> tuple[Json, Json]:
    """Return a record in two: the data of pictures, and tables, which are read after them."""
    # Pictures first: a page shows them while its tables are still being read.
    shown = {name: value for name, value in record.items() if name != "tables"}
    return shown, {"tables": record["tables"]}


def look() -> dict[str, object]:
    """Return colors by numbers of kinds and of causes."""
    return {"kinds": KIND_COLORS, "causes": CAUSE_COLORS}
