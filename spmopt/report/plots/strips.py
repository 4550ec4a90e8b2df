"""Strips: every measurement a dot, a line for each kind, its median and mean marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np
from matplotlib.axes import Axes

from spmopt.report.palette import COLOURS
from spmopt.report.plots.style import (
    Heading,
    alone,
    canvas,
    dress,
    finish,
)

_DOT, _MEDIAN, _MEAN = COLOURS[0], COLOURS[6], COLOURS[1]


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Measurements of one kind."""

    label: str
    values: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Strips:
    """Strips one below the other; linear up to ``linear``, logarithmic beyond: the axis says so."""

    title: str
    x_label: str
    strips: tuple[Strip, ...]
    linear: float
    ticks: tuple[float, ...]


def plot_strips(data: Strips, ax: Axes | None = None) -> Axes:
    """Draw strips, the first at the top, by default into a figure of their own."""
    ax = alone(ax)
    height = np.random.default_rng(0)
    for place, strip in enumerate(data.strips):
        spread = place + height.uniform(-0.25, 0.25, len(strip.values))
        ax.scatter(strip.values, spread, s=7, color=_DOT, alpha=0.35, linewidths=0, label="point")
        middle = median(strip.values)
        ax.plot([middle, middle], [place - 0.4, place + 0.4], color=_MEDIAN, lw=2.2, label="median")
        ax.scatter([mean(strip.values)], [place], s=34, color=_MEAN, marker="D", label="mean")
    ax.set_xscale("symlog", linthresh=data.linear)
    ax.set_xticks(data.ticks, [f"{value:g}" for value in data.ticks])
    ax.set_xlim(left=-0.1 * data.linear)
    ax.set_yticks(range(len(data.strips)), [strip.label for strip in data.strips])
    ax.set_ylim(len(data.strips) - 0.4, -0.6)
    dress(ax, data.title, f"{data.x_label}\n(linear to {data.linear:g}, then logarithmic)", "")
    return ax


def save_strips(data: Sequence[Strips], heading: Heading, path: Path) -> None:
    """Write strips side by side, with one legend; raises :class:`InputError`."""
    rows = max(len(each.strips) for each in data)
    figure, (axes,) = canvas(1, len(data), 1.7 + 0.27 * rows)
    for each, ax in zip(data, axes, strict=True):
        plot_strips(each, ax)
    for ax in axes[1:]:
        ax.set_yticklabels([])
    finish(figure, axes, heading, path)
