"""Figures 5 and 6: what reading dY costs, and what a free second read would save."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import gradients
from results.shared.common import Table, in_percent
from results.shared.gradients import (
    BASELINE,
    DOUBLE_BUFFER,
    LARGE,
    LIMIT,
    MACHINES,
    POTENTIAL,
    REPLACEMENTS,
    SHARE_OF_READS,
    SHARE_OF_READS_DLRM,
    SHARE_OF_TRAFFIC,
    SPEEDUP,
    TITLES,
    Setting,
    faster,
    share,
    under,
)
from results.shared.plots import bars, canvas, dress

TRAFFIC, READS = "traffic_bytes", "read_bytes"


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Shares and speedups."""
    rows = gradients.with_cycles(rows[rows.setting == "plain"])
    own = {(m, r): under(rows, r, machine=m) for m in MACHINES for r in REPLACEMENTS}
    means = []
    for name, paper, shares in (
        ("of traffic", SHARE_OF_TRAFFIC, [share(own[LARGE, r], TRAFFIC) for r in REPLACEMENTS]),
        ("of reads", SHARE_OF_READS, [share(own[LARGE, r], READS) for r in REPLACEMENTS]),
        (
            "of reads, dlrm",
            SHARE_OF_READS_DLRM,
            [share(own[LARGE, r], READS)[["dlrm"]] for r in REPLACEMENTS],
        ),
    ):
        first, *rest = (each.mean() for each in shares)
        cells = [gradients.points(first, paper), *map(in_percent, rest)]
        means.append([f"dY {name}, large NPU, %", f"{paper:.1f}", *cells])
    for m in MACHINES:
        name = f"speedup with the second read free, {TITLES[m]}"
        both, alone = (
            [f"{faster(own[m, r], column).mean():.2f}" for r in REPLACEMENTS]
            for column in ("cycles", "backward_cycles")
        )
        if abs(faster(own[m, DOUBLE_BUFFER]).mean() - SPEEDUP[m]) > LIMIT / 100:
            both[0] = f"**{both[0]}**"
        means.append([name, f"{SPEEDUP[m]:.2f}", *both])
        means.append([f"{name}, backward pass alone", "-", *alone])
    yield Table(title="Means of networks", heads=["figure", "paper", *REPLACEMENTS], lines=means)
    for m in MACHINES:
        found = {
            f"of {what}: {r}": share(own[m, r], column)
            for what, column in (("traffic", TRAFFIC), ("reads", READS))
            for r in REPLACEMENTS
        }
        yield Table(
            title=f"Share of dY in the backward pass, {TITLES[m]}, %",
            heads=["network", *found],
            lines=gradients.by_network(found),
        )
    gains = {f"{TITLES[m]}: {r}": faster(some) for (m, r), some in own.items()}
    yield Table(
        title="Speedup with the second read of dY free",
        heads=["network", *gains],
        lines=gradients.by_network(gains, "{:.2f}".format),
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Shares and speedups under double buffering."""
    rows = gradients.with_cycles(under(rows, DOUBLE_BUFFER, setting="plain"))
    own = {TITLES[machine]: rows[rows.machine == machine] for machine in MACHINES}
    shares = {
        f"{what}, {name}": 100 * share(some, column)
        for what, column in (("of traffic", TRAFFIC), ("of reads", READS))
        for name, some in own.items()
    }
    gains = {name: 100 * (faster(some) - 1) for name, some in own.items()}
    title = (
        "Share of dY in the backward pass, and the gain if its second read is free\nsequential "
        "baseline, double buffering; batch 4 (small NPU) and 8 (large NPU), 4 bytes an element"
    )
    figure, axes = canvas(2, 1, 6.0, title)
    for (ax,), found, head, y in zip(
        axes,
        (shares, gains),
        ("Share of dY in the backward pass", "Both passes with the second read of dY free"),
        ("%", "faster by, %"),
        strict=True,
    ):
        bars(ax, pd.DataFrame(found), 0.0)
        dress(ax, head, "", y)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=4, frameon=False)
    return figure


PLAIN = [Setting(name="plain", machine=machine) for machine in MACHINES]
LARGER = [Setting(name=f"batch {size}", batch=size) for size in (64, 512, 2048)]
CASES = {  # the figures, and the network that is farthest from the paper's at larger batches
    **gradients.asked(PLAIN, (BASELINE, POTENTIAL), REPLACEMENTS),
    **gradients.asked(LARGER, (BASELINE,), only="dlrm"),
}
STUDY = gradients.network_study(__file__, CASES, tables, draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
