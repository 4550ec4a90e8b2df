"""Savings of each decision about a network as bars, and layers under the roofline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from spmopt.analysis import Analysis
from spmopt.reporting.ablation.decisions import Decision
from spmopt.reporting.palette import COLORS
from spmopt.reporting.plots.roofline import plot_roofline
from spmopt.reporting.plots.style import (
    LINE,
    TEXT,
    alone,
    canvas,
    draw_legend,
    dress,
    legible,
    set_title,
)
from spmopt.reporting.quantities import percent, si

_WIDE = 0.62  # of the distance between two bars


def ablation_figures(decisions: Sequence[Decision]) -> dict[str, Figure]:
    """Return figures by title: savings, and the rooflines of the first and the best schedule."""
    savings, [[ax]] = canvas(1, 1, 4.2)
    plot_savings(decisions, ax)
    draw_legend(savings, [ax])
    chosen = {each.key: each for each in (decisions[0], decisions[-1])}
    roofs, grid = canvas(len(chosen), 1, 4.0 * len(chosen))
    for (ax,), each in zip(grid, chosen.values(), strict=True):
        assert each.result.schedule is not None
        plot_roofline(Analysis.of(each.problem, each.result.schedule).by_layer(), ax)
        set_title(ax, f"{each.key.words}: {ax.get_title('left')}")
    draw_legend(roofs, [ax for (ax,) in grid])
    return {"What each decision is worth": savings, "Layers under the roofline": roofs}


def plot_savings(decisions: Sequence[Decision], ax: Axes | None = None) -> Axes:
    """Draw the time of the best schedule after each decision, its saving, and the bound."""
    ax = alone(ax)
    dress(ax, "Time of the best schedule after each decision")
    places = np.arange(len(decisions))
    cycles = [(each.cycles, each.totals.compute_cycles, each.before_cycles) for each in decisions]
    time, compute, before = np.array(cycles).T / decisions[0].problem.machine.clock_hz
    ax.bar(places, compute, _WIDE, color=COLORS[0], label="engine computes")
    ax.bar(places, time - compute, _WIDE, bottom=compute, color=COLORS[4], label="engine waits")
    # Before the first decision there is nothing to save.
    saved = np.maximum(before - time, 0.0)
    some = saved > 0
    ax.bar(
        places[some],
        saved[some],
        _WIDE,
        bottom=time[some],
        color="none",
        edgecolor=COLORS[2],
        linestyle="--",
        label="saved by the decision",
    )
    for place, each in zip(places.tolist(), decisions, strict=True):
        top = time[place] + saved[place]
        part = percent(-each.saved_cycles / each.before_cycles) if each.saved_cycles else ""
        ax.annotate(
            f"{si(float(time[place]), 's')}{part and f' ({part})'}",
            (place, top),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=TEXT - 1,
        )
        if each.bound is not None:
            label = "certified lower bound so far"
            bound = each.seconds(each.bound)
            ends = place - _WIDE / 2, place + _WIDE / 2
            ax.hlines(bound, *ends, color=LINE, linewidth=2.2, label=label)
    ax.set_xticks(places, [legible(each.key.words, 24) for each in decisions], parse_math=False)
    ax.yaxis.set_major_formatter(EngFormatter(unit="s"))
    # Room for the figures that are written above the bars.
    ax.set_ylim(0.0, 1.12 * float((time + saved).max()) or 1.0)
    ax.grid(visible=False, axis="x")
    return ax
