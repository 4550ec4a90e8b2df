"""Axes of time and of bytes; the coordinates are seconds and bytes, in all pictures."""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, MaxNLocator

from spmopt.reporting.plots.style import TEXT, dress, legible
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import TIMINGS_SAID

_LETTER, _SMALL_LETTER, _KEY, _ROOM = 0.068, 0.057, 0.26, 6.9
"""Inches of a letter of titles and of legends, of a mark and the space around it, of a line."""
_PAD, _LINE = 6.0, 14.0
"""Points between axes and title; a line."""


def seconds(picture: ScheduleView) -> float:
    """Return when everything has ended."""
    return picture.times.cycles / picture.problem.machine.clock_hz


def time_axis(ax: Axes, picture: ScheduleView) -> None:
    """Lay the time axis from the start of a schedule to its end, or on to a limit that is set."""
    until = 0.0 if ax.get_autoscalex_on() else ax.get_xlim()[1]
    ax.set_xlim(0.0, max(until, seconds(picture)))
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(EngFormatter(unit="s"))
    ax.set_xlabel(TIMINGS_SAID[picture.times.timing], fontsize=TEXT)


def byte_axis(ax: Axes, most: float) -> None:
    """Lay the axis of bytes from nothing to a little above ``most``."""
    ax.set_ylim(0.0, 1.04 * most)
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 4, 5, 8, 10]))
    ax.yaxis.set_major_formatter(EngFormatter(unit="B"))


def add_title(ax: Axes, title: str, y_label: str) -> None:
    """Put the title at the left, where a legend has room beside it."""
    dress(ax)
    ax.set_ylabel(y_label, fontsize=TEXT)
    retitle(ax, title)


def retitle(ax: Axes, title: str) -> None:
    """Put a title beside the legend, or above it where both have no room in a line."""
    found = ax.get_legend()
    labels = [] if found is None else [text.get_text() for text in found.get_texts()]
    inches = _LETTER * len(title) + sum(_KEY + _SMALL_LETTER * len(label) for label in labels)
    ax.set_title(
        legible(title),
        fontsize=TEXT,
        loc="left",
        parse_math=False,
        pad=_PAD if inches < _ROOM else _PAD + _LINE,
    )


def legend_above(ax: Axes, *handles: Artist) -> None:
    """Add a legend in a line, right above the axes: of ``handles``, else of all with a label."""
    handles = handles or tuple(ax.get_legend_handles_labels()[0])
    ax.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.005, 0.985),
        ncols=len(handles),
        frameon=False,
        fontsize=TEXT - 1.5,
        handlelength=1.0,
        handleheight=0.9,
        handletextpad=0.4,
        columnspacing=0.9,
        borderpad=0.2,
    )
    retitle(ax, ax.get_title("left"))
