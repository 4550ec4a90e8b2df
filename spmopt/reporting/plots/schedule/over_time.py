"""Quantities over time: bytes on chip, lanes of engine and channel.

Time is in bins: more events than a picture has pixels are added up, never left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from spmopt.analysis import Cause
from spmopt.analysis.stalls import inward
from spmopt.analysis.steps import Reals
from spmopt.core.table import Bools, Ints
from spmopt.reporting.fused_groups import group_labels
from spmopt.reporting.occupancy import KINDS
from spmopt.reporting.palette import CAUSE_COLORS, KIND_COLORS
from spmopt.reporting.plots.schedule.addresses import HATCHES, capacity_line
from spmopt.reporting.plots.schedule.axes import byte_axis, seconds, time_axis
from spmopt.reporting.plots.style import LINE, TEXT, alone, dress, legible
from spmopt.reporting.quantities import share
from spmopt.reporting.schedule_view import ScheduleView

MOST_BINS = 540  # about two pixels each
_HEIGHT = 0.86  # of a lane, of the distance between two
_LANES = ("compute", "DMA in", "DMA out", "stall")
_COMPUTE = "#4d4d4d"
_BANDS = ("#c9d8e8", "#e6dcc3")  # of fused groups, in turn
_TILE, _LETTER = 0.04, 0.062  # inches between lines of fusion tiles at least, and of a letter
_CAUSES = [cause.words for cause in Cause]


def plot_occupancy(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw bytes of pages in use over time, stacked by kinds.

    Where steps are narrower than a bin of time they are averaged, so that areas are right, and a
    line has each step.
    """
    ax = alone(ax)
    dress(ax, "SPM occupancy", "bytes on chip")
    time_axis(ax, picture)
    byte_axis(ax, picture.problem.machine.spm_bytes)
    times, clock = picture.times, picture.problem.machine.clock_hz
    bounds = edges(times.cycles, times.start)
    held = means(bounds, times.start, times.start + times.duration, picture.occupied)
    _stack(ax, bounds / clock, held, KIND_COLORS, KINDS, hatches=HATCHES)
    if not np.isin(times.start, bounds).all():
        # Bins average over steps; the line keeps peaks that the areas smooth.
        exact = np.append(times.start, times.cycles) / clock
        ax.stairs(
            picture.occupied.sum(axis=0),
            exact,
            color=LINE,
            linewidth=0.5,
            baseline=None,
            rasterized=True,
            label="each step (areas: mean)",
        )
    capacity_line(ax, picture)
    return ax


