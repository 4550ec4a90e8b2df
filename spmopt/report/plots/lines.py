"""Lines over a quantity: schedules marked, bounds grey; few certified points are not joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from spmopt.report.palette import BOUND, COLOURS
from spmopt.report.plots.numbers import limit_y
from spmopt.report.plots.style import (
    MARKERS,
    RINGS,
    Heading,
    alone,
    canvas,
    dress,
    finish,
)

_MOST_MARKED = 20
_APART = 0.14


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line; ``rank`` chooses its colour and mark.

    A bound is grey: a thick line where it has many points, else circles, because nothing is
    certified between two of them.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    rank: int = 0
    is_bound: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether its points are too many to mark each."""
        return len(self.x) > _MOST_MARKED


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Lines in one pair of axes; ``ticks`` are values of x to name, on a logarithmic axis.

    ``y_ticks`` are the same of y, the first and the last its ends. Without them y begins at
    nothing; with ``cut`` not, where the lines would run into each other at the top, and the panel
    says so.
    ``level`` is a value to compare with.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    ticks: tuple[float, ...] = ()
    cut: bool = False
    y_ticks: tuple[float, ...] = ()
    level: float | None = None


def plot_lines(panel: Panel, ax: Axes | None = None) -> Axes:
    """Draw a panel, by default into a figure of its own."""
    ax = alone(ax)
    for line in panel.lines:
        (_bound if line.is_bound else _schedules)(ax, line)
    if panel.level is not None:
        ax.axhline(panel.level, color="#555555", linewidth=1.0, zorder=1.0)
    if panel.y_ticks:
        ax.set_yscale("log")
        ax.set_yticks(panel.y_ticks, [f"{value:g}" for value in panel.y_ticks])
        ax.yaxis.set_minor_locator(NullLocator())
        ax.set_ylim(panel.y_ticks[0], panel.y_ticks[-1])
    else:
        limit_y(ax, [value for line in panel.lines for value in line.y], cut=panel.cut)
    if panel.ticks:
        ax.set_xscale("log")
        ax.set_xticks(panel.ticks, [f"{value:g}" for value in panel.ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    dress(ax, panel.title, panel.x_label, panel.y_label)
    return ax


def _bound(ax: Axes, line: Line) -> None:
    if line.is_dense:
        ax.plot(line.x, line.y, color=BOUND, linewidth=4.5, label=line.label, zorder=1.5)
        return
    ax.plot(line.x, line.y, clip_on=False, label=line.label, **RINGS)


def _schedules(ax: Axes, line: Line) -> None:
    ax.plot(
        line.x,
        line.y,
        color=COLOURS[line.rank % len(COLOURS)],
        marker=MARKERS[line.rank % len(MARKERS)],
        # Of many points some are marked, as far apart on paper as this share of the axes.
        markevery=(0.04 * line.rank, _APART) if line.is_dense else 1,
        markersize=3.5,
        linewidth=1.3,
        label=line.label,
    )


def save_lines(panels: Sequence[Sequence[Panel]], heading: Heading, path: Path) -> None:
    """Write panels, in rows of the same length, with one legend; raises :class:`InputError`."""
    figure, axes = canvas(len(panels), len(panels[0]), 1.0 + 2.6 * len(panels))
    for line, some in zip(panels, axes, strict=True):
        for panel, ax in zip(line, some, strict=True):
            plot_lines(panel, ax)
    finish(figure, [ax for some in axes for ax in some], heading, path)
