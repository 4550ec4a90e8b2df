"""Rows of a sweep by hand."""

from __future__ import annotations

from spmopt.reporting.curves import Curves, curves_of
from spmopt.reporting.curves.columns import Row, Value
from spmopt.sweeps.rows import SweepColumns

COLUMNS = SweepColumns(on_chip=True)
_ROW: dict[str, Value] = {
    **dict.fromkeys(COLUMNS.types, None),
    "network": "net",
    "training": False,
    "batch": 4,
    "machine": "npu",
    "spm_bytes": 4096,
    "dram_bytes_per_s": 10**9,
    "clock_hz": 10**9,
    "operations_per_s": 10**12,
    "page_bytes": 16,
    "dma_setup_cycles": 0,
    "duplex": False,
    "mapper": "panel",
    "objective": "time",
    "order": "listed",
}


def schedule(scheduler: str, time_s: float, bound: float | None, **changes: Value) -> Row:
    """A verified schedule; its traffic is as many bytes as it takes microseconds."""
    return {
        **_ROW,
        "scheduler": scheduler,
        "status": "feasible",
        "time_s": time_s,
        "traffic_bytes": round(time_s * 1e6),
        "value": time_s,
        "bound": bound,
        "gap": None if bound is None else time_s / bound - 1,
        "verified": True,
        **changes,
    }


def relaxed(value: float, bound: float, **changes: Value) -> Row:
    """What the relaxation is at most and at least."""
    own: Row = {"scheduler": "fluid", "status": "unknown", "value": value, "bound": bound}
    return {**_ROW, **own, "gap": value / bound - 1, **changes}


def curves(*rows: Row, extra: tuple[str, ...] = ()) -> Curves:
    return curves_of(rows, tuple(COLUMNS.types), extra)
