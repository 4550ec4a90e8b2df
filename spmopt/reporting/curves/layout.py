"""Charts of a sweep: panels, series in them, bands from bounds to schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.reporting.curves.columns import Quantity, Row, is_number, number, title
from spmopt.reporting.quantities import PART

LISTED, FUSED = "listed", "fusion_plan"
"""Name of the given order of operations."""
_WIDE = 8  # ratio of the ends of an axis from which on it is logarithmic


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """Values of one scheduler, by rising x.

    Attributes
    ----------
    label
        The scheduler, and its order of operations where that is not the band's.
    rank
        Place of the scheduler among all: chooses its color.
    x, y
        (n,) In base units.
    """

    label: str
    rank: int
    x: Reals
    y: Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """Interval that holds the optimum of the objective, at every point with a bound.

    Attributes
    ----------
    order
        Order of operations that the optimum is of.
    x, low, high
        (n,) In base units: ``low`` is certified, ``high`` the best verified schedule, or NaN.
    """

    order: str
    x: Reals
    low: Reals
    high: Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """Rows that differ in x and scheduler alone; ``band`` where y is the objective."""

    title: str
    lines: tuple[Series, ...]
    band: Band | None

    def along(self, axis: str) -> Reals:
        """Return all ``x``, or all ``y`` with the lower edge of the band."""
        values = [getattr(line, axis) for line in self.lines]
        if self.band is not None:
            values.append(self.band.x if axis == "x" else self.band.low)
        return np.concatenate(values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """One quantity over another, a panel for each setting of all others.

    ``categories`` name places on the x axis, from 0 on, where x is no number. ``is_log`` and
    ``is_high``: the x axis, the y axis is better logarithmic.
    """

    x: Quantity
    y: Quantity
    panels: tuple[Panel, ...]
    is_log: bool = False
    categories: tuple[str, ...] = ()
    is_high: bool = False


Point = tuple[float, Row]
"""Place along x, and a row."""


def chart_of(
    rows: Sequence[Row], x: Quantity, y: Quantity, others: Sequence[str], ranks: Mapping[str, int]
) -> Chart | None:
    """Lay out one quantity over another; None where no row has y, or none is of that objective.

    Parameters
    ----------
    rows
        Of the sweep.
    x, y
        Columns.
    others
        Columns that differ from panel to panel.
    ranks
        Places of schedulers among all.
    """
    categories: tuple[str, ...] = ()
    if not all(is_number(row[x.key]) for row in rows):
        categories = tuple(dict.fromkeys(str(row[x.key]) for row in rows))
    is_objective = y.label in {row["objective"] for row in rows}
    groups: dict[tuple[object, ...], list[Point]] = {}
    for row in rows:
        if not is_objective or row["objective"] == y.label:
            at = float(categories.index(str(row[x.key]))) if categories else number(row, x.key)
            groups.setdefault(tuple(row[key] for key in others), []).append((at, row))
    # The objective is the y axis itself: naming it in titles says nothing.
    named = [key for key in others if not (is_objective and key == "objective")]
    made = [
        _panel(points, y, ranks, title(points[0][1], named), is_objective)
        for points in groups.values()
    ]
    panels = tuple(panel for panel in made if panel.lines or panel.band is not None)
    if not panels:
        return None
    along = np.concatenate([panel.along("x") for panel in panels])
    return Chart(
        x=x,
        y=y,
        panels=panels,
        is_log=not categories and _is_wide(along),
        categories=categories,
        # Gaps are compared with 0, which a logarithmic axis lacks.
        is_high=y.unit != PART and any(_is_wide(panel.along("y")) for panel in panels),
    )


def _panel(
    points: Sequence[Point], y: Quantity, ranks: Mapping[str, int], heading: str, has_band: bool
) -> Panel:
    orders = Counter(str(row["order"]) for _, row in points if row["order"])
    # A bound of all fusion plans, which holds layer by layer too; or that of the given order, else
    # of the one of most rows: bounds of different orders do not compare.
    widest = [each for each in (FUSED, LISTED) if each in orders] or [LISTED]
    order = widest[0] if widest[0] in orders or not orders else orders.most_common(1)[0][0]
    known: dict[tuple[str, str], list[Point]] = {}
    for at, row in sorted(points, key=lambda point: point[0]):
        if row[y.key] is not None and row["verified"] is not None:
            known.setdefault((str(row["scheduler"]), str(row["order"])), []).append((at, row))
    lines = tuple(
        Series(
            label=name if own in (order, LISTED, FUSED) else f"{name} ({own})",
            rank=ranks[name],
            x=np.array([at for at, _ in some]),
            y=np.array([number(row, y.key) for _, row in some]),
        )
        for (name, own), some in known.items()
    )
    return Panel(title=heading, lines=lines, band=_band(points, order) if has_band else None)


def _band(points: Sequence[Point], order: str) -> Band | None:
    """Take of several bounds of one order the highest, of several schedules the lowest."""
    low: dict[float, float] = {}
    high: dict[float, float] = {}
    for at, row in points:
        if row["order"] != order and (order, row["order"]) != (FUSED, LISTED):
            continue
        if row["bound"] is not None and row["order"] == order:
            # Each bound is certified by itself, so the highest holds too.
            low[at] = max(low.get(at, -np.inf), number(row, "bound"))
        if row["verified"] is not None and row["value"] is not None:
            high[at] = min(high.get(at, np.inf), number(row, "value"))
    if not low:
        return None
    x = sorted(low)
    least, most = [low[at] for at in x], [high.get(at, np.nan) for at in x]
    return Band(order=order, x=np.array(x), low=np.array(least), high=np.array(most))


def _is_wide(values: Reals) -> bool:
    # Above 0 only: a logarithm needs it.
    return bool(0 < _WIDE * values.min() <= values.max())
