"""Lanes: what the engine and the channel do over time, and what the engine waits for."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from spmopt.analysis import Cause
from spmopt.analysis.stalls import inward
from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.palette import CAUSE_COLORS
from spmopt.reporting.plots.schedule.axes import entitled, legend_above, seconds, time_axis
from spmopt.reporting.plots.schedule.bins import edges, means
from spmopt.reporting.plots.schedule.occupancy import stack
from spmopt.reporting.plots.style import TEXT, alone
from spmopt.reporting.quantities import share
from spmopt.reporting.schedule_view import ScheduleView

_HEIGHT = 0.86
_COMPUTE = "#4d4d4d"
_NAMES = ("compute", "DMA in", "DMA out", "stall")


def plot_lanes(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw lanes of the engine, of transfers in and out, and of stalls by their causes.

    The height within a lane is the share of the time at that place: events narrower than a bin of
    time are averaged. Beside its name is the share of all the time.
    """
    ax = alone(ax)
    entitled(ax, "Engine and DMA channel", "")
    ax.grid(visible=False)
    time_axis(ax, picture)
    bounds, lanes = _lanes(picture)
    clock, width = picture.instance.machine.clock_hz, np.diff(bounds)
    labels = []
    for place, (name, part) in enumerate(zip(_NAMES, lanes, strict=True)):
        base = len(lanes) - 1 - place
        ground = (0.0, base), seconds(picture), _HEIGHT
        ax.add_patch(Rectangle(*ground, facecolor="#f2f2f2", linewidth=0, zorder=0))
        colors = (_COMPUTE,) if name == "compute" else CAUSE_COLORS
        stack(ax, bounds / clock, part * _HEIGHT, colors, base=base)
        labels.append(f"{name}\n{share(float((part * width).sum() / bounds[-1]))}")
    ax.set_ylim(-0.1, len(lanes))
    ax.set_yticks([len(lanes) - 1 - k + _HEIGHT / 2 for k in range(len(lanes))], labels)
    ax.tick_params(axis="y", length=0, labelsize=TEXT - 1)
    _legend(ax, np.sum(lanes[1:], axis=(0, 2)))
    return ax


def _legend(ax: Axes, shown: Reals) -> None:
    for cause in Cause:
        if shown[cause] > 0:
            key = Rectangle((0, 0), 0, 0, facecolor=CAUSE_COLORS[cause], label=cause.words)
            ax.add_patch(key)
    legend_above(ax)


def _lanes(picture: ScheduleView) -> tuple[Reals, list[Reals]]:
    """Edges of bins, and of each lane the share of every bin by causes, (causes, bins)."""
    times, causes = picture.times, len(Cause)
    stop = times.command_start + times.command_cycles
    compute_stop = times.compute_start + picture.view.timeline.compute_cycles
    bounds = edges(
        times.cycles, times.start, times.compute_start, compute_stop, times.command_start, stop
    )
    cause, into = picture.analysis.steps.stalls.cause, inward(picture.view)
    one = np.ones_like(times.start)
    compute = means(bounds, (times.compute_start, compute_stop), one)
    moved = [
        means(
            bounds,
            (times.command_start[way], stop[way]),
            np.ones_like(stop[way]),
            (cause[way], causes),
        )
        for way in (into, ~into)
    ]
    return bounds, [compute, *moved, _stalls(picture, bounds)]


def _stalls(picture: ScheduleView, bounds: Reals) -> Reals:
    """Where the engine waits, by the causes of the step's whole stall in proportion."""
    times, causes = picture.times, len(Cause)
    compute_stop = times.compute_start + picture.view.timeline.compute_cycles
    whole = times.stall_by_cause.sum(axis=0)
    part = times.stall_by_cause / np.maximum(whole, 1)
    part[Cause.NONE, whole == 0] = 1.0
    group = np.repeat(np.arange(causes), times.start.size)

    def waiting(start: Ints, stop: Ints) -> Reals:
        spans = np.tile(start, causes), np.tile(stop, causes)
        return means(bounds, spans, part.ravel(), (group, causes))

    end = times.start + times.duration
    return waiting(times.start, times.compute_start) + waiting(compute_stop, end)