def plot_lanes(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw lanes of the engine, of transfers in and out, and of stalls by their causes.

    The height within a lane is the share of the time at that place: events narrower than a bin of
    time are averaged. Beside its name is the share of all the time. A fused schedule has a lane
    of its fused groups above, with a line at each fusion tile.
    """
    ax = alone(ax)
    dress(ax, "Engine and DMA channel")
    ax.grid(visible=False)
    time_axis(ax, picture)
    bounds, lanes = _lanes(picture)
    clock, width = picture.problem.machine.clock_hz, np.diff(bounds)
    labels = []
    for place, (name, part) in enumerate(zip(_LANES, lanes, strict=True)):
        base = len(lanes) - 1 - place
        ground = (0.0, base), seconds(picture), _HEIGHT
        ax.add_patch(Rectangle(*ground, facecolor="#f2f2f2", linewidth=0, zorder=0))
        colors, names = ((_COMPUTE,), ("",)) if name == "compute" else (CAUSE_COLORS, _CAUSES)
        _stack(ax, bounds / clock, part * _HEIGHT, colors, names, base=base)
        labels.append(f"{name}\n{share(float((part * width).sum() / bounds[-1]))}")
    if picture.fused_groups:
        _fused_groups(ax, picture, len(lanes))
        count = len(picture.fused_groups)
        tiles = "fused groups,\ntheir fusion" if count > 1 else "fused group,\nits fusion"
        labels.insert(0, f"{count} {tiles} tiles")
    ax.set_ylim(-0.1, len(labels))
    ax.set_yticks([len(labels) - 1 - k + _HEIGHT / 2 for k in range(len(labels))], labels)
    ax.tick_params(axis="y", length=0, labelsize=TEXT - 1)
    return ax


def _fused_groups(ax: Axes, picture: ScheduleView, base: int) -> None:
    """Draw groups as bands, with as much of a label as fits, and a line where a tile begins."""
    clock = picture.problem.machine.clock_hz
    edge = np.append(picture.times.start, picture.times.cycles)
    # Inches per second: labels are chosen by the room on paper.
    inches = ax.get_window_extent().width / ax.figure.dpi / (ax.get_xlim()[1] or 1.0)
    for number, fused_group in enumerate(picture.fused_groups):
        left, right = edge[fused_group.begin_step] / clock, edge[fused_group.end_step] / clock
        color = _BANDS[number % len(_BANDS)]
        band = Rectangle((left, base), right - left, _HEIGHT, facecolor=color, linewidth=0)
        ax.add_patch(band)
        wide = (right - left) * inches
        if len(fused_group.blocks) <= wide / _TILE:
            at = edge[list(fused_group.blocks)] / clock
            ax.vlines(at, base, base + _HEIGHT, color="white", linewidth=0.4)
        label = next(
            (each for each in group_labels(fused_group) if len(each) + 1 <= wide / _LETTER), ""
        )
        if label:
            ax.text(
                (left + right) / 2,
                base + _HEIGHT / 2,
                legible(label),
                fontsize=TEXT - 2.5,
                ha="center",
                va="center",
                parse_math=False,
                clip_on=True,
                bbox={"facecolor": color, "linewidth": 0, "pad": 0.5},
            )


def _lanes(picture: ScheduleView) -> tuple[Reals, list[Reals]]:
    """Return edges of bins, and of each lane the share of every bin by causes, (causes, bins)."""
    times, cause = picture.times, picture.analysis.steps.stalls.cause
    computed = times.compute_start + picture.view.timeline.compute_cycles
    marks = (times.start, times.compute_start, computed, times.command_start, times.command_end)
    bounds = edges(times.cycles, *marks)
    compute = means(bounds, times.compute_start, computed, np.ones((1, computed.size)))
    by_cause, into = np.arange(len(Cause))[:, None] == cause, inward(picture.view)
    moved = [
        means(bounds, times.command_start, times.command_end, by_cause & way)
        for way in (into, ~into)
    ]
    # The engine waits by the causes of the step's whole stall in proportion.
    whole = times.stall_by_cause.sum(axis=0)
    part = times.stall_by_cause / np.maximum(whole, 1)
    # Steps without a stall share out nothing; a division by their 0 is avoided.
    part[Cause.NONE, whole == 0] = 1.0
    before = means(bounds, times.start, times.compute_start, part)
    after = means(bounds, computed, times.start + times.duration, part)
    return bounds, [compute, *moved, before + after]


def _stack(
    ax: Axes,
    bounds: Reals,
    heights: Reals,
    colors: Sequence[str],
    labels: Sequence[str],
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
                label=labels[number],
            )


def edges(cycles: int, *marks: Ints) -> Reals:
    """Return edges of bins from 0 to ``cycles``: the ``marks`` themselves if these are few."""
    found = np.unique(np.concatenate((*marks, [0, max(1, cycles)])))
    if found.size - 1 <= MOST_BINS:
        return found.astype(float)
    # Even bins, each about two pixels wide.
    return np.linspace(0.0, float(cycles), MOST_BINS + 1)


def means(edges: Reals, start: Ints, stop: Ints, value: Reals | Ints | Bools) -> Reals:
    """Return (groups, bins) the mean of spans with ``value`` in [start, stop) over each bin.

    ``value`` (groups, spans) has a row for each group. Empty spans count for nothing. The
    sums of all bins, times their widths, are those of the spans, whichever the bins.
    """
    # A span is a ramp that begins at its start less one that begins at its stop.
    upto = _upto(edges, start, value) - _upto(edges, stop, value)
    return np.maximum(np.diff(upto) / np.diff(edges), 0.0)


def _upto(edges: Reals, since: Ints, value: Reals | Ints | Bools) -> Reals:
    """Integrate up to every edge, (groups, edges), values that begin at ``since`` and never end."""
    order = np.argsort(since, kind="stable")
    place = np.searchsorted(since[order], edges, side="left")
    rates = value[:, order].astype(float)
    rate, begun = (
        np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0)))[:, place]
        for each in (rates, rates * since[order].astype(float))
    )
    # Sum of rate (edge - since) over all that have begun: rate * edge - sum of rate since.
    found: Reals = rate * edges - begun
    return found
