"""The map of the scratchpad: who lies where, when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from spmopt.analysis.steps import Reals
from spmopt.core.table import Bools, Ints
from spmopt.reporting.headings import bank_names
from spmopt.reporting.occupancy import KINDS, SCRATCH
from spmopt.reporting.palette import KIND_COLORS
from spmopt.reporting.plots.schedule.axes import (
    byte_axis,
    entitled,
    legend_above,
    seconds,
    time_axis,
)
from spmopt.reporting.plots.schedule.boxes import Boxes
from spmopt.reporting.plots.schedule.coverage import coverage
from spmopt.reporting.plots.style import LINE, alone, legible
from spmopt.reporting.schedule_view import ScheduleView

MOST_DRAWN = 4000
"""Rectangles drawn one by one; more of them become an image of so many pixels."""
_PIXELS = (2160, 800)
_STRIPE = 10
_HATCH = "////"
_LETTER, _LINE = 0.055, 0.14
"""Inches that a letter of a name takes, and its line."""
_MOST_LETTERS = 40
_MOST_NAMES, _FEWEST_LETTERS = 60, 8
_DARK = ("activation", "gradient", "state")
"""Kinds on whose colors white is legible."""
_PALE = 0.22
"""How much is left of the color of what is not marked."""


def plot_map(picture: ScheduleView, ax: Axes | None = None, *, marked: Boxes | None = None) -> Axes:
    """Draw addresses in use over time, by kinds of tensors, and the capacity.

    Parameters
    ----------
    marked
        All else is drawn pale.
    """
    ax = alone(ax)
    entitled(ax, "SPM map", "address")
    ax.grid(visible=False)
    machine, boxes = picture.instance.machine, Boxes.of(picture)
    time_axis(ax, picture)
    byte_axis(ax, machine.spm_bytes)
    _fill(ax, picture, boxes, 1.0 if marked is None else _PALE)
    if marked is not None:
        _fill(ax, picture, marked, 1.0)
    _name(ax, picture, boxes if marked is None else marked)
    capacity_line(ax, picture)
    _bank_lines(ax, picture)
    kind_legend(ax, np.unique(boxes.kind).tolist())
    return ax


def capacity_line(ax: Axes, picture: ScheduleView) -> None:
    """The end of the scratchpad, until the end of the schedule."""
    size = picture.instance.machine.spm_bytes
    ax.hlines(size, 0.0, seconds(picture), color=LINE, linewidth=1.2, linestyle=(0, (5, 2)))


def _bank_lines(ax: Axes, picture: ScheduleView) -> None:
    """A line where one bank ends and the next begins, and the name of each at its first address."""
    machine, end = picture.instance.machine, seconds(picture)
    border = np.cumsum((0, *machine.bank_pages)) * machine.page_bytes
    for number, name in enumerate(bank_names(machine)):
        if number:
            ax.hlines(border[number], 0.0, end, color=LINE, linewidth=1.2)
        ax.text(
            0.995 * end,
            float(border[number]),
            legible(f"bank {number}: {name}", _MOST_LETTERS),
            fontsize=6.5,
            ha="right",
            va="bottom",
            parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.0},
        )


def kind_legend(ax: Axes, kinds: Sequence[int]) -> None:
    """A legend of the kinds of tensors that the axes have, and the capacity."""
    for kind in kinds:
        ax.add_patch(
            Rectangle(
                (0.0, 0.0),
                0.0,
                0.0,
                facecolor=KIND_COLORS[kind],
                hatch=hatch(kind),
                edgecolor="white",
                linewidth=0.0,
                label=KINDS[kind],
            )
        )
    ax.plot([], [], color=LINE, linewidth=1.2, linestyle=(0, (5, 2)), label="capacity")
    legend_above(ax)


def hatch(kind: int) -> str | None:
    """Scratch is no tensor: its pages are hatched."""
    return _HATCH if KINDS[kind] == SCRATCH else None


def _fill(ax: Axes, picture: ScheduleView, boxes: Boxes, strength: float) -> None:
    if boxes.kind.size > MOST_DRAWN:
        _image(ax, picture, boxes, strength)
        return
    for kind, color in enumerate(KIND_COLORS):
        chosen = boxes.kind == kind
        ax.add_collection(
            PolyCollection(
                list(_corners(boxes, chosen)),
                facecolor=_paler(color, strength),
                edgecolor="white",
                linewidth=0.25,
                hatch=hatch(kind),
            ),
            autolim=False,
        )


def _corners(boxes: Boxes, chosen: Bools) -> Reals:
    """(r, 4, 2) Seconds and bytes."""
    left, right = boxes.left[chosen], boxes.right[chosen]
    low, high = boxes.low[chosen], boxes.high[chosen]
    x = np.stack((left, right, right, left), 1)
    return np.stack((x, np.stack((low, low, high, high), 1)), 2)


def _image(ax: Axes, picture: ScheduleView, boxes: Boxes, strength: float) -> None:
    """Color every pixel by the area that each kind has of it."""
    width, height = _PIXELS
    end, size = seconds(picture), picture.instance.machine.spm_bytes
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
    for row in _widest(room):
        ax.text(
            (boxes.left[row] + boxes.right[row]) / 2,
            (boxes.low[row] + boxes.high[row]) / 2,
            legible(picture.instance.tensors[int(boxes.tensor[row])].name, int(room[row])),
            fontsize=6.5,
            color="white" if KINDS[boxes.kind[row]] in _DARK else "black",
            ha="center",
            va="center",
            parse_math=False,
            clip_on=True,
        )


def _widest(room: Ints) -> list[int]:
    """Rows with room for a name, perhaps a shorter one; the roomiest first."""
    order = np.argsort(-room, kind="stable")[:_MOST_NAMES]
    found: list[int] = order[room[order] >= _FEWEST_LETTERS].tolist()
    return found


def _paler(color: str, strength: float) -> tuple[float, float, float]:
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(color))
    return red, green, blue
