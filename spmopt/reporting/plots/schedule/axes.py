"""Axes of time and of bytes; the coordinates are seconds and bytes, in all pictures."""

from __future__ import annotations

from math import ceil, log2

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator, MultipleLocator

from spmopt.reporting.plots.style import TEXT
from spmopt.reporting.quantities import BINARY, capacity, capacity_unit
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import TIMINGS_SAID


def seconds(picture: ScheduleView) -> float:
    """Return the end of the schedule."""
    return picture.times.cycles / picture.problem.machine.clock_hz


def time_axis(ax: Axes, picture: ScheduleView) -> None:
    """Lay the time axis from the start of a schedule to its end, or on to a limit that is set."""
    # A limit that is set is that of a longer schedule beside this one.
    until = 0.0 if ax.get_autoscalex_on() else ax.get_xlim()[1]
    ax.set_xlim(0.0, max(until, seconds(picture)))
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(EngFormatter(unit="s"))
    ax.set_xlabel(TIMINGS_SAID[picture.times.timing], fontsize=TEXT)


def byte_axis(ax: Axes, size_bytes: int) -> None:
    """Lay the axis of bytes from 0 to a little above a capacity, in its system of units."""
    unit = capacity_unit([size_bytes])
    ax.set_ylim(0.0, 1.04 * size_bytes)
    if unit == BINARY:
        # Ticks at powers of two read 1 MiB, not 976.6 KiB.
        ax.yaxis.set_major_locator(MultipleLocator(2.0 ** ceil(log2(size_bytes / 6))))
    else:
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 4, 5, 8, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: capacity(value, unit)))
