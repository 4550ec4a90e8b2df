"""Layers against what the machine can do, by how often they use a byte."""

from __future__ import annotations

from math import log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter

from spmopt.analysis.breakdown import Breakdown
from spmopt.analysis.steps import Reals, attainable, ridge_point
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plots.schedule.axes import entitled, legend_above
from spmopt.reporting.plots.style import LINE, MARKERS, TEXT, alone, legible
from spmopt.reporting.schedule_view import ScheduleView

_MOST_AREA, _LEAST_AREA = 220.0, 6.0
"""Square points: of the layer that takes longest, and of the smallest mark."""
_NAMED, _APART = 6, (0.9, 0.35)
"""How many layers are named, and how many decades their marks are apart at least."""
_MOST_LETTERS = 28


def plot_roofline(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw every layer and pass: operations per second over operations per byte of its tensors.

    The area of a mark is the layer's time; the longest are named. A layer that finds its operands
    on chip may be above the slope: it moves less than each byte once.
    """
    ax = alone(ax)
    entitled(ax, "Layers under the roofline (area: time)", "operations per second")
    ax.set_xlabel("operational intensity: operations per byte of the tensors used", fontsize=TEXT)
    machine, layers = picture.instance.machine, picture.analysis.by_layer()
    attained = layers.compute_utilization * float(machine.fastest)
    shown = np.flatnonzero((attained > 0) & (layers.flop_per_byte > 0))
    for rank, label in enumerate(dict.fromkeys(layers.labels)):
        rows = np.array([row for row in shown.tolist() if layers.labels[row] == label], np.int64)
        ax.scatter(
            layers.flop_per_byte[rows],
            attained[rows],
            s=_areas(layers, rows),
            color=COLORS[rank],
            marker=MARKERS[rank],
            alpha=0.6,
            linewidths=0.4,
            edgecolors="white",
            zorder=3,
        )
        ax.plot([], [], label=label, linestyle="", marker=MARKERS[rank], color=COLORS[rank])
    _scale(ax, layers.flop_per_byte[shown], attained[shown], machine)
    low, high = ax.get_xlim()
    corners = np.array([low, ridge_point(machine), high])
    roof = attainable(machine, corners)
    ax.plot(
        corners, roof, color=LINE, linewidth=1.2, label="attainable if every operand came from DRAM"
    )
    _name(ax, layers, shown[np.argsort(-layers.cycles[shown], kind="stable")], attained)
    legend_above(ax)
    return ax


def _areas(layers: Breakdown, rows: Ints) -> Reals:
    part = layers.cycles[rows] / max(1, int(layers.cycles.max(initial=0)))
    found: Reals = np.maximum(_LEAST_AREA, part * _MOST_AREA)
    return found


def _scale(ax: Axes, frequency: Reals, attained: Reals, machine: Machine) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    x, peak = np.append(frequency, ridge_point(machine)), float(machine.fastest)
    ax.set_xlim(x.min() / 2, x.max() * 3)
    ax.yaxis.set_major_formatter(EngFormatter(unit="FLOP/s", places=0))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(attained.min(initial=peak) / 4, 2 * peak)


def _name(ax: Axes, layers: Breakdown, rows: Ints, attained: Reals) -> None:
    """Name the layers that take longest, ``rows`` in that order, where names do not meet."""
    places: list[tuple[float, float]] = []
    for row in rows.tolist():
        at = log10(layers.flop_per_byte[row]), log10(attained[row])
        far = all(
            abs(at[0] - other[0]) > _APART[0] or abs(at[1] - other[1]) > _APART[1]
            for other in places
        )
        if len(places) == _NAMED or not far:
            continue
        places.append(at)
        ax.annotate(
            legible(layers.names[row], _MOST_LETTERS),
            (layers.flop_per_byte[row], attained[row]),
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
            fontsize=TEXT - 2,
            parse_math=False,
            zorder=4,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
