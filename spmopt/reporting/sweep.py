"""Rows of a sweep for people: a table of columns that vary, and the values that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from spmopt.reporting.comparison import STATUS_STYLES
from spmopt.reporting.curves.columns import MEASURED, SWEPT, Quantity, Row, fix, sweep, varying
from spmopt.reporting.quantities import capacity, percent, seconds, si
from spmopt.reporting.tables import Grid, Line, Part

_NONE = "-"
_SIZES = ("spm_bytes", "page_bytes")
_LABELS = {each.key: each.label for each in SWEPT}


def sweep_parts(rows: Sequence[Row], extra: Sequence[str], left: str = "") -> Iterator[Part]:
    """Yield a line on all rows, a table of columns that vary, faults, and the rest undone."""
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    yield Line(text=f"{count}; {fix(rows, extra)}" if rows else count)
    if rows:
        yield Line()
        yield _grid(rows, extra)
    failed = dict.fromkeys(
        f"{row['scheduler']}: {row['note']}" for row in rows if row["status"] == "failed"
    )
    if failed:
        yield Line()
        yield from (Line(text=text) for text in failed)
    if left:
        yield Line()
        yield Line(text=f"interrupted: {left}")


def _grid(rows: Sequence[Row], extra: Sequence[str]) -> Grid:
    about = varying(rows, extra)
    units = {each.key: each.unit for each in sweep(rows)}
    columns: dict[str, Callable[[Row], str]] = {
        **{_LABELS.get(key, key): _about(key, units.get(key, "")) for key in about},
        "scheduler": lambda row: str(row["scheduler"]),
        **_measure(rows),
        "status": _standing,
        "seconds": lambda row: _number(row, "solve_s", seconds),
    }
    cells = {name: [cell(row) for row in rows] for name, cell in columns.items()}
    shown = [name for name, texts in cells.items() if {*texts} != {_NONE}]
    return Grid(
        columns=shown,
        rows=list(zip(*(cells[name] for name in shown), strict=True)),
        left=[name for name in shown if name in ("network", "machine", "scheduler", "status")],
        words=(),
        dispensable=("seconds", "power", "energy", "traffic", "status"),
        styles=STATUS_STYLES,
        ruled=True,
    )


def _measure(rows: Sequence[Row]) -> Mapping[str, Callable[[Row], str]]:
    """Return a column for each quantity; the objective has the bounds of relaxations, too."""
    aims = {row["objective"] for row in rows}
    known = [
        each for each in MEASURED if each.label in aims or any(row.get(each.key) for row in rows)
    ]
    return {
        **{each.label: _quantity(each) for each in known if each.key != "gap"},
        "gap to bound": lambda row: (
            _NONE if _is_bound(row) else _number(row, "gap", lambda gap: percent(gap, fill=True))
        ),
    }


def _quantity(quantity: Quantity) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        is_least = _is_bound(row) and row["objective"] == quantity.label
        key, mark = ("bound", "≥ ") if is_least else (quantity.key, "")
        return _number(row, key, lambda value: mark + si(value, quantity.unit, fill=True))

    return cell


def _about(key: str, unit: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        value = row[key]
        if value is None or value == "":
            return _NONE
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int) and key in _SIZES:
            return capacity(value, unit)
        if isinstance(value, int) and unit.endswith(("/s", "Hz")):
            return si(value, unit)
        return str(value)

    return cell


def _is_bound(row: Row) -> bool:
    """Return whether the row has a bound but no schedule."""
    return row.get("time_s") is None and row.get("bound") is not None


def _standing(row: Row) -> str:
    return "bound" if _is_bound(row) and row["status"] == "unknown" else str(row["status"])


def _number(row: Row, key: str, write: Callable[[float], str]) -> str:
    value = row.get(key)
    return _NONE if isinstance(value, str | bool | None) else write(value)
