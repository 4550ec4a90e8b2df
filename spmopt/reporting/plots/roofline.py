"""Layers of a schedule under the roof of its machine, both axes logarithmic."""

from __future__ import annotations

from math import log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter

from spmopt.analysis import Breakdown
from spmopt.analysis.steps import Reals, attainable, dram_peak, ridge_point
from spmopt.core.table import Ints
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plots.style import LINE, MARKERS, TEXT, alone, dress, legible
from spmopt.reporting.quantities import si

# Square points: of the layer that takes longest, and of the smallest mark.
_MOST_AREA, _LEAST_AREA = 220.0, 6.0
# Most layers that are named, and the least decades between their marks.
_NAMED, _APART = 6, (0.9, 0.35)
_MOST_LETTERS = 28


def plot_roofline(layers: Breakdown, ax: Axes | None = None) -> Axes:
    """Draw each layer and pass: operations per second over operational intensity; area: time.

    Layers without arithmetic or DRAM traffic have no place; the title counts them.

    Parameters
    ----------
    layers
        As :meth:`spmopt.analysis.Analysis.by_layer` returns them.
    ax
        Axes to draw into; default: those of a figure of their own.
    """
    ax = alone(ax)
    machine = layers.machine
    drawn = np.flatnonzero(
        (layers.flop > 0) & (layers.cycles > 0) & np.isfinite(layers.flop_per_byte)
    )
    absent = len(layers.names) - drawn.size
    left_out = f"; {absent} without arithmetic or traffic left out" if absent else ""
    dress(ax, f"Layers under the roofline (area: time{left_out})", "attained OP/s")
    ax.set_xlabel("operational intensity: operations per byte of DRAM traffic", fontsize=TEXT)
    x, y = layers.flop_per_byte[drawn], layers.flop_per_s[drawn]
    time = layers.time_s[drawn]
    # Area by time, with a floor: short layers stay visible.
    areas = np.maximum(_LEAST_AREA, time / time.max(initial=1e-30) * _MOST_AREA)
    for rank, bound in enumerate(("compute", "memory")):
        of_it = layers.roofline[drawn] == bound
        ax.scatter(
            x[of_it],
            y[of_it],
            s=areas[of_it],
            color=COLORS[rank],
            marker=MARKERS[rank],
            alpha=0.6,
            linewidths=0.4,
            edgecolors="white",
            zorder=3,
        )
        # Legend entries of one size; those of the scatter would have that of its first point.
        ax.plot([], [], MARKERS[rank], color=COLORS[rank], label=f"{bound}-bound")
    peak = layers.compute_peak
    ridge = ridge_point(machine, peak)
    # Logarithmic before limits are set: linear ones may include 0.
    ax.set_xscale("log")
    ax.set_yscale("log")
    wide = np.append(x, ridge)
    ax.set_xlim(wide.min() / 4, wide.max() * 4)  # room for names at both ends
    ax.set_ylim(y.min(initial=peak) / 4, 2 * peak)
    ax.yaxis.set_major_formatter(EngFormatter(unit="OP/s", places=0))
    ax.xaxis.set_major_formatter("{x:g}")
    low, high = ax.get_xlim()
    corners = np.array([low, ridge, high])
    rates = f"{si(peak, 'OP/s')}, DRAM {si(dram_peak(machine), 'B/s')}"
    roof = attainable(machine, peak, corners)
    ax.plot(corners, roof, color=LINE, linewidth=1.2, label=f"roof: {rates}")
    _name(ax, [layers.names[row] for row in drawn.tolist()], x, y, np.argsort(-time, kind="stable"))
    return ax


def _name(ax: Axes, names: list[str], x: Reals, y: Reals, order: Ints) -> None:
    """Name the layers that take longest, where names do not meet."""
    places: list[tuple[float, float]] = []
    for row in order.tolist():
        at = log10(x[row]), log10(y[row])
        far = all(
            abs(at[0] - other[0]) > _APART[0] or abs(at[1] - other[1]) > _APART[1]
            for other in places
        )
        if len(places) == _NAMED or not far:
            continue
        places.append(at)
        ax.annotate(
            legible(names[row], _MOST_LETTERS),
            (x[row], y[row]),
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
            fontsize=TEXT - 2,
            parse_math=False,
            zorder=4,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
