"""How the pictures look: colors that color-blind readers tell apart, read at 1200 pixels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

# Okabe and Ito, Color Universal Design, 2008; but for yellow, which is pale on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BOUND = "#999999"
_MARKERS = "os^DvPX"
_TEXT = 9


def canvas(
    rows: int, columns: int, height_inches: float, title: str
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of the common width, and its axes in rows."""
    figure = Figure(figsize=(8.0, height_inches), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=_TEXT - 0.5, linespacing=1.5)
    return figure, [list(line) for line in figure.subplots(rows, columns, squeeze=False)]


def dress(ax: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes their titles and a light grid."""
    ax.set_title(title, fontsize=_TEXT + 1)
    ax.set_xlabel(x, fontsize=_TEXT)
    ax.set_ylabel(y, fontsize=_TEXT)
    ax.tick_params(labelsize=_TEXT - 1)
    ax.grid(visible=True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure) -> None:
    """Put one legend below all axes; a label that several have is there once."""
    handles: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    width = 0.6 + 0.065 * max(map(len, handles))
    columns = max(1, min(6, len(handles), int(8.0 / width)))
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=_TEXT,
    )


def bars(ax: Axes, values: pd.DataFrame, level: float, marks: Sequence[str] = ()) -> None:
    """Draw groups (rows) of bars (columns); ``marks`` are lines across, ``level`` to compare."""
    names = [name for name in values if name not in marks]
    width = 0.8 / len(names)
    for rank, name in enumerate(names):
        places = [group + (rank + 0.5) * width - 0.4 for group in range(len(values))]
        ax.bar(places, values[name], width, color=COLORS[rank % len(COLORS)], label=name)
    for name in marks:
        left = [group - 0.45 for group in range(len(values))]
        right = [group + 0.45 for group in range(len(values))]
        ax.hlines(values[name], left, right, color=COLORS[-1], linewidth=1.6, label=name)
    ax.axhline(level, color="#555555", linewidth=0.8)
    ax.set_xticks(range(len(values)), values.index, rotation=90 if len(values) > 12 else 0)
    ax.set_xlim(-0.7, len(values) - 0.3)
    ax.grid(visible=False, axis="x")


def bar_panels(
    title: str, panels: Mapping[str, pd.DataFrame], y: str, level: float, marks: Sequence[str] = ()
) -> Figure:
    """Draw panels of bars, one below the other."""
    figure, axes = canvas(len(panels), 1, 1.2 + 2.4 * len(panels), title)
    for (ax,), (name, values) in zip(axes, panels.items(), strict=True):
        bars(ax, values, level, marks)
        dress(ax, name, "", y)
        ax.grid(visible=False, axis="x")
    legend(figure)
    return figure


def lines(ax: Axes, curves: Mapping[str, pd.Series], ticks: Sequence[float], *, cut: bool) -> None:
    """Draw curves over a logarithmic x; y begins at nothing, or with ``cut`` where curves do.

    What is called a bound is gray: a thick line, or circles where nothing is proved between two.
    """
    for rank, (name, curve) in enumerate(curves.items()):
        dense = len(curve) > 20
        if "bound" in name and dense:
            ax.plot(curve.index, curve, color=BOUND, linewidth=4.5, label=name, zorder=1.5)
        elif "bound" in name:
            style: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.6}
            style |= {"markersize": 7, "markeredgecolor": BOUND, "zorder": 2.5}
            ax.plot(curve.index, curve, "o", label=name, **style)
        else:
            ax.plot(
                curve.index,
                curve,
                color=COLORS[rank % len(COLORS)],
                marker=_MARKERS[rank % len(_MARKERS)],
                markevery=(0.04 * rank, 0.14) if dense else 1,
                markersize=3.5,
                linewidth=1.3,
                label=name,
            )
    values = pd.concat(list(curves.values()))
    if not cut or values.min() <= 0.8 * values.max():
        ax.set_ylim(0.0, 1.05 * values.max())
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    ax.xaxis.set_minor_locator(NullLocator())


def line_panels(
    title: str,
    rows: Mapping[str, Mapping[str, Mapping[str, pd.Series]]],
    x: str,
    ticks: Sequence[float],
    *,
    cut: bool = False,
    ratios: bool = False,
) -> Figure:
    """Draw rows of panels of curves, by label of y and title; ``ratios``: on one scale around 1."""
    columns = max(map(len, rows.values()))
    figure, axes = canvas(len(rows), columns, 1.0 + 2.6 * len(rows), title)
    for (y, panels), some in zip(rows.items(), axes, strict=True):
        for (name, curves), ax in zip(panels.items(), some, strict=True):
            lines(ax, curves, ticks, cut=cut)
            dress(ax, name, x if some is axes[-1] else "", y if ax is some[0] else "")
    if ratios:
        shown = [curves for panels in rows.values() for curves in panels.values()]
        ratio_axes(figure.axes, pd.concat([each for curves in shown for each in curves.values()]))
    legend(figure)
    return figure


def ratio_axes(axes: Iterable[Axes], values: pd.Series) -> None:
    """Give all the same logarithmic scale, named at 1, 2, 5, with a line where ratios are 1."""
    ticks = [float(f"{step}e{power}") for power in range(-3, 4) for step in (1, 2, 5)]
    low = max(tick for tick in ticks if tick <= min(1.0, values.min()))
    high = min(tick for tick in ticks if tick >= max(1.0, values.max()))
    shown = [tick for tick in ticks if low <= tick <= high]
    for ax in axes:
        ax.set_yscale("log")
        ax.set_yticks(shown, [f"{tick:g}" for tick in shown])
        ax.yaxis.set_minor_locator(NullLocator())
        ax.set_ylim(low, high)
        ax.axhline(1.0, color="#555555", linewidth=1.0, zorder=1.0)


def strips(ax: Axes, values: Mapping[str, pd.Series], ticks: Sequence[float]) -> None:
    """Draw every value a dot, a line for each name, medians and means marked; linear up to 1."""
    for place, (_, strip) in enumerate(values.items()):
        spread = [place + 0.5 * (rank * 0.618034 % 1) - 0.25 for rank in range(len(strip))]
        ax.scatter(strip, spread, s=7, color=COLORS[0], alpha=0.35, linewidths=0, label="point")
        middle = strip.median()
        ax.plot([middle] * 2, [place - 0.4, place + 0.4], color=COLORS[6], lw=2.2, label="median")
        ax.scatter([strip.mean()], [place], s=34, color=COLORS[1], marker="D", label="mean")
    ax.set_xscale("symlog", linthresh=1.0)
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    ax.set_xlim(left=-0.1)
    ax.set_yticks(range(len(values)), list(values))
    ax.set_ylim(len(values) - 0.4, -0.6)
