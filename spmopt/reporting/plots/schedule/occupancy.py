"""Bytes on chip over time, by kinds of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.palette import KIND_COLORS
from spmopt.reporting.plots.schedule.addresses import capacity_line, hatch, kind_legend
from spmopt.reporting.plots.schedule.axes import byte_axis, entitled, time_axis
from spmopt.reporting.plots.schedule.bins import edges, means
from spmopt.reporting.plots.style import LINE, alone
from spmopt.reporting.schedule_view import ScheduleView


def plot_occupancy(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw bytes of pages in use over time, stacked by kinds.

    Where steps are narrower than a bin of time they are averaged, so that areas are right, and a
    line has the most of every bin.
    """
    ax = alone(ax)
    entitled(ax, "SPM occupancy", "bytes on chip")
    time_axis(ax, picture)
    byte_axis(ax, picture.instance.machine.spm_bytes)
    times, clock = picture.times, picture.instance.machine.clock_hz
    bounds = edges(times.cycles, times.start)
    held = np.stack([_mean(picture, bounds, row) for row in picture.occupied])
    shown = np.flatnonzero(held.any(axis=1))
    hatches = [hatch(kind) for kind in range(len(KIND_COLORS))]
    stack(ax, bounds / clock, held, KIND_COLORS, hatches=hatches)
    if bounds.size < times.start.size:
        stop = times.start + times.duration
        most = _most(bounds, times.start, stop, picture.occupied.sum(axis=0))
        ax.stairs(most, bounds / clock, color=LINE, linewidth=0.5, baseline=None)
    capacity_line(ax, picture)
    kind_legend(ax, shown.tolist())
    return ax


def stack(
    ax: Axes,
    bounds: Reals,
    heights: Reals,
    colors: Sequence[str],
    *,
    base: float = 0.0,
    hatches: Sequence[str | None] = (),
) -> None:
    """Draw stairs on top of each other, one color each, from ``base`` up."""
    upto = base + np.cumsum(heights, axis=0)
    below = np.vstack((np.full((1, heights.shape[1]), base), upto[:-1]))
    for number, color in enumerate(colors):
        if heights[number].any():
            ax.stairs(
                upto[number],
                bounds,
                baseline=below[number],
                fill=True,
                facecolor=color,
                edgecolor="white",
                hatch=hatches[number] if hatches else None,
                linewidth=0,
                snap=True,  # whole pixels: sharp, and files a quarter smaller
            )


def _mean(picture: ScheduleView, bounds: Reals, value: Ints) -> Reals:
    start = picture.times.start
    found: Reals = means(bounds, (start, start + picture.times.duration), value)[0]
    return found


def _most(bounds: Reals, start: Ints, stop: Ints, value: Ints) -> Ints:
    """(bins,) The most in every bin, of steps that follow each other."""
    lasts = stop > start
    start, stop, value = start[lasts], stop[lasts], value[lasts]
    first = np.searchsorted(stop, bounds[:-1], side="right")
    found = np.maximum.reduceat(np.append(value, 0), first)
    # A bin ends with the step that runs on into the next one.
    last = np.searchsorted(start, bounds[1:], side="left") - 1
    most: Ints = np.maximum(np.where(first < value.size, found, 0), value[last])
    return most
