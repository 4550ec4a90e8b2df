"""What more scratchpad is worth, along time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from spmopt.core.errors import InputError
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plots.schedule.axes import entitled, time_axis
from spmopt.reporting.plots.style import alone
from spmopt.reporting.quantities import si
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import MB


def plot_price(picture: ScheduleView, ax: Axes | None = None) -> Axes:
    """Draw what a little more scratchpad saves at most, summed up over the steps until each time.

    It rises where the scratchpad is what holds the schedule back, by the prices that prove the
    bound; the end is what so much more is worth in all. It is 1 MB, or less where that were more
    than a tenth of the scratchpad.

    Raises
    ------
    InputError
        The result has no prices for its order of operations.
    """
    price, prices = picture.price, picture.prices
    if price is None or prices is None:
        raise InputError(
            f"{picture.instance.name}, {picture.result.scheduler}: has no prices of the scratchpad "
            "for its order of operations; draw another picture"
        )
    ax = alone(ax)
    amount = picture.little_bytes
    total, unit = picture.in_unit(prices.per_spm_byte * amount)
    entitled(
        ax,
        f"SPM shadow price: {si(amount, 'B')} more saves at most {si(total, unit)}",
        "saved so far",
    )
    time_axis(ax, picture)
    times, clock = picture.times, picture.instance.machine.clock_hz
    x = np.append(0.0, (times.start + times.duration) / clock)
    y = np.append(0.0, np.cumsum(price) * (amount / MB))
    ax.fill_between(x, y, color=COLORS[2], alpha=0.25, linewidth=0)
    ax.plot(x, y, color=COLORS[2], linewidth=1.4)
    ax.yaxis.set_major_formatter(EngFormatter(unit=unit))
    ax.set_ylim(0.0, 1.08 * float(y[-1]) or 1.0)
    return ax
