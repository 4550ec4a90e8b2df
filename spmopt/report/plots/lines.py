"""Lines over a quantity: policies as marked lines, bounds as a thick line below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from spmopt.report.plots.style import (
    BOUND,
    COLOURS,
    MARKERS,
    alone,
    canvas,
    common_legend,
    dress,
    save,
)

_MOST_MARKED = 20


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line; ``rank`` chooses its colour and mark. Of a bound it is thick and grey."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    rank: int = 0
    is_bound: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Lines in one pair of axes; ``ticks`` are values of x to name, on a logarithmic axis."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    ticks: tuple[float, ...] = ()


def plot_lines(panel: Panel, ax: Axes | None = None) -> Axes:
    """Draw a panel, by default into a figure of its own; y from nothing up."""
    ax = alone(ax)
    for line in panel.lines:
        if line.is_bound:
            ax.plot(line.x, line.y, color=BOUND, linewidth=4.5, label=line.label, zorder=1.5)
            continue
        marked = len(line.x) <= _MOST_MARKED
        ax.plot(
            line.x,
            line.y,
            color=COLOURS[line.rank % len(COLOURS)],
            marker=MARKERS[line.rank % len(MARKERS)] if marked else "",
            markersize=3.5,
            linewidth=1.3,
            label=line.label,
        )
    # The margin of matplotlib is a share of the lines' own range, too little for marks at the top.
    highest = max((value for line in panel.lines for value in line.y), default=0.0)
    ax.set_ylim(0.0, 1.05 * highest or 1.0)
    if panel.ticks:
        ax.set_xscale("log")
        ax.set_xticks(panel.ticks, [f"{value:g}" for value in panel.ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    dress(ax, panel.title, panel.x_label, panel.y_label)
    return ax


def save_lines(panels: Sequence[Sequence[Panel]], path: Path) -> None:
    """Write panels, in rows of the same length, with one legend; raises :class:`InputError`."""
    figure, axes = canvas(len(panels), len(panels[0]), 0.5 + 2.6 * len(panels))
    for line, some in zip(panels, axes, strict=True):
        for panel, ax in zip(line, some, strict=True):
            plot_lines(panel, ax)
    common_legend(figure, [ax for some in axes for ax in some])
    save(figure, path)
