"""The map of the scratchpad: who lies where, when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.headings import bank_names
from spmopt.reporting.occupancy import KINDS, SCRATCH, kind_numbers
from spmopt.reporting.palette import KIND_COLORS
from spmopt.reporting.plots.schedule.axes import (
    add_title,
    byte_axis,
    legend_above,
    seconds,
    time_axis,
)
from spmopt.reporting.plots.style import LINE, alone, legible
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.residencies import Residencies

MOST_DRAWN = 4000
"""Rectangles drawn one by one; more of them become an image of so many pixels."""
_PIXELS = (2160, 800)
_STRIPE = 10
HATCHES = tuple("////" if kind == SCRATCH else None for kind in KINDS)
"""Scratch is no tensor: its pages are hatched."""
_CAPACITY: dict[str, Any] = {"color": LINE, "linewidth": 1.2, "linestyle": (0, (5, 2))}
_LETTER, _LINE = 0.055, 0.14
"""Inches that a letter of a name takes, and its line."""
_MOST_LETTERS = 40
_MOST_NAMES, _FEWEST_LETTERS = 60, 12
_DARK = ("activation", "gradient", "state")
"""Kinds on whose colors white is legible."""
_PALE = 0.22
"""How much is left of the color of what is not marked."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Bytes [low, high) of the scratchpad hold ``tensor`` (-1: scratch) in seconds [left, right).

    ``kind`` numbers :data:`~spmopt.reporting.occupancy.KINDS`; (r,) each.
    """

    tensor: Ints
    kind: Ints
    left: Reals
    right: Reals
    low: Ints
    high: Ints

    @classmethod
    def of(cls, picture: ScheduleView, chosen: Residencies | None = None) -> Self:
        """Return where residencies of a schedule are drawn: all of them, or those ``chosen``."""
        table = picture.residencies if chosen is None else chosen
        kinds = np.append(kind_numbers(picture.problem), KINDS.index(SCRATCH))
        clock, page_bytes = picture.problem.machine.clock_hz, picture.view.page_bytes
        return cls(
            tensor=table.tensor,
            kind=kinds[table.tensor],
            left=table.start / clock,
            right=table.stop / clock,
            low=table.page * page_bytes,
            high=(table.page + table.pages) * page_bytes,
        )


def plot_map(
    picture: ScheduleView, ax: Axes | None = None, *, marked: Residencies | None = None
) -> Axes:
    """Draw addresses in use over time, by kinds of tensors, and the capacity.

    Parameters
    ----------
    marked
        All else is drawn pale.
    """
    ax = alone(ax)
    add_title(ax, "SPM map", "address")
    ax.grid(visible=False)
    time_axis(ax, picture)
    byte_axis(ax, picture.problem.machine.spm_bytes)
    boxes = strong = Boxes.of(picture)
    if marked is not None:
        _fill(ax, picture, boxes, _PALE)
        strong = Boxes.of(picture, marked)
    _fill(ax, picture, strong, 1.0)
    _name(ax, picture, strong)
    capacity_line(ax, picture)
    _bank_lines(ax, picture)
    kind_legend(ax, np.unique(boxes.kind).tolist())
    return ax


def capacity_line(ax: Axes, picture: ScheduleView) -> None:
    """Draw the end of the scratchpad, until the end of the schedule."""
    size = picture.problem.machine.spm_bytes
    ax.hlines(size, 0.0, seconds(picture), **_CAPACITY)


def _bank_lines(ax: Axes, picture: ScheduleView) -> None:
    """Draw a line between two banks, and write the name of each at its first address."""
    machine, end = picture.problem.machine, seconds(picture)
    boundary = np.cumsum((0, *machine.bank_pages)) * machine.page_bytes
    for number, name in enumerate(bank_names(machine)):
        if number:
            ax.hlines(boundary[number], 0.0, end, color=LINE, linewidth=1.2)
        ax.text(
            0.995 * end,
            float(boundary[number]),
            legible(f"bank {number}: {name}", _MOST_LETTERS),
            fontsize=6.5,
            ha="right",
            va="bottom",
            parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.0},
        )


def kind_legend(ax: Axes, kinds: Iterable[int], *lines: Line2D) -> None:
    """Add a legend of the kinds of tensors that the axes have, of lines, and the capacity."""
    patches = (
        Patch(
            facecolor=KIND_COLORS[kind],
            hatch=HATCHES[kind],
            edgecolor="white",
            linewidth=0.0,
            label=KINDS[kind],
        )
        for kind in kinds
    )
    legend_above(ax, *patches, *lines, Line2D([], [], label="capacity", **_CAPACITY))


def _fill(ax: Axes, picture: ScheduleView, boxes: Boxes, strength: float) -> None:
    if boxes.kind.size > MOST_DRAWN:
        _image(ax, picture, boxes, strength)
        return
    x = np.stack((boxes.left, boxes.right, boxes.right, boxes.left), 1)
    corners = np.stack((x, np.stack((boxes.low, boxes.low, boxes.high, boxes.high), 1)), 2)
    for kind, color in enumerate(KIND_COLORS):
        ax.add_collection(
            PolyCollection(
                list(corners[boxes.kind == kind]),
                facecolor=_paler(color, strength),
                edgecolor="white",
                linewidth=0.25,
                hatch=HATCHES[kind],
            ),
            autolim=False,
        )


def _image(ax: Axes, picture: ScheduleView, boxes: Boxes, strength: float) -> None:
    """Color every pixel by the area that each kind has of it."""
    width, height = _PIXELS
    end, size = seconds(picture), picture.problem.machine.spm_bytes
    kinds, kind = np.unique(boxes.kind, return_inverse=True)
    share = coverage(
        (boxes.left / end * width, boxes.right / end * width),
        (boxes.low / size * height, boxes.high / size * height),
        kind,
        (kinds.size, height, width),
    )
    inks = np.array([_paler(KIND_COLORS[number], strength) for number in kinds])
    covered = share.sum(axis=0)
    picked = np.einsum("khw,kc->hwc", share, inks) / np.maximum(covered, 1e-9)[..., None]
    stripes = np.add.outer(np.arange(height), np.arange(width)) % _STRIPE < 2
    scratch = share[kinds == KINDS.index(SCRATCH)].sum(axis=0)
    striped = (scratch > 0.5) & stripes
    picked[striped] = 0.5 + picked[striped] / 2
    # What is free stays clear, so that rectangles may be drawn over others.
    image = np.concatenate((picked, np.clip(covered, 0.0, 1.0)[..., None]), axis=2)
    ax.imshow(
        np.round(image * 255).astype(np.uint8),
        extent=(0.0, end, 0.0, float(size)),
        origin="lower",
        aspect="auto",
        interpolation="antialiased",
    )


def _name(ax: Axes, picture: ScheduleView, boxes: Boxes) -> None:
    """Write the names of tensors into the rectangles that have room for them."""
    extent, inch = ax.get_window_extent(), ax.figure.dpi
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    wide = (boxes.right - boxes.left) / (right - left) * extent.width / inch
    high = (boxes.high - boxes.low) / (top - bottom) * extent.height / inch
    room = np.where((high > _LINE) & (boxes.tensor >= 0), wide / _LETTER - 1, 0).astype(np.int64)
    roomiest = np.argsort(-room, kind="stable")[:_MOST_NAMES]
    for row in roomiest[room[roomiest] >= _FEWEST_LETTERS].tolist():
        ax.text(
            (boxes.left[row] + boxes.right[row]) / 2,
            (boxes.low[row] + boxes.high[row]) / 2,
            legible(picture.problem.tensors[int(boxes.tensor[row])].name, int(room[row])),
            fontsize=6.5,
            color="white" if KINDS[boxes.kind[row]] in _DARK else "black",
            ha="center",
            va="center",
            parse_math=False,
            clip_on=True,
        )


def _paler(color: str, strength: float) -> tuple[float, float, float]:
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(color))
    return red, green, blue


def coverage(
    across: tuple[Reals, Reals],
    along: tuple[Reals, Reals],
    group: Ints,
    shape: tuple[int, int, int],
) -> Reals:
    """Return (groups, height, width) the share of each pixel that rectangles of a group cover.

    Parameters
    ----------
    across, along
        Ends of every rectangle in pixels, from 0 to width and from 0 to height.
    group : (r,)
        The group of each.
    shape
        Groups, height and width.

    Notes
    -----
    Along one axis the share of a pixel is the difference of two ramps, which changes at two pixels
    each: four numbers an axis, sixteen a rectangle, then two running sums. Shares of rectangles
    that overlap add up.
    """
    groups, height, width = shape
    x, dx = _changes(*across)
    y, dy = _changes(*along)
    place = (group[:, None, None] * (height + 2) + y[:, :, None]) * (width + 2) + x[:, None, :]
    change: Reals = np.bincount(
        place.ravel(),
        (dy[:, :, None] * dx[:, None, :]).ravel(),
        groups * (height + 2) * (width + 2),
    ).astype(float)
    change = change.reshape(groups, height + 2, width + 2)
    summed = np.cumsum(np.cumsum(change, axis=1), axis=2)[:, :height, :width]
    found: Reals = np.clip(summed, 0.0, 1.0)
    return found


def _changes(low: Reals, high: Reals) -> tuple[Ints, Reals]:
    """Return (r, 4) pixels at which the share changes, and by how much."""
    first, last = np.floor(low).astype(np.int64), np.floor(high).astype(np.int64)
    a, b = low - first, high - last
    return np.stack((first, first + 1, last, last + 1), 1), np.stack((1 - a, a, b - 1, -b), 1)
