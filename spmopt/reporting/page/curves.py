"""The page of a sweep."""

from __future__ import annotations

from spmopt.reporting.curves import Curves, curves_record
from spmopt.reporting.page.schedule import SHARED
from spmopt.reporting.page.shell import html
from spmopt.reporting.palette import COLORS


def curves_page(curves: Curves) -> str:
    """Return a self-contained page of curves, schedulers and rows."""
    record = curves_record(curves)
    return html(
        title=str(record["title"]),
        subtitle=curves.conditions,
        body="curves.html",
        scripts=(*SHARED, "curves"),
        blocks={"curves": record, "look": {"series": COLORS}},
    )
