"""Curves of a sweep: a line for each scheduler, a band from the certified bound to the best."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes

from spmopt.reporting.curves import LISTED, Band, Curves, Line, Panel, View
from spmopt.reporting.palette import BOUND, COLORS
from spmopt.reporting.plots.numbers import (
    Side,
    columns_beside,
    label_axis,
    limit_y,
    log_axis,
    name_places,
)
from spmopt.reporting.plots.style import (
    MARKERS,
    RINGS,
    TEXT,
    Heading,
    alone,
    canvas,
    dress,
    finish,
    legible,
)

_DASHES = ("-", "--", ":", "-.")
_MOST_MARKED, _APART = 20, 0.14
_FEW, _MOST_PANELS = 4, 24
"""Panels that stand in two columns; that fit a picture."""
_MOST_LETTERS, _TITLE = 120, 80


def plot_curves(view: View, panel: int = 0, ax: Axes | None = None) -> Axes:
    """Draw one panel of a view, by default into a figure of its own.

    Where points are few the band is a bar at each, as nothing is certified between two of them;
    where they are many it is filled. A point with a bound and no schedule has the bound alone.
    """
    ax = alone(ax)
    chosen = view.panels[panel]
    if chosen.band is not None:
        _draw_band(ax, chosen.band)
    for line in chosen.lines:
        _draw_line(ax, line, joined=not view.categories)
    dress(ax, "", "", "")
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
            log_axis(ax, "x", _values(chosen, "x"))
        label_axis(ax, "x", view.x.label, view.x.unit)
    limit_y(ax, _values(chosen, "y"), cut=chosen.band is not None)
    label_axis(ax, "y", view.y.label, view.y.unit)
    return ax


def _values(panel: Panel, side: Side) -> list[float]:
    """Where lines and band are along an axis."""
    found = [line.x if side == "x" else line.y for line in panel.lines]
    if panel.band is not None:
        found.append(panel.band.x if side == "x" else panel.band.low)
    return [float(value) for array in found for value in array]


def save_curves(curves: Curves, view: View, path: Path) -> None:
    """Write the panels of a view, with one legend; at most 24 of them, the title says so.

    Raises
    ------
    InputError
        The file cannot be written, or its name ends in no format of pictures.
    """
    count = min(len(view.panels), _MOST_PANELS)
    columns = min(2 if count <= _FEW else 3, count)
    rows = -(-count // columns)
    figure, grid = canvas(rows, columns, 1.4 + (2.4 if columns > 1 else 3.6) * rows)
    axes = [ax for line in grid for ax in line]
    for panel, ax in enumerate(axes[:count]):
        plot_curves(view, panel, ax)
    for ax in axes[count:]:
        ax.set_axis_off()
    shown = "" if count == len(view.panels) else f" (the first {count} of {len(view.panels)})"
    conditions = "\n".join(wrap(legible(curves.conditions, 400), _MOST_LETTERS))
    title = f"{curves.subject}: {view.y.label} over {view.x.label}{shown}"
    finish(figure, axes[:count], Heading(title=legible(title), conditions=conditions), path)


def _draw_band(ax: Axes, band: Band) -> None:
    name = "" if band.order == LISTED else f" of the {band.order} order"
    dense = band.x.size > _MOST_MARKED
    both = ~np.isnan(band.high)
    if dense:
        ax.fill_between(
            band.x,
            band.low,
            band.high,
            where=both.tolist(),
            color=BOUND,
            alpha=0.35,
            linewidth=0,
            label=f"bound to best{name}",
            zorder=1.2,
        )
        ax.plot(band.x, band.low, color=BOUND, linewidth=2.5, label=f"bound{name}", zorder=1.5)
        return
    if both.any():
        ax.vlines(
            band.x[both],
            band.low[both],
            band.high[both],
            color=BOUND,
            alpha=0.45,
            linewidth=6,
            label=f"bound to best{name}",
            zorder=1.2,
        )
    ax.plot(band.x, band.low, label=f"bound{name}", **RINGS)


def _draw_line(ax: Axes, line: Line, *, joined: bool) -> None:
    """Schedulers beyond the last color have it again, with dashes and another mark."""
    rank, turn = line.rank % len(COLORS), line.rank // len(COLORS)
    dense = line.x.size > _MOST_MARKED
    ax.plot(
        line.x,
        line.y,
        color=COLORS[rank],
        marker=MARKERS[(rank + turn) % len(MARKERS)],
        markevery=(0.04 * rank, _APART) if dense else 1,
        markersize=3.5,
        linestyle=_DASHES[turn % len(_DASHES)] if joined else "",
        linewidth=1.3,
        label=line.label,
        zorder=2.0,
    )
