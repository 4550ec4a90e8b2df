"""Map of the scratchpad: addresses over time, one rectangle for each residency interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.headings import bank_names
from spmopt.reporting.occupancy import KINDS, SCRATCH, kind_numbers
from spmopt.reporting.palette import KIND_COLORS
from spmopt.reporting.plots.schedule.axes import byte_axis, seconds, time_axis
from spmopt.reporting.plots.style import LINE, alone, dress, legible
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.residencies import Residencies

MOST_SHAPES = 4000  # rectangles in a vector file; more become pixels, without white edges
# Scratch is no tensor: its pages are hatched.
HATCHES = tuple("////" if kind == SCRATCH else None for kind in KINDS)
_CAPACITY: dict[str, Any] = {"color": LINE, "linewidth": 1.2, "linestyle": (0, (5, 2))}
_LETTER, _LINE = 0.055, 0.14  # inches of a letter of a name, and of its line
_MOST_LETTERS, _FEWEST_LETTERS, _MOST_NAMES = 40, 12, 60
_DARK = ("activation", "gradient", "state")  # kinds on whose colors white is legible
_PALE = 0.22  # opacity of rectangles that are not marked


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
        """Return the boxes of all residencies of a schedule, or of those ``chosen``."""
        table = picture.residencies if chosen is None else chosen
        # Scratch is tensor -1, which numpy takes from the end.
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
        Residencies in full color, all others pale; default: all in full color.
    """
    ax = alone(ax)
    dress(ax, "SPM map", "address")
    ax.grid(visible=False)
    time_axis(ax, picture)
    byte_axis(ax, picture.problem.machine.spm_bytes)
    boxes = strong = Boxes.of(picture)
    if marked is not None:
        _fill(ax, boxes, _PALE)
        strong = Boxes.of(picture, marked)
    _fill(ax, strong, 1.0)
    _name(ax, picture, strong)
    capacity_line(ax, picture)
    _bank_lines(ax, picture)
    return ax


def capacity_line(ax: Axes, picture: ScheduleView) -> None:
    """Draw the end of the scratchpad, until the end of the schedule."""
    size = picture.problem.machine.spm_bytes
    ax.hlines(size, 0.0, seconds(picture), label="capacity", **_CAPACITY)


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


def _fill(ax: Axes, boxes: Boxes, opacity: float) -> None:
    # A vector file of more rectangles is slow to open.
    is_many = boxes.kind.size > MOST_SHAPES
    x = np.stack((boxes.left, boxes.right, boxes.right, boxes.left), 1)
    corners = np.stack((x, np.stack((boxes.low, boxes.low, boxes.high, boxes.high), 1)), 2)
    # One collection a kind: a patch for each rectangle takes matplotlib minutes.
    for kind in np.unique(boxes.kind).tolist():
        ax.add_collection(
            PolyCollection(
                list(corners[boxes.kind == kind]),
                facecolor=KIND_COLORS[kind],
                alpha=opacity,
                edgecolor="white",
                linewidth=0.0 if is_many else 0.25,
                hatch=HATCHES[kind],
                rasterized=is_many,
                # Pale boxes must not stand for their kind in the legend.
                label=KINDS[kind] if opacity == 1.0 else None,
            ),
            autolim=False,
        )


def _name(ax: Axes, picture: ScheduleView, boxes: Boxes) -> None:
    """Write the names of tensors into the rectangles that have room for them."""
    extent, inch = ax.get_window_extent(), ax.figure.dpi
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    wide = (boxes.right - boxes.left) / (right - left) * extent.width / inch
    high = (boxes.high - boxes.low) / (top - bottom) * extent.height / inch
    # Scratch (tensor -1) has no name.
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
