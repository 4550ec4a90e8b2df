"""Tables of a picture: the columns of ``analyze --csv`` with their units, and one of causes."""

from __future__ import annotations

from spmopt.analysis import Analysis, Cause
from spmopt.report.analysis.columns import Columns, detail, rows
from spmopt.report.picture.figures import PART

Json = dict[str, object]
_UNITS = {
    "_bytes_per_s": "B/s",
    "_flop_per_s": "FLOP/s",
    "flop_per_byte": "FLOP/B",
    "_cycles": "cycles",
    "cycles": "cycles",
    "_bytes": "B",
    "_s": "s",
    "flop": "FLOP",
    "active_time": PART,
    "utilisation": PART,
    "resident": PART,
    "part": PART,
}
"""By how a name ends; the first that fits."""


def tables(analysis: Analysis, stall_by_cause: list[int]) -> Json:
    """Tables by name; ``stall_by_cause`` are the cycles of each cause in the picture's times."""
    named = {per: _table(detail(analysis, per)) for per in ("layer", "tensor", "operation")}
    return {**named, "cause": _table(_causes(analysis, stall_by_cause))}


def _causes(analysis: Analysis, stall: list[int]) -> Columns:
    clock, total = analysis.instance.machine.clock_hz, max(1, sum(stall))
    causes = [cause for cause in Cause if cause is not Cause.NONE or stall[cause]]
    return {
        "cause": [cause.words for cause in causes],
        "stall_cycles": [stall[cause] for cause in causes],
        "stall_s": [stall[cause] / clock for cause in causes],
        "part": [stall[cause] / total for cause in causes],
    }


def _table(columns: Columns) -> Json:
    heads = [
        {"name": name, "unit": _unit(name), "numeric": str not in set(map(type, column))}
        for name, column in columns.items()
    ]
    return {"columns": heads, "rows": [list(row) for row in rows(columns)]}


def _unit(name: str) -> str:
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")
