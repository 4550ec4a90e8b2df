"""Figures 5 and 6: what reading dY costs, and what a free second read would save."""

from __future__ import annotations

import sys

import pandas as pd
from matplotlib.figure import Figure

from results.shared import gradients
from results.shared.common import Tables, in_percent, points, tabulated
from results.shared.gradients import (
    BASELINE,
    DOUBLE_BUFFER,
    LARGE,
    LIMIT,
    MACHINES,
    POTENTIAL,
    REPLACEMENTS,
    SHARES,
    SPEEDUP,
    TITLES,
    NpuSetting,
    by_network,
    faster,
    share,
)
from results.shared.plots import bars, label
from spmopt.reporting.plots.style import canvas

TRAFFIC, READS = "traffic_bytes", "read_bytes"
PLAIN = [(m, r) for m in MACHINES for r in REPLACEMENTS]


def plain(rows: pd.DataFrame, machine: str, replacement: str) -> pd.DataFrame:
    """Return rows of a machine and replacement at the paper's batch size."""
    own = rows[(rows.setting == "plain") & (rows.machine == machine)]
    return own[own.scheduler == replacement]


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate shares and speedups."""
    own = {each: plain(rows, *each) for each in PLAIN}
    dlrm = [own[LARGE, r][own[LARGE, r].network == "dlrm"] for r in REPLACEMENTS]
    large = [own[LARGE, r] for r in REPLACEMENTS]
    means = []
    for name, paper, column, some in (
        ("of traffic", SHARES["traffic"], TRAFFIC, large),
        ("of reads", SHARES["reads"], READS, large),
        ("of reads, dlrm", SHARES["reads-dlrm"], READS, dlrm),
    ):
        first, *rest = (share(each, column).mean() for each in some)
        cells = [points(100 * first, paper), *map(in_percent, rest)]
        means.append([f"dY {name}, large NPU, %", f"{paper:.1f}", *cells])
    for m in MACHINES:
        for column, aim, more in (
            ("cycles", SPEEDUP[m], ""),
            ("backward_cycles", None, ", backward pass alone"),
        ):
            gains = [faster(own[m, r], column).mean() for r in REPLACEMENTS]
            cells = [f"{gain:.2f}" for gain in gains]
            if aim is not None and abs(gains[0] - aim) > LIMIT / 100:
                cells[0] = f"**{cells[0]}**"
            name = f"speedup with the second read free, {TITLES[m]}{more}"
            means.append([name, "-" if aim is None else f"{aim:.2f}", *cells])
    found = {"Means of networks": tabulated(["figure", "paper", *REPLACEMENTS], means)}
    for m in MACHINES:
        shares = {
            f"of {what}: {r}": share(own[m, r], column)
            for what, column in (("traffic", TRAFFIC), ("reads", READS))
            for r in REPLACEMENTS
        }
        found[f"Share of dY in the backward pass, {TITLES[m]}, %"] = by_network(shares)
    speedups = {f"{TITLES[m]}: {r}": faster(some) for (m, r), some in own.items()}
    return {**found, "Speedup with the second read of dY free": by_network(speedups, "{:.2f}")}


def draw(rows: pd.DataFrame) -> Figure:
    """Draw shares and speedups under double buffering."""
    own = {TITLES[m]: plain(rows, m, DOUBLE_BUFFER) for m in MACHINES}
    shares = {
        f"{what}, {name}": 100 * share(some, column)
        for what, column in (("of traffic", TRAFFIC), ("of reads", READS))
        for name, some in own.items()
    }
    gains = {name: 100 * (faster(some) - 1) for name, some in own.items()}
    figure, axes = canvas(2, 1, 6.0)
    for (ax,), found, head, y in (
        (axes[0], shares, "Share of dY in the backward pass", "%"),
        (axes[1], gains, "Both passes with the second read of dY free", "faster by, %"),
    ):
        bars(ax, pd.DataFrame(found), 0.0)
        label(ax, head, "", y)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=4, frameon=False)
    return figure


PAPER = [NpuSetting(name="plain", machine=machine) for machine in MACHINES]
LARGER = [NpuSetting(name=f"batch {size}", batch=size) for size in (64, 512, 2048)]
CASES = {  # the figures, and the network that is farthest from the paper's at larger batches
    **gradients.cases(PAPER, (BASELINE, POTENTIAL), REPLACEMENTS),
    **gradients.cases(LARGER, (BASELINE,), only="dlrm"),
}
STUDY = gradients.network_study(__file__, CASES, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
