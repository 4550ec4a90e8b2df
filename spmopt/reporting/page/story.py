"""The page of what each decision about a network is worth."""

from __future__ import annotations

from spmopt.reporting.page.schedule import SHARED
from spmopt.reporting.page.shell import Json, html
from spmopt.reporting.palette import COLORS


def ablation_page(record: Json) -> str:
    """Return a self-contained page of :func:`spmopt.reporting.ablation.page_record`."""
    return html(
        title=str(record["title"]),
        subtitle=str(record["subtitle"]),
        body="ablation.html",
        scripts=(*SHARED, "roofline", "ablation"),
        blocks={"ablation": record, "look": {"series": COLORS}},
    )
