"""Rows of a sweep laid out as views: panels, lines in them, bands between bounds and schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.curves.columns import Quantity, Row, number, title
from spmopt.reporting.curves.views import Band, Line, Panel, View

LISTED = "listed"
"""The order of operations that an instance has."""
_WIDE = 8
"""An axis whose ends are further apart than so many times is logarithmic."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """One quantity over another.

    Attributes
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

    rows: Sequence[Row]
    x: Quantity
    y: Quantity
    others: Sequence[str]
    ranks: Mapping[str, int]

    def view(self) -> View | None:
        """All panels; None where no row has y, or none is of that objective."""
        places, categories = self._places()
        groups: dict[tuple[object, ...], list[int]] = {}
        minimized = self.y.label in {row["objective"] for row in self.rows}
        for index, row in enumerate(self.rows):
            if not minimized or row["objective"] == self.y.label:
                groups.setdefault(tuple(row[key] for key in self.others), []).append(index)
        told = [key for key in self.others if not (minimized and key == "objective")]
        panels = [
            panel
            for group in groups.values()
            if (panel := self._panel(group, places, title(self.rows[group[0]], told))) is not None
        ]
        if not panels:
            return None
        return View(
            x=self.x,
            y=self.y,
            panels=tuple(panels),
            is_log=not categories and _is_wide(panels),
            categories=categories,
        )

    def _places(self) -> tuple[Reals, tuple[str, ...]]:
        """(n,) Where rows are along x, and names of the places if they are no numbers."""
        values = [row[self.x.key] for row in self.rows]
        try:
            return np.array([number(row, self.x.key) for row in self.rows]), ()
        except ValueError:
            names = list(dict.fromkeys(map(str, values)))
            return np.array([float(names.index(str(value))) for value in values]), tuple(names)

    def _panel(self, group: Sequence[int], places: Reals, heading: str) -> Panel | None:
        order = self._order(group)
        points: dict[tuple[str, str], list[int]] = {}
        for index in sorted(group, key=lambda index: float(places[index])):
            row = self.rows[index]
            if row[self.y.key] is not None and row["verified"] is not None:
                points.setdefault((str(row["scheduler"]), str(row["order"])), []).append(index)
        lines = tuple(
            self._line(
                name if own == order else f"{name} ({own})",
                self.ranks[name],
                np.array(some),
                places,
            )
            for (name, own), some in points.items()
        )
        objectives = {self.rows[index]["objective"] for index in group}
        band = self._band(group, places, order) if objectives == {self.y.label} else None
        return Panel(title=heading, lines=lines, band=band) if lines or band is not None else None

    def _line(self, label: str, rank: int, some: Ints, places: Reals) -> Line:
        y = np.array([number(self.rows[index], self.y.key) for index in some.tolist()])
        return Line(label=label, rank=rank, rows=some, x=places[some], y=y)

    def _order(self, group: Sequence[int]) -> str:
        """The order that the band is of: the listed one, else the one of most rows."""
        found = (str(self.rows[index]["order"]) for index in group if self.rows[index]["order"])
        known = Counter(found)
        return LISTED if LISTED in known or not known else known.most_common(1)[0][0]

    def _band(self, group: Sequence[int], places: Reals, order: str) -> Band | None:
        """Of several bounds of one order the highest, of several schedules the lowest."""
        low: dict[float, tuple[float, int]] = {}
        high: dict[float, tuple[float, int]] = {}
        for index in (index for index in group if self.rows[index]["order"] == order):
            row, at = self.rows[index], float(places[index])
            if row["bound"] is not None:
                low[at] = max(low.get(at, (-np.inf, -1)), (number(row, "bound"), index))
            if row["verified"] is not None and row["value"] is not None:
                high[at] = min(high.get(at, (np.inf, -1)), (number(row, "value"), index))
        if not low:
            return None
        at_all = sorted(low)
        none = (np.nan, -1)
        return Band(
            order=order,
            x=np.array(at_all),
            low=np.array([low[at][0] for at in at_all]),
            high=np.array([high.get(at, none)[0] for at in at_all]),
            low_rows=np.array([low[at][1] for at in at_all], dtype=np.int64),
            high_rows=np.array([high.get(at, none)[1] for at in at_all], dtype=np.int64),
        )


def _is_wide(panels: Sequence[Panel]) -> bool:
    bands = [panel.band for panel in panels if panel.band is not None]
    arrays = [*(line.x for panel in panels for line in panel.lines), *(band.x for band in bands)]
    values = np.concatenate(arrays)
    return bool(values.min() > 0 and values.max() >= _WIDE * values.min())
