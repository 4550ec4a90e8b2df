"""Axes of quantities in base units: prefixes on the ticks, logarithms, names of places."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, log2

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    Formatter,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    MultipleLocator,
    NullLocator,
    StrMethodFormatter,
)

from spmopt.analysis.steps import Reals
from spmopt.reporting.plots.style import TEXT, legible
from spmopt.reporting.quantities import BINARY, PART, capacity

_TICKS = 10  # labels with room along the whole width of a picture
_MOST_LETTERS = 22


def label_axis(axis: Axis, label: str, unit: str) -> None:
    """Name an axis; its ticks bear ``unit``, relative distances (unit ``part``) percents.

    A linear x axis has no more ticks than their labels find room beside each other.
    """
    if isinstance(axis, XAxis) and axis.get_scale() == "linear":
        most, (low, high) = _most_ticks(axis.axes), axis.get_view_interval()
        axis.set_major_locator(
            # Decimal steps would be labeled 390.6 KiB.
            MultipleLocator(2.0 ** ceil(log2((high - low) / most)))
            if unit == BINARY and high > low
            else MaxNLocator(most, steps=[1, 2, 2.5, 4, 5, 10])
        )
    elif axis.get_scale() == "log" and not isinstance(axis, XAxis):
        # Of minor ticks matplotlib labels some, in another notation.
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
    axis.set_label_text(legible(label), fontsize=TEXT, parse_math=False)
    axis.set_major_formatter(_formatter(unit))


def _formatter(unit: str) -> Formatter:
    if unit == PART:
        return FuncFormatter(lambda value, _: f"{100 * value:g} %")
    if unit == BINARY:
        return FuncFormatter(lambda value, _: capacity(value, unit))
    return EngFormatter(unit=unit) if unit else StrMethodFormatter("{x:g}")


def log_x_axis(ax: Axes, values: Reals) -> None:
    """Make the x axis logarithmic, with ticks at some of ``values``, all above 0."""
    ax.set_xscale("log")
    known = np.unique(values).tolist()
    # Labels are apart by ratio on a logarithmic axis.
    least = log(known[-1] / known[0]) / _most_ticks(ax)
    ticks = known[:1]
    for value in known[1:]:
        if log(value / ticks[-1]) >= least:  # room for both labels
            ticks.append(value)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())


def _most_ticks(ax: Axes) -> int:
    return max(2, _TICKS // columns_beside(ax))


def columns_beside(ax: Axes) -> int:
    """Return the number of columns of axes in the picture."""
    place = ax.get_subplotspec()
    return 1 if place is None else int(place.get_gridspec().ncols)


def name_places(ax: Axes, names: Sequence[str]) -> None:
    """Write names along the x axis, for places from 0 on."""
    ax.set_xticks(
        np.arange(len(names)),
        [legible(name, _MOST_LETTERS) for name in names],
        rotation=90 if len(names) > 6 else 0,
        parse_math=False,
    )
    ax.set_xlim(-0.5, len(names) - 0.5)


def limit_y(ax: Axes, values: Reals, *, cut: bool = False) -> None:
    """Begin y at 0; with ``cut`` near the least value, if that is far from 0, and say so."""
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low)
    # Cutting pays only where the values' range is small beside their height.
    if cut and low < high and low > 3 * room:
        ax.set_ylim(low - 3 * room, high + room)
        note = "axis does not begin at 0"
        ax.text(0.03, 0.03, note, transform=ax.transAxes, fontsize=7, color="#555")
        return
    # The margin of matplotlib is a share of the lines' own range, too little for marks at the top.
    ax.set_ylim(0.0, 1.05 * high or 1.0)
