"""A table of rows: a line for each layer and way of running it, then the totals of every way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spmopt.report.quantities import percent, si
from spmopt.tiles.layer import Layer
from spmopt.tiles.records import Counted
from spmopt.tiles.run import Row, Spent, total

LEFT = ("layer", "tile", "order", "partition", "replacement", "bound by")
DISPENSABLE = (
    "N",
    "K",
    "M",
    "tile",
    "bound by",
    "x compulsory",
    "gap of order",
    "vs first",
    "gap to bound",
)
_NONE = "-"
Way = tuple[str, str, str]
"""Order, partition and replacement, as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """Of all layers, each as often as it occurs, run in one way."""

    way: Way
    spent: Spent
    time_s: float


def way_of(row: Row) -> Way:
    """How a row was asked to be run."""
    return row.case.order, row.case.partition, row.case.replacement


def sums(rows: Sequence[Counted]) -> tuple[Sum, ...]:
    """Totals of every way, in the order in which they first occur."""
    ways: dict[Way, list[Counted]] = {}
    for counted in rows:
        ways.setdefault(way_of(counted.row), []).append(counted)
    return tuple(
        Sum(
            way=way,
            spent=total(each.row.spent.times(each.count) for each in some),
            time_s=sum(each.count * each.row.time_s for each in some),
        )
        for way, some in ways.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns and rows of texts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(rows: Sequence[Counted], totals: Sequence[Sum]) -> Table:
    """Return what is printed; columns that say nothing are left out.

    Parameters
    ----------
    rows
        Those of a layer follow each other.
    totals
        None for those of an interrupted run.
    """
    firsts: dict[tuple[Layer, bool], Row] = {}
    lines = []
    for counted in rows:
        case = counted.row.case
        first = firsts.setdefault((case.layer, case.input_gradient), counted.row)
        lines.append(_line(counted, first))
    objective = rows[0].row.case.objective if rows else "time"
    for each in totals:
        lines.append(_total_line(each, totals[0], objective))
    columns = tuple(lines[0]) if lines else ()
    shown = [
        name
        for name in columns
        if name not in ("partition", "gap of order")
        or any(line[name] not in (_NONE, "none") for line in lines)
    ]
    return Table(
        columns=tuple(shown),
        rows=tuple(tuple(line[name] for name in shown) for line in lines),
    )


def remarks(shown: Table, rows: Sequence[Counted]) -> list[str]:
    """What the columns mean, and what searches and replacements remark.

    Of a layer of which all ways share a remark, the name alone is given.
    """
    objective = rows[0].row.case.objective
    lines = [
        "x compulsory: traffic over every input and every result once. gap to bound: traffic above "
        "what any order of the same tiles moves at least, under any replacement. vs first: "
        f"{objective} against the first line of the layer."
    ]
    if "gap of order" in shown.columns:
        lines.append(f"gap of order: {objective} above the certified bound of the order.")
    ways: dict[str, list[str]] = {}
    said: dict[str, dict[str, list[str]]] = {}
    for row in (counted.row for counted in rows):
        name, (order, _, replacement) = row.case.layer.name, way_of(row)
        ways.setdefault(name, []).append(f"{order}, {replacement}")
        for note in row.notes:
            said.setdefault(note, {}).setdefault(name, []).append(f"{order}, {replacement}")
    for note, layers in said.items():
        where = [
            name if own == ways[name] and len(own) > 1 else f"{name} ({'; '.join(own)})"
            for name, own in layers.items()
        ]
        lines.append(f"{', '.join(where)}: {note}.")
    return lines


def _line(counted: Counted, first: Row) -> dict[str, str]:
    row, ran = counted.row, counted.row.ran
    layer, tile = row.case.layer, ran.grid.tile
    groups = f", {layer.groups} groups" if layer.groups > 1 else ""
    times = f" x{counted.count}" if counted.count > 1 else ""
    return {
        "layer": f"{layer.name}{groups}{times}",
        "M": str(layer.m),
        "K": str(layer.k),
        "N": str(layer.n),
        "tile": f"{tile.m}x{tile.k}x{tile.n}",
        "order": _chosen(row.case.order, ran.order) if row.case.leaves_order else row.case.order,
        "partition": _chosen(row.case.partition, ran.partition),
        "replacement": row.case.replacement,
        **_figures(row.spent, first.spent, row.time_s, row.case.objective),
    }


def _total_line(each: Sum, first: Sum, objective: str) -> dict[str, str]:
    order, partition, replacement = each.way
    return {
        "layer": "total",
        **dict.fromkeys(("M", "K", "N", "tile"), ""),
        "order": order,
        "partition": partition,
        "replacement": replacement,
        **_figures(each.spent, first.spent, each.time_s, objective),
    }


def _figures(spent: Spent, first: Spent, time_s: float, objective: str) -> dict[str, str]:
    name = "makespan_cycles" if objective == "time" else "traffic_bytes"
    ratio = getattr(spent, name) / getattr(first, name)
    order_gap = spent.order_gap(objective)
    return {
        "traffic": si(spent.traffic_bytes, "B", fill=True),
        "x compulsory": f"{spent.compulsory_ratio:.2f}",
        "gap to bound": percent(spent.gap, fill=True),
        "gap of order": _NONE if order_gap is None else percent(order_gap, fill=True),
        "time": si(time_s, "s", fill=True),
        "vs first": _NONE if spent is first else percent(ratio - 1, fill=True),
        "bound by": spent.bound_by,
    }


def _chosen(asked: str, ran: str) -> str:
    return asked if asked == ran else f"{asked}: {ran}"
