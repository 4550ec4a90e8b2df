"""Layers of a schedule under the roof of the machine, both axes logarithmic."""

from __future__ import annotations

from math import log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter

from spmopt.analysis.steps import Reals, attainable
from spmopt.core.machine import Machine
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plots.schedule.axes import add_title, legend_above
from spmopt.reporting.plots.style import LINE, MARKERS, TEXT, alone, legible
from spmopt.reporting.roofline import roofline_record
from spmopt.reporting.schedule_view import ScheduleView

_MOST_AREA, _LEAST_AREA = 220.0, 6.0
"""Square points: of the layer that takes longest, and of the smallest mark."""
_NAMED, _APART = 6, (0.9, 0.35)
"""Most layers that are named, and the least decades between their marks."""
_MOST_LETTERS = 28


def plot_roofline(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw each layer and pass: FLOP/s attained over operational intensity; area: time.

    Layers without DRAM traffic have no intensity and are left out.
    """
    ax = alone(ax)
    add_title(ax, "Layers under the roofline (area: time)", "attained FLOP/s")
    ax.set_xlabel("operational intensity: FLOP per byte of DRAM traffic", fontsize=TEXT)
    machine = picture.problem.machine
    record: Any = roofline_record(picture.analysis.by_layer())
    points = {
        name: np.array(values, float if name in ("intensity", "attained", "time_s") else object)
        for name, values in record["points"].items()
    }
    drawn = np.isfinite(points["intensity"])
    points = {name: values[drawn] for name, values in points.items()}
    for rank, bound in enumerate(("compute", "memory")):
        of_it = points["bound"] == bound
        ax.scatter(
            points["intensity"][of_it],
            points["attained"][of_it],
            s=_areas(points["time_s"])[of_it],
            color=COLORS[rank],
            marker=MARKERS[rank],
            alpha=0.6,
            linewidths=0.4,
            edgecolors="white",
            zorder=3,
        )
        look: dict[str, Any] = {"marker": MARKERS[rank], "color": COLORS[rank]}
        ax.plot([], [], label=f"{bound}-bound", linestyle="", **look)
    _scale(ax, points["intensity"], points["attained"], machine, record["roof"]["ridge"])
    low, high = ax.get_xlim()
    corners = np.array([low, record["roof"]["ridge"], high])
    ax.plot(corners, attainable(machine, corners), color=LINE, linewidth=1.2, label="roof")
    _name(ax, points)
    legend_above(ax)
    return ax


def _areas(time_s: Reals) -> Reals:
    areas: Reals = np.maximum(_LEAST_AREA, time_s / time_s.max(initial=1e-30) * _MOST_AREA)
    return areas


def _scale(ax: Axes, intensity: Reals, attained: Reals, machine: Machine, ridge: float) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    x, peak = np.append(intensity, ridge), float(machine.fastest)
    ax.set_xlim(x.min() / 2, x.max() * 3)
    ax.yaxis.set_major_formatter(EngFormatter(unit="FLOP/s", places=0))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(attained.min(initial=peak) / 4, 2 * peak)


def _name(ax: Axes, points: dict[str, Any]) -> None:
    """Name the layers that take longest, where names do not meet."""
    places: list[tuple[float, float]] = []
    for row in np.argsort(-points["time_s"], kind="stable").tolist():
        x, y = points["intensity"][row], points["attained"][row]
        at = log10(x), log10(y)
        far = all(
            abs(at[0] - other[0]) > _APART[0] or abs(at[1] - other[1]) > _APART[1]
            for other in places
        )
        if len(places) == _NAMED or not far:
            continue
        places.append(at)
        ax.annotate(
            legible(points["name"][row], _MOST_LETTERS),
            (x, y),
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
            fontsize=TEXT - 2,
            parse_math=False,
            zorder=4,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
