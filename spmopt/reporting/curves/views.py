"""Lines over one quantity, and the bands between certified bounds and the best schedules."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.curves.columns import Quantity


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
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
    lines: tuple[Line, ...]
    band: Band | None


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """One quantity over another, a panel for each setting of all others.

    ``categories`` are names of places on the x axis, from 0 on, where x is no number;
    ``is_log``: x is better drawn on a logarithmic axis.
    """

    x: Quantity
    y: Quantity
    panels: tuple[Panel, ...]
    is_log: bool = False
    categories: tuple[str, ...] = ()
