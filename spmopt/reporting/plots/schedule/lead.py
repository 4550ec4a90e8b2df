"""Where one schedule gains time over another of the same instance."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from spmopt.reporting.contrast import require_comparable
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plots.schedule.axes import entitled, time_axis
from spmopt.reporting.plots.style import LINE, alone
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import names


def plot_lead(first: ScheduleView, second: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw by how much longer operations take in ``first`` than in ``second``, summed up so far.

    Over the time of ``first``. The end is the difference of both times, whatever the orders.

    Raises
    ------
    InputError
        They are not of one instance, or not in the same times.
    """
    require_comparable(first, second)
    ax = alone(ax)
    clock = first.instance.machine.clock_hz
    place = np.argsort(second.view.timeline.operation)[first.view.timeline.operation]
    gained = np.cumsum(first.times.duration - second.times.duration[place]) / clock
    ended = (first.times.start + first.times.duration) / clock
    one, other = names((first, second))
    entitled(ax, f"Time that B ({other}) has gained on A ({one})", "gained")
    x, y = np.append(0.0, ended), np.append(0.0, gained)
    ax.axhline(0.0, color=LINE, linewidth=0.8)
    ax.fill_between(x, y, color=COLORS[2], alpha=0.25, linewidth=0)
    ax.plot(x, y, color=COLORS[2], linewidth=1.4)
    time_axis(ax, first)
    ax.yaxis.set_major_formatter(EngFormatter(unit="s"))
    return ax
