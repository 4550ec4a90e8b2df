"""Rows of a sweep laid out as charts: panels, series in them, bands from bounds to schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.curves.columns import PART, Quantity, Row, number, title

LISTED, COVER = "listed", "cover"
"""The order of operations that a problem has, and that of the fusion tiles of a cover."""
_WIDE = 8
"""An axis whose ends are further apart than so many times is logarithmic."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """What one scheduler comes to, from the least x on.

    Attributes
    ----------
    label
        The scheduler, and the order in which it runs operations where that is not the band's.
    rank
        Place of the scheduler among all: chooses its color.
    rows
        (n,) Rows of the sweep that the points are.
    x, y
        (n,) In base units.
    """

    label: str
    rank: int
    rows: Ints
    x: Reals
    y: Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """Where the optimum of the objective lies, at every point with a bound.

    Attributes
    ----------
    order
        Order of operations that it is the optimum of.
    x
        (n,) In base units.
    low
        (n,) Certified: no legal schedule of that order is below.
    high
        (n,) The best verified schedule of that order; not a number where there is none.
    low_rows, high_rows
        (n,) Rows that say so; -1 where there is none.
    """

    order: str
    x: Reals
    low: Reals
    high: Reals
    low_rows: Ints
    high_rows: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """Rows that differ in x and scheduler alone; ``band`` where y is what was minimized."""

    title: str
    lines: tuple[Series, ...]
    band: Band | None

    @property
    def range_of_y(self) -> tuple[float, float]:
        """Least and most of all lines and the lower edge of the band."""
        own = [line.y for line in self.lines]
        found = np.concatenate(own if self.band is None else [*own, self.band.low])
        return float(found.min()), float(found.max())

    @property
    def height_of_gaps(self) -> float:
        """Largest distance from the bound to a line, as a part of the range of y."""
        low, high = self.range_of_y
        if self.band is None or low == high:
            return 0.0
        bound = dict(zip(self.band.x.tolist(), self.band.low.tolist(), strict=True))
        gaps = [
            y - bound[x]
            for line in self.lines
            for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True)
            if x in bound
        ]
        return max(gaps, default=0.0) / (high - low)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """One quantity over another, a panel for each setting of all others.

    ``categories`` are names of places on the x axis, from 0 on, where x is no number;
    ``is_log``: x is better drawn on a logarithmic axis; ``is_high``: y is.
    """

    x: Quantity
    y: Quantity
    panels: tuple[Panel, ...]
    is_log: bool = False
    categories: tuple[str, ...] = ()
    is_high: bool = False


Point = tuple[float, int, Row]
"""Where a row is along x, its number, and itself."""


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
    places, categories = _places(rows, x)
    groups: dict[tuple[object, ...], list[Point]] = {}
    minimized = y.label in {row["objective"] for row in rows}
    for point in zip(places, range(len(rows)), rows, strict=True):
        row = point[2]
        if not minimized or row["objective"] == y.label:
            groups.setdefault(tuple(row[key] for key in others), []).append(point)
    named = [key for key in others if not (minimized and key == "objective")]
    panels = [
        panel
        for points in groups.values()
        if (panel := _panel(points, y, ranks, title(points[0][2], named))) is not None
    ]
    if not panels:
        return None
    is_log = not categories and _is_wide(panels)
    ranges = [panel.range_of_y for panel in panels] if y.unit != PART else []
    return Chart(
        x=x,
        y=y,
        panels=tuple(panels),
        is_log=is_log,
        categories=categories,
        is_high=any(0 < _WIDE * low <= high for low, high in ranges),
    )


def _places(rows: Sequence[Row], x: Quantity) -> tuple[list[float], tuple[str, ...]]:
    """Find where rows are along x, and names of the places if they are no numbers."""
    try:
        return [number(row, x.key) for row in rows], ()
    except ValueError:
        names = [str(row[x.key]) for row in rows]
        place = {name: float(at) for at, name in enumerate(dict.fromkeys(names))}
        return [place[name] for name in names], tuple(place)


def _panel(
    points: Sequence[Point], y: Quantity, ranks: Mapping[str, int], heading: str
) -> Panel | None:
    order = _order(points)
    known: dict[tuple[str, str], list[Point]] = {}
    for point in sorted(points, key=lambda point: point[0]):
        row = point[2]
        if row[y.key] is not None and row["verified"] is not None:
            known.setdefault((str(row["scheduler"]), str(row["order"])), []).append(point)
    lines = tuple(
        Series(
            label=name if own == order else f"{name} ({own})",
            rank=ranks[name],
            rows=np.array([index for _, index, _ in some]),
            x=np.array([at for at, _, _ in some]),
            y=np.array([number(row, y.key) for _, _, row in some]),
        )
        for (name, own), some in known.items()
    )
    objectives = {row["objective"] for _, _, row in points}
    band = _band(points, order) if objectives == {y.label} else None
    return Panel(title=heading, lines=lines, band=band) if lines or band is not None else None


def _order(points: Sequence[Point]) -> str:
    """Return the order that the band is of: the listed one, else the one of most rows."""
    known = Counter(str(row["order"]) for _, _, row in points if row["order"])
    return LISTED if LISTED in known or not known else known.most_common(1)[0][0]


def _band(points: Sequence[Point], order: str) -> Band | None:
    """Take of several bounds of one order the highest, of several schedules the lowest."""
    low: dict[float, tuple[float, int]] = {}
    high: dict[float, tuple[float, int]] = {}
    for at, index, row in points:
        if row["order"] != order:
            continue
        if row["bound"] is not None:
            low[at] = max(low.get(at, (-np.inf, -1)), (number(row, "bound"), index))
        if row["verified"] is not None and row["value"] is not None:
            high[at] = min(high.get(at, (np.inf, -1)), (number(row, "value"), index))
    if not low:
        return None
    found = [(at, *low[at], *high.get(at, (np.nan, -1))) for at in sorted(low)]
    x, least, low_rows, most, high_rows = map(np.array, zip(*found, strict=True))
    return Band(order=order, x=x, low=least, high=most, low_rows=low_rows, high_rows=high_rows)


def _is_wide(panels: Sequence[Panel]) -> bool:
    bands = [panel.band for panel in panels if panel.band is not None]
    arrays = [*(line.x for panel in panels for line in panel.lines), *(band.x for band in bands)]
    values = np.concatenate(arrays)
    return bool(values.min() > 0 and values.max() >= _WIDE * values.min())
