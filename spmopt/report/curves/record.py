"""Curves as plain data, for a page: columns, not rows."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan

from spmopt.report.curves.curves import Curves
from spmopt.report.curves.views import Band, Panel, View

Json = dict[str, object]


def curves_record(curves: Curves) -> Json:
    """Return all that is shown of a sweep; points are numbers of rows."""
    first = curves.views[0]
    return {
        "title": f"{curves.subject}: {first.y.label} over {first.x.label}",
        "subtitle": curves.conditions,
        "remarks": list(curves.remarks),
        "columns": list(curves.names),
        "rows": {name: [row[name] for row in curves.rows] for name in curves.names},
        "views": [_view(view) for view in curves.views],
        "accounts": [asdict(account) for account in curves.accounts],
    }


def _view(view: View) -> Json:
    return {
        "x": asdict(view.x),
        "y": asdict(view.y),
        "is_log": view.is_log,
        "categories": list(view.categories),
        "panels": [_panel(panel) for panel in view.panels],
    }


def _panel(panel: Panel) -> Json:
    lines = [
        {
            "label": line.label,
            "rank": line.rank,
            "rows": line.rows.tolist(),
            "x": line.x.tolist(),
            "y": line.y.tolist(),
        }
        for line in panel.lines
    ]
    return {"title": panel.title, "lines": lines, "band": _band(panel.band)}


def _band(band: Band | None) -> Json | None:
    if band is None:
        return None
    return {
        "order": band.order,
        "x": band.x.tolist(),
        "low": band.low.tolist(),
        "high": [None if isnan(value) else value for value in band.high.tolist()],
        "low_rows": band.low_rows.tolist(),
        "high_rows": band.high_rows.tolist(),
    }
