"""The page of a sweep."""

from __future__ import annotations

from spmopt.report.curves import Curves, curves_record
from spmopt.report.page.schedule import SHARED
from spmopt.report.page.shell import Page, html
from spmopt.report.palette import COLORS


def curves_page(curves: Curves) -> str:
    """Return a self-contained page of curves, schedulers and rows."""
    record = curves_record(curves)
    return html(
        Page(
            title=str(record["title"]),
            subtitle=curves.conditions,
            body="curves.html",
            scripts=(*SHARED, "curves"),
            blocks={"curves": record, "look": {"series": COLORS}},
        )
    )
