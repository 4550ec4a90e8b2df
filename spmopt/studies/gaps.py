"""Gaps of many rules at many points, by rule and point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from spmopt.studies.rows import Rows, number
from spmopt.studies.words import megabytes
from spmopt.sweep.rows import Row

BOUND = "fluid"
PAGES = ":granularity=page"
REORDERING = "tsai"
OWN = "tsai, own order"
"""The rule that runs in another order than the one listed, and its gaps to the bound of that."""
WIDTH = 5e-3
"""To which bounds are enclosed."""

Point = tuple[str, bool, int]
"""Network, whether it is a training step, capacity in bytes."""
Gaps = Mapping[str, Mapping[Point, float]]
"""By rule and point."""
Levels = Mapping[str, Sequence[int | None]]
"""By network, forward and training: bytes."""


def gaps(rows: Rows) -> Gaps:
    """Gaps to the bound of the listed order, at the points where every rule has a schedule.

    A rule that runs in an order of its own is held against the same bound as the others, so that
    all gaps at a point compare values; see :func:`own_of`.
    """
    rules = [name for name in rows.texts("scheduler") if name != BOUND]
    found: dict[str, dict[Point, float]] = {name: {} for name in rules}
    bounds = {_point(row): row["bound"] for row in rows.where(scheduler=BOUND)}
    for row in rows:
        bound, value = bounds.get(_point(row)), row["value"]
        if row["scheduler"] in found and isinstance(value, float) and isinstance(bound, float):
            found[str(row["scheduler"])][_point(row)] = value / bound - 1
    common = set.intersection(*(set(each) for each in found.values()))
    rank = {name: place for place, name in enumerate(rows.texts("network"))}
    order = sorted(common, key=lambda point: (rank[point[0]], point[1:]))
    return {name: {point: each[point] for point in order} for name, each in found.items()}


def own_of(rows: Rows, part: str, found: Gaps) -> Gaps:
    """Gaps to the bound of the own order, of the rule that has one, where ``found`` has gaps."""
    if REORDERING not in found:
        return {}
    known = {_point(row): row["gap"] for row in rows.where(part=part, scheduler=REORDERING)}
    points = found[REORDERING]
    return {OWN: {at: gap for at in points if isinstance(gap := known[at], float)}}


def levels(rows: Rows) -> Levels:
    """Where the least traffic no longer falls.

    By network for the forward and the training step: the least capacity at which the bound of the
    traffic is that at the largest, to within the width of the bounds; None where only that is.
    """
    found = rows.where(part="traffic", scheduler=BOUND)
    return {
        network: tuple(
            _level({int(number(row, "spm_bytes")): number(row, "bound") for row in some})
            for training in (False, True)
            for some in [found.where(network=network, training=training)]
        )
        for network in rows.texts("network")
    }


def _level(bounds: Mapping[int, float]) -> int | None:
    if not bounds:
        return None
    last = max(bounds)
    least = min(size for size, bound in bounds.items() if bound <= (1 + WIDTH) * bounds[last])
    return least if least < last else None


def _point(row: Row) -> Point:
    return str(row["network"]), bool(row["training"]), int(row["spm_bytes"] or 0)


def rule(name: str) -> str:
    """A rule as the tables call it."""
    return f"{name.removesuffix(PAGES)} by pages" if name.endswith(PAGES) else name


def best_of(found: Gaps, rules: Sequence[str]) -> str:
    """The rule with the least mean gap."""
    return min(rules, key=lambda name: mean(found[name].values()))


def whole_of(found: Gaps) -> list[str]:
    """Rules that keep whole tensors."""
    return [name for name in found if not name.endswith(PAGES)]


def worst_of(of: Mapping[Point, float]) -> tuple[float, Point]:
    """The largest gap, and where it is."""
    return max((gap, point) for point, gap in of.items())


def place(point: Point) -> str:
    """A point in words."""
    network, training, size = point
    return f"{network} {'training' if training else 'forward'}, {megabytes(size)}"
