"""An analysis for programs: one JSON record, or rows as CSV."""

from __future__ import annotations

import csv
from io import StringIO

from spmopt.analysis import Analysis, Cause
from spmopt.analysis.roofline import ridge_point
from spmopt.core.result import Result
from spmopt.report.analysis.columns import (
    Columns,
    breakdown_columns,
    detail,
    rows,
    scope_columns,
)
from spmopt.report.records import Record, instance_record, result_record


def analysis_record(analysis: Analysis, result: Result, per: str | None) -> Record:
    """Return what ``--json`` prints; rows of ``per`` stand under its plural."""
    machine, network = analysis.instance.machine, analysis.network()
    (whole,) = _records(breakdown_columns(network))
    stalls = network.stall_by_cause[:, 0] / machine.clock_hz
    record: Record = {
        "instance": instance_record(analysis.instance),
        "result": result_record(machine, result),
        "ridge_point_flop_per_byte": ridge_point(machine),
        "network": {**whole, "loaded_in_vain_bytes": analysis.vain_bytes},
        "stall_s_by_cause": {c.words: float(stalls[c]) for c in Cause if c is not Cause.NONE},
        "types": _records(breakdown_columns(analysis.types(), "kind")),
        "scopes": _records(scope_columns(analysis.scopes())),
    }
    if per is not None:
        record[f"{per}s"] = _records(detail(analysis, per))
    return record


def csv_text(analysis: Analysis, per: str) -> str:
    """Rows of ``per`` below a line of names; a figure that is infinite is left empty."""
    columns = detail(analysis, per)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows(columns))
    return text.getvalue()


def _records(columns: Columns) -> list[Record]:
    return [dict(zip(columns, row, strict=True)) for row in rows(columns)]
