"""Figures of a schedule by operation, layer or tensor: as columns, and as a table for people."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from spmopt.analysis import Analysis
from spmopt.reporting.plain import plain
from spmopt.reporting.quantities import PART, share, si
from spmopt.reporting.results import Record
from spmopt.reporting.tables import Grid, Part

Columns = dict[str, list[object]]

_TABLES = tomllib.loads(files(__package__).joinpath("analysis.toml").read_text(encoding="utf-8"))
TIME = _TABLES["group"]["note"]
_LABELS = {"operation": "kind", "layer": "pass"}
# By the end of a name; the first that fits, so that rates stand before bytes and seconds.
_UNITS = {
    "_bytes_per_s": "B/s",
    "_flop_per_s": "FLOP/s",
    **dict.fromkeys(("flop_per_byte", "reuse_frequency"), "FLOP/B"),
    "cycles": "cycles",
    "_bytes": "B",
    "_s": "s",
    "flop": "FLOP",
    **dict.fromkeys(("_part", "active_time", "utilization", "resident"), PART),
}


def detail(analysis: Analysis, per: str) -> Columns:
    """Return columns of each ``operation``, ``layer`` (and pass) or ``tensor``."""
    return _columns(analysis, per, _TABLES["group"]["columns"])


def detail_parts(analysis: Analysis, per: str) -> Iterator[Part]:
    """Yield the table of :func:`detail` for people, and the meaning of its columns."""
    table = _TABLES["tensor" if per == "tensor" else "group"]
    first = {"name": per, _LABELS[per]: _LABELS[per]} if per in _LABELS else {}
    heads = {**first, **table["heads"]}
    columns = _columns(analysis, per, table["heads"])
    cells = [[_show(unit_of(key), value) for value in columns[key]] for key in heads]
    names = list(heads.values())
    yield Grid(
        columns=names,
        rows=list(zip(*cells, strict=True)),
        left=names[: table["left"]],
        dispensable=[name for name in table["dispensable"] if name in names],
    )
    if "note" in table:
        yield table["note"]


def unit_of(name: str) -> str:
    """Return the unit of a column by its name; empty for a count or text."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def records(columns: Mapping[str, object]) -> list[Record]:
    """Return the rows of columns as records."""
    lists = as_lists(columns)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def as_lists(columns: Mapping[str, object]) -> Columns:
    """Return columns as lists of plain values; None where a figure is infinite."""
    lists: Any = plain(columns)
    return dict(lists)


def _columns(analysis: Analysis, per: str, names: list[str]) -> Columns:
    if per == "tensor":
        return as_lists(analysis.by_tensor())
    groups = analysis.by_layer() if per == "layer" else analysis.by_operation()
    figures = {name: getattr(groups, name) for name in names}
    return as_lists({"name": groups.names, _LABELS[per]: groups.labels, **figures})


def _show(unit: str, value: object) -> str:
    """Write a figure in a column; its head bears FLOP/B."""
    if value is None or value == "":
        return "-"
    if not isinstance(value, int | float):
        return str(value)
    if unit == PART:
        return share(value)
    if unit == "FLOP/B":
        return f"{value:.3g}"
    return si(value, unit, fill=True) if unit else str(value)
