"""Which assumption brings the means of figures 5, 6 and 12 nearer to the paper's."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd

from results.shared import gradients
from results.shared.common import Tables, signed, texts
from results.shared.gradients import (
    BASELINE,
    IDEAL,
    LARGE,
    LIMIT,
    MACHINES,
    POTENTIAL,
    SAVED,
    SHARES,
    SPEEDUP,
    TITLES,
    NpuSetting,
    faster,
    saving,
    share,
)

TECHNIQUES = ("interleaving", "+rearrangement", IDEAL)
PLAIN, ALONE = "as everywhere", "backward pass alone"
READINGS: Mapping[str, Mapping[str, Any]] = {  # the options of `spmopt tiles` are on the page
    PLAIN: {},
    "im2col matrices": {"im2col": True},
    "networks as published": {"published": True},
    "sums leave": {"reuse": "shared"},
    "overlapping folds": {"pipelined": True},
    "dW by rows": {"dw": "kji"},
}
SHORT = {machine: TITLES[machine].removesuffix(" NPU") for machine in MACHINES}
PAPER = {  # percent; a speedup as the time saved
    "dY of traffic, large": SHARES["traffic"],
    "dY of reads, large": SHARES["reads"],
    **{f"second read free, {SHORT[m]}": 100 * (1 - 1 / SPEEDUP[m]) for m in MACHINES},
    **{f"{t}, {SHORT[m]}": SAVED[m][t] for m in MACHINES for t in TECHNIQUES},
}


def means(rows: pd.DataFrame, reading: str) -> pd.Series:
    """Return the same means here, percent."""
    column = "backward_cycles" if reading == ALONE else "cycles"
    own = rows[rows.setting == (PLAIN if reading == ALONE else reading)]
    found = {
        "dY of traffic, large": share(own, "traffic_bytes", machine=LARGE).mean(),
        "dY of reads, large": share(own, "read_bytes", machine=LARGE).mean(),
    }
    for machine, name in SHORT.items():
        speedup = faster(own, column, machine=machine).mean()
        found[f"second read free, {name}"] = 1 - 1 / speedup
        for technique in TECHNIQUES:
            saved = saving(own, technique, column, machine=machine)
            found[f"{technique}, {name}"] = saved.mean()
    return 100 * pd.Series(found)[[*PAPER]]


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate a line for each figure, a column for each assumption."""
    found = pd.DataFrame({reading: means(rows, reading) for reading in (*READINGS, ALONE)})
    paper = pd.Series(PAPER)
    off = found.sub(paper, axis=0)
    shown, near = texts(found, "{:.1f}"), off.abs().idxmin(axis=1)
    shown = shown.mask(off.abs() > LIMIT, "**" + shown + "**")
    shown.insert(0, "paper", texts(paper, "{:.1f}"))
    shown["nearest (points from the paper)"] = [
        f"{reading} ({signed(off.at[name, reading])})" for name, reading in near.items()
    ]
    mean = off.abs().mean()
    last = ["-", *(f"{value:.1f}" for value in mean), mean.idxmin()]
    shown.loc["mean deviation, points"] = last
    return {"": shown.rename_axis("mean of networks, %")}


SETTINGS = [
    NpuSetting(name=name, machine=machine, **given)
    for name, given in READINGS.items()
    for machine in MACHINES
]
CASES = gradients.cases(SETTINGS, (BASELINE, POTENTIAL, *TECHNIQUES))
STUDY = gradients.network_study(__file__, CASES, tables=tables)

if __name__ == "__main__":
    sys.exit(STUDY.main())
