"""Curves of a sweep: a line for each scheduler, a band from the certified bound to the best."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spmopt.reporting.curves import FUSED, LISTED, Band, Chart, Curves, Series
from spmopt.reporting.palette import BOUND, COLORS
from spmopt.reporting.plots.numbers import (
    columns_beside,
    label_axis,
    limit_y,
    log_x_axis,
    name_places,
)
from spmopt.reporting.plots.style import (
    MARKERS,
    MOST_LETTERS,
    TEXT,
    alone,
    canvas,
    draw_legend,
    dress,
    finish,
    legible,
    paragraph,
)

_DASHES = ("-", "--", ":", "-.")
_MOST_MARKED, _APART = 20, 0.14  # points that all have marks; of others, parts of the axis
_FEW, _MOST_PANELS = 4, 24  # panels in two columns; in a picture
_TITLE = 80  # letters along the whole width


def plot_curves(view: Chart, panel: int = 0, ax: Axes | None = None) -> Axes:
    """Draw one panel of a view, by default into a figure of its own.

    The band is a bar at each point, as nothing is certified between two of them. A point with a
    bound and no schedule has the bound alone.
    """
    ax = alone(ax)
    chosen = view.panels[panel]
    if chosen.band is not None:
        _draw_band(ax, chosen.band)
    for line in chosen.lines:
        _draw_line(ax, line, joined=not view.categories)
    dress(ax)
    letters = _TITLE // columns_beside(ax)
    # Broken behind commas only.
    parts = legible(chosen.title, 2 * letters).replace(" ", "\N{NO-BREAK SPACE}")
    title = "\n".join(wrap(parts.replace(",\N{NO-BREAK SPACE}", ", "), letters))
    ax.set_title(title, fontsize=TEXT, loc="left", parse_math=False)
    if view.categories:
        name_places(ax, view.categories)
        ax.set_xlabel(view.x.label, fontsize=TEXT)
    else:
        if view.is_log:
            log_x_axis(ax, chosen.along("x"))
        label_axis(ax.xaxis, view.x.label, view.x.unit)
    if view.is_high:
        ax.set_yscale("log")
    else:
        limit_y(ax, chosen.along("y"), cut=chosen.band is not None)
    label_axis(ax.yaxis, view.y.label, view.y.unit)
    return ax


def save_curves(curves: Curves, view: Chart, path: Path) -> None:
    """Write the panels of a view, with one legend; at most 24 of them, the title says so.

    Raises
    ------
    InputError
        The file cannot be written, or its name does not end in that of a picture format.
    """
    shown = len(view.panels)
    more = f" (the first {_MOST_PANELS} of {shown})" if shown > _MOST_PANELS else ""
    title = legible(f"{curves.subject}: {view.y.label} over {view.x.label}{more}")
    heading = f"{title}\n{paragraph(curves.conditions, MOST_LETTERS)}"
    finish(curves_figure(view), heading, path)


def curves_figure(view: Chart) -> Figure:
    """Return the panels of a view, at most 24, with one legend."""
    count = min(len(view.panels), _MOST_PANELS)
    columns = min(2 if count <= _FEW else 3, count)
    rows = -(-count // columns)
    figure, grid = canvas(rows, columns, 1.4 + (2.4 if columns > 1 else 3.6) * rows)
    axes = [ax for line in grid for ax in line]
    for panel, ax in enumerate(axes[:count]):
        plot_curves(view, panel, ax)
    for ax in axes[count:]:
        ax.set_axis_off()
    draw_legend(figure, axes[:count])
    return figure


def _draw_band(ax: Axes, band: Band) -> None:
    names = {LISTED: "", FUSED: " of all fusion plans"}
    name = names.get(band.order, f" of the {band.order} order")
    # Points with a bound and no schedule have no upper end.
    both = ~np.isnan(band.high)
    look: dict[str, Any] = {"color": BOUND, "label": f"bound to best{name}", "zorder": 1.2}
    is_dense = band.x.size > _MOST_MARKED
    if both.any():
        ax.vlines(
            band.x[both],
            band.low[both],
            band.high[both],
            alpha=0.45,
            linewidth=1.5 if is_dense else 6,
            **look,
        )
    ax.plot(
        band.x,
        band.low,
        label=f"bound{name}",
        color=BOUND,
        linestyle="-" if is_dense else "",
        linewidth=2.5,
        marker="" if is_dense else "o",
        markersize=7,
        markerfacecolor="none",
        markeredgewidth=1.6,
        zorder=1.5 if is_dense else 2.5,
    )


def _draw_line(ax: Axes, line: Series, *, joined: bool) -> None:
    """Draw a series; beyond the last color it has dashes and another mark."""
    rank, turn = line.rank % len(COLORS), line.rank // len(COLORS)
    dense = line.x.size > _MOST_MARKED
    ax.plot(
        line.x,
        line.y,
        color=COLORS[rank],
        marker=MARKERS[(rank + turn) % len(MARKERS)],
        # Marks of different lines are shifted, so that equal lines show each other.
        markevery=(0.04 * rank, _APART) if dense else 1,
        markersize=3.5,
        linestyle=_DASHES[turn % len(_DASHES)] if joined else "",
        linewidth=1.3,
        label=line.label,
        zorder=2.0,
    )
