"""Panels of bars, of curves and of strips of dots, in the style of the program's own pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from spmopt.reporting.palette import BOUND, COLORS
from spmopt.reporting.plots.style import MARKERS, TEXT, canvas, dress, legend_columns


def label(ax: Axes, title: str, x: str = "", y: str = "") -> None:
    """Name axes, and give them the program's light grid."""
    dress(ax, title)
    ax.set_xlabel(x, fontsize=TEXT)
    ax.set_ylabel(y, fontsize=TEXT)


def legend(figure: Figure) -> None:
    """Put one legend below all axes; a label that several have is there once."""
    handles: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    columns = legend_columns([*handles])
    style: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": TEXT}
    figure.legend([*handles.values()], [*handles], loc="outside lower center", **style)


def bars(ax: Axes, values: pd.DataFrame, level: float, marks: Sequence[str] = ()) -> None:
    """Draw groups (rows) of bars (columns); ``marks`` are lines across, ``level`` to compare."""
    places, shown = np.arange(len(values)), values.drop(columns=[*marks])
    width = 0.8 / shown.columns.size
    for rank, (name, heights) in enumerate(shown.items()):
        left = places + (rank + 0.5) * width - 0.4
        ax.bar(left, heights, width, color=COLORS[rank % len(COLORS)], label=name)
    for name in marks:
        ends = places - 0.45, places + 0.45
        ax.hlines(values[name], *ends, color=COLORS[-1], linewidth=1.6, label=name)
    ax.axhline(level, color="#555555", linewidth=0.8)
    ax.set_xticks(places, values.index, rotation=90 if len(values) > 12 else 0)
    ax.set_xlim(-0.7, len(values) - 0.3)


def bar_panels(
    panels: Mapping[str, pd.DataFrame], y: str, level: float, marks: Sequence[str] = ()
) -> Figure:
    """Draw panels of bars, one below the other."""
    figure, axes = canvas(len(panels), 1, 1.2 + 2.4 * len(panels))
    for (ax,), (name, values) in zip(axes, panels.items(), strict=True):
        bars(ax, values, level, marks)
        label(ax, name, "", y)
        ax.grid(visible=False, axis="x")
    legend(figure)
    return figure


def lines(ax: Axes, curves: Mapping[str, pd.Series], ticks: Sequence[float], *, cut: bool) -> None:
    """Draw curves over a logarithmic x; y begins at nothing, or with ``cut`` where curves do.

    What is called a bound is gray: a thick line, or circles where nothing is proved between two.
    """
    for rank, (name, curve) in enumerate(curves.items()):
        dense = len(curve) > 20
        style: dict[str, Any] = {
            **{"color": COLORS[rank % len(COLORS)], "marker": MARKERS[rank % len(MARKERS)]},
            **{"markevery": (0.04 * rank, 0.14) if dense else 1, "markersize": 3.5},
            "linewidth": 1.3,
        }
        if "bound" in name and dense:
            style = {"color": BOUND, "linewidth": 4.5, "zorder": 1.5}
        elif "bound" in name:
            style = {"linestyle": "", "marker": "o", "markersize": 7, "zorder": 2.5}
            style |= {"markerfacecolor": "none", "markeredgewidth": 1.6, "markeredgecolor": BOUND}
        ax.plot(curve.index, curve, label=name, **style)
    values = pd.concat(list(curves.values()))
    if not cut or values.min() <= 0.8 * values.max():
        ax.set_ylim(0.0, 1.05 * values.max())
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    ax.xaxis.set_minor_locator(NullLocator())


def line_panels(
    rows: Mapping[str, Mapping[str, Mapping[str, pd.Series]]],
    x: str,
    ticks: Sequence[float],
    *,
    cut: bool = False,
    ratios: bool = False,
) -> Figure:
    """Draw rows of panels of curves, by label of y and title; ``ratios``: on one scale around 1."""
    columns = max(map(len, rows.values()))
    figure, axes = canvas(len(rows), columns, 1.0 + 2.6 * len(rows))
    for (y, panels), some in zip(rows.items(), axes, strict=True):
        for (name, curves), ax in zip(panels.items(), some, strict=True):
            lines(ax, curves, ticks, cut=cut)
            label(ax, name, x if some is axes[-1] else "", y if ax is some[0] else "")
    if ratios:
        shown = [of for panels in rows.values() for each in panels.values() for of in each.values()]
        ratio_axes(figure.axes, pd.concat(shown))
    legend(figure)
    return figure


def ratio_axes(axes: Iterable[Axes], values: pd.Series) -> None:
    """Give all the same logarithmic scale, named at 1, 2, 5, with a line where ratios are 1."""
    for ax in axes:
        ax.set_yscale("log")
        ax.set_ylim(min(1.0, values.min()) / 1.15, max(1.0, values.max()) * 1.15)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(NullLocator())
        ax.axhline(1.0, color="#555555", linewidth=1.0, zorder=1.0)


def strips(ax: Axes, values: pd.DataFrame, ticks: Sequence[float]) -> None:
    """Draw every value a dot, a line for each column, median and mean marked; linear up to 1."""
    spread = 0.5 * (np.arange(len(values)) * 0.618034 % 1) - 0.25
    for place, (_, strip) in enumerate(values.items()):
        dots: dict[str, Any] = {"s": 7, "color": COLORS[0], "alpha": 0.35, "linewidths": 0}
        ax.scatter(strip, place + spread, label="point", **dots)
        ends = place - 0.4, place + 0.4
        ax.plot([strip.median()] * 2, ends, color=COLORS[6], lw=2.2, label="median")
        ax.scatter([strip.mean()], [place], s=34, color=COLORS[1], marker="D", label="mean")
    ax.set_xscale("symlog", linthresh=1.0)
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    ax.set_xlim(left=-0.1)
    ax.set_yticks(range(values.columns.size), [*values])
    ax.set_ylim(values.columns.size - 0.4, -0.6)
