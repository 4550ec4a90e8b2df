"""Gaps of many rules at many points, by rule and point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from spmopt.studies.rows import Rows
from spmopt.studies.words import megabytes

BOUND = "fluid"
PAGES = ":granularity=page"

Point = tuple[str, bool, int]
"""Network, whether it is a training step, capacity in bytes."""
Gaps = Mapping[str, Mapping[Point, float]]
"""By rule and point."""


def gaps(rows: Rows) -> Gaps:
    """Gaps at the points where every rule has a schedule."""
    rules = [name for name in rows.texts("scheduler") if name != BOUND]
    found: dict[str, dict[Point, float]] = {name: {} for name in rules}
    for row in rows:
        point = str(row["network"]), bool(row["training"]), int(row["spm_bytes"] or 0)
        if row["scheduler"] in found and isinstance(row["gap"], float):
            found[str(row["scheduler"])][point] = row["gap"]
    common = set.intersection(*(set(each) for each in found.values()))
    rank = {name: place for place, name in enumerate(rows.texts("network"))}
    order = sorted(common, key=lambda point: (rank[point[0]], point[1:]))
    return {name: {point: each[point] for point in order} for name, each in found.items()}


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
