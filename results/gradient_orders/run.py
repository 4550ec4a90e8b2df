"""Figure 12: what interleaving, rearrangement and partitioning save, under three replacements."""

from __future__ import annotations

import sys

import pandas as pd
from matplotlib.figure import Figure

from results.shared import gradients
from results.shared.common import Tables, tabulated
from results.shared.gradients import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    HEADS,
    IDEAL,
    LAST,
    MACHINES,
    OPTIMAL,
    POTENTIAL,
    REPLACEMENTS,
    SAVED,
    TECHNIQUES,
    TITLES,
    NpuSetting,
    relative,
    saving,
)

ALL = tuple(name for name in TECHNIQUES if name != POTENTIAL)
SHOWN = ALL[1:]


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate means beside the paper's, networks, then all against the same baseline."""
    papers = {(m, t): SAVED[m][t] for m in MACHINES for t in SHOWN}
    means = gradients.beside_paper(rows, "machine", papers)
    heads = ["machine", "technique", "paper: time", *HEADS]
    found = {
        "Saved against the baseline under the same replacement, mean of networks, %": tabulated(
            heads, means, left=2
        ).rename(index=TITLES, level=0)
    }
    against = []
    for m in MACHINES:
        own = {name: saving(rows, name, machine=m, scheduler=DOUBLE_BUFFER) for name in SHOWN}
        for by in (BELADY, OPTIMAL):
            own[f"{LAST}, {by}"] = saving(rows, LAST, machine=m, scheduler=by)
        same = f"{LAST}, {OPTIMAL}, against the baseline under {DOUBLE_BUFFER}"
        own[same] = 1 - relative(rows, m, LAST, OPTIMAL)
        own[f"{LAST}, backward alone"] = saving(
            rows, LAST, "backward_cycles", machine=m, scheduler=DOUBLE_BUFFER
        )
        mean = {name: pd.concat([of, pd.Series({"mean": of.mean()})]) for name, of in own.items()}
        title = f"Time saved on the {TITLES[m]} against the baseline under the same replacement, %"
        found[title] = gradients.by_network(mean)
        for technique in (BASELINE, "interleaving", "+rearrangement", LAST):
            about = {"machine": m, "scheduler": OPTIMAL}
            value, bound = (gradients.of(rows, technique, c, **about) for c in ("value", "bound"))
            ratios = [
                relative(rows, m, technique, by, column).mean()
                for column in ("cycles", "traffic_bytes")
                for by in REPLACEMENTS
            ]
            over = (value / bound).mean()  # the bound of each row's own tiles
            cells = [*map("{:.3f}".format, ratios), f"{over:.2f}"]
            against.append([TITLES[m], technique, *cells])
    heads = ["machine", "technique", *HEADS, "traffic over the bound of all orders: residency"]
    title = "In terms of the baseline under double buffering, mean of networks"
    return {**found, title: tabulated(heads, against, left=2)}


def draw(rows: pd.DataFrame) -> Figure:
    """Draw times saved, all against the paper's baseline under double buffering."""
    panels, mark = {}, f"{LAST} under optimal residency, same baseline"
    for m in MACHINES:
        own = {name: saving(rows, name, machine=m, scheduler=DOUBLE_BUFFER) for name in SHOWN}
        panels[TITLES[m]] = {**own, mark: 1 - relative(rows, m, LAST, OPTIMAL)}
    return gradients.draw_savings(panels, mark)


# All but the ideal choice under optimal residency, for the time that takes.
WAYS = [(name, OPTIMAL) for name in ALL if name != IDEAL]
PLAIN = [NpuSetting(name="plain", machine=machine) for machine in MACHINES]
CASES = gradients.cases(PLAIN, ALL, (DOUBLE_BUFFER, BELADY), *WAYS)
STUDY = gradients.network_study(__file__, CASES, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
