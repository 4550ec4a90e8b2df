"""Which assumption brings the means of figures 5, 6 and 12 nearer to the paper's."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import gradients
from results.shared.common import Table, signed
from results.shared.gradients import (
    BASELINE,
    LARGE,
    LIMIT,
    MACHINES,
    POTENTIAL,
    SAVED,
    SHARE_OF_READS,
    SHARE_OF_TRAFFIC,
    SPEEDUP,
    TITLES,
    Setting,
    faster,
    saving,
    share,
)

TECHNIQUES = ("interleaving", "+rearrangement")
PLAIN, ALONE = "as everywhere", "backward pass alone"
READINGS: Mapping[str, Mapping[str, Any]] = {  # the options of `spmopt tiles` are on the page
    PLAIN: {},
    "2 bytes an element": {"element_bytes": 2},
    "weight stationary": {"dataflow": "ws"},
    "the baseline's tiles": {"tiles": "baseline"},
    "square tiles": {"tiles": "square"},
    "no re-use between batches": {"reuse": "none"},
}
SHORT = {machine: TITLES[machine].removesuffix(" NPU") for machine in MACHINES}
PAPER = {  # percent; a speedup as the time saved
    "dY of traffic, large": SHARE_OF_TRAFFIC,
    "dY of reads, large": SHARE_OF_READS,
    **{f"second read free, {SHORT[m]}": 100 * (1 - 1 / SPEEDUP[m]) for m in MACHINES},
    **{f"{t}, {SHORT[m]}": SAVED[m, t] for m in MACHINES for t in TECHNIQUES},
}


def means(rows: pd.DataFrame, reading: str) -> pd.Series:
    """The same means here, percent."""
    column = "backward_cycles" if reading == ALONE else "cycles"
    own = rows[rows.setting == (PLAIN if reading == ALONE else reading)]
    large = own[own.machine == LARGE]
    found = {
        "dY of traffic, large": share(large, "traffic_bytes").mean(),
        "dY of reads, large": share(large, "read_bytes").mean(),
    }
    for machine in MACHINES:
        some = own[own.machine == machine]
        found[f"second read free, {SHORT[machine]}"] = 1 - 1 / faster(some, column).mean()
        for name in TECHNIQUES:
            found[f"{name}, {SHORT[machine]}"] = saving(some, name, column).mean()
    return 100 * pd.Series(found)[list(PAPER)]


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """A line for each figure, a column for each assumption."""
    rows = gradients.with_cycles(rows)
    found = pd.DataFrame({reading: means(rows, reading) for reading in (*READINGS, ALONE)})
    off = found.sub(pd.Series(PAPER), axis=0)
    lines = []
    for name, paper in PAPER.items():
        bold = ["**" if abs(value) > LIMIT else "" for value in off.loc[name]]
        cells = [f"{b}{value:.1f}{b}" for b, value in zip(bold, found.loc[name], strict=True)]
        near = off.loc[name].abs().idxmin()
        lines.append([name, f"{paper:.1f}", *cells, f"{near} ({signed(off.loc[name, near])})"])
    mean = off.abs().mean()
    cells = [f"{value:.1f}" for value in mean]
    lines.append(["mean deviation, points", "-", *cells, str(mean.idxmin())])
    heads = ["mean of networks, %", "paper", *found, "nearest (points from the paper)"]
    yield Table(heads=heads, lines=lines)


SETTINGS = [
    Setting(name=name, machine=machine, **given)
    for name, given in READINGS.items()
    for machine in MACHINES
]
STUDY = gradients.network_study(
    __file__, gradients.asked(SETTINGS, (BASELINE, POTENTIAL, *TECHNIQUES)), tables
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
