"""A table of records: a line for each layer and way of running it, then the totals of every way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spmopt.reporting.quantities import percent, si
from spmopt.reporting.tables import Grid
from spmopt.tiles.case import leaves_order
from spmopt.tiles.records import Record, cost_of, whole
from spmopt.tiles.run import LayerCost, total

_LEFT = ("layer", "tile", "order", "partition", "replacement", "bound by")
_DISPENSABLE = (
    *("N", "K", "M", "tile", "bound by"),
    *("x compulsory", "gap of order", "vs first", "gap to bound"),
)
_NONE = "-"
_LAYER = ("layer", "m", "k", "n", "groups", "input_gradient")
Way = tuple[str, str, str]
"""Order, partition and replacement, as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaySum:
    """Of all layers, each as often as it occurs, run in one way."""

    way: Way
    cost: LayerCost
    time_s: float


def way_of(row: Record) -> Way:
    """How a row was asked to be run."""
    return str(row["order"]), str(row["partition"]), str(row["replacement"])


def sums(rows: Sequence[Record]) -> tuple[WaySum, ...]:
    """Totals of every way, in the order in which they first occur."""
    ways: dict[Way, list[Record]] = {}
    for row in rows:
        ways.setdefault(way_of(row), []).append(row)
    return tuple(
        WaySum(
            way=way,
            # A row stands for all layers of its size.
            cost=total((whole(row, "count"), cost_of(row)) for row in some),
            time_s=sum(whole(row, "count") * _time_s(row) for row in some),
        )
        for way, some in ways.items()
    )


def table(rows: Sequence[Record], totals: Sequence[WaySum]) -> Grid:
    """Return the printed table, without columns that are empty.

    Parameters
    ----------
    rows
        Those of a layer follow each other.
    totals
        None for those of an interrupted run.
    """
    firsts: dict[tuple[object, ...], LayerCost] = {}
    lines = []
    for row in rows:
        cost = cost_of(row)
        # "vs first" compares within one layer: ratios across layers mean nothing.
        first = firsts.setdefault(tuple(row[name] for name in _LAYER), cost)
        figures = _figures(cost, first, _time_s(row), str(row["objective"]))
        lines.append({**_about(row), **figures})
    for each in totals:
        order, partition, replacement = each.way
        lines.append(
            {
                "layer": "total",
                **dict.fromkeys(("M", "K", "N", "tile"), ""),
                "order": order,
                "partition": partition,
                "replacement": replacement,
                **_figures(each.cost, totals[0].cost, each.time_s, str(rows[0]["objective"])),
            }
        )
    shown = [
        name
        for name in (lines[0] if lines else ())
        if name not in ("partition", "gap of order")
        or any(line[name] not in (_NONE, "none") for line in lines)
    ]
    return Grid(
        columns=shown,
        rows=[[line[name] for name in shown] for line in lines],
        left=_LEFT,
        dispensable=_DISPENSABLE,
        words=("layer", "order"),
    )


def remarks(shown: Grid, rows: Sequence[Record]) -> list[str]:
    """Return the meaning of the columns, and remarks of searches and replacements.

    Of a layer of which all ways share a remark, the name alone is given.
    """
    objective = rows[0]["objective"] if rows else "time"
    lines = [
        "x compulsory: traffic over every input and every result once. gap to bound: traffic above "
        "what any order of the same tiles moves at least, under any replacement. vs first: "
        f"{objective} against the first line of the layer."
    ]
    if "gap of order" in shown.columns:
        lines.append(f"gap of order: {objective} above the certified bound of the order.")
    ways: dict[str, list[str]] = {}
    noted: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        name, (order, _, replacement) = str(row["layer"]), way_of(row)
        ways.setdefault(name, []).append(f"{order}, {replacement}")
        if row["note"]:
            layers = noted.setdefault(str(row["note"]), {})
            layers.setdefault(name, []).append(f"{order}, {replacement}")
    for note, layers in noted.items():
        where = [
            # One way alone is named even if it is all there is: the remark may be due to it.
            name if own == ways[name] and len(own) > 1 else f"{name} ({'; '.join(own)})"
            for name, own in layers.items()
        ]
        lines.append(f"{', '.join(where)}: {note}.")
    return lines


def _about(row: Record) -> dict[str, str]:
    groups = f", {row['groups']} groups" if whole(row, "groups") > 1 else ""
    times = f" x{row['count']}" if whole(row, "count") > 1 else ""
    order, partition, replacement = way_of(row)
    return {
        "layer": f"{row['layer']}{groups}{times}",
        **{axis.upper(): str(row[axis]) for axis in "mkn"},
        "tile": "x".join(str(row[f"tile_{axis}"]) for axis in "mkn"),
        "order": _choose(order, str(row["order_run"])) if leaves_order(order) else order,
        "partition": _choose(partition, str(row["partition_run"])),
        "replacement": replacement,
    }


def _figures(cost: LayerCost, first: LayerCost, time_s: float, objective: str) -> dict[str, str]:
    ratio = cost.value(objective) / first.value(objective)
    order_gap = cost.order_gap(objective)
    return {
        "traffic": si(cost.traffic_bytes, "B", fill=True),
        "x compulsory": f"{cost.traffic_bytes / cost.compulsory_bytes:.2f}",
        "gap to bound": percent(cost.gap, fill=True),
        "gap of order": _NONE if order_gap is None else percent(order_gap, fill=True),
        "time": si(time_s, "s", fill=True),
        "vs first": _NONE if cost is first else percent(ratio - 1, fill=True),
        "bound by": cost.bound_by,
    }


def _time_s(row: Record) -> float:
    return whole(row, "makespan_cycles") / whole(row, "clock_hz")


def _choose(asked: str, ran: str) -> str:
    return asked if asked == ran else f"{asked}: {ran}"
