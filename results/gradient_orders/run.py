"""Figure 12: what interleaving, rearrangement and partitioning save, under three replacements."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import gradients
from results.shared.common import Table
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
    Setting,
    relative,
    saving,
    under,
)

ALL = tuple(name for name in TECHNIQUES if name != POTENTIAL)
SHOWN = ALL[1:]


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Means beside the paper's, networks, then all against the same baseline."""
    rows = gradients.with_cycles(rows)
    yield Table(
        title="Saved against the baseline under the same replacement, mean of networks, %",
        heads=["machine", "technique", "paper: time", *HEADS],
        lines=[
            [TITLES[m], t, f"{SAVED[m, t]}", *gradients.saved(rows, t, SAVED[m, t], machine=m)]
            for m in MACHINES
            for t in SHOWN
        ],
        left=2,
    )
    for machine in MACHINES:
        own = {name: under(rows, name, machine=machine) for name in REPLACEMENTS}
        found = {name: saving(own[DOUBLE_BUFFER], name) for name in SHOWN}
        found |= {f"{LAST}, {name}": saving(own[name], LAST) for name in (BELADY, OPTIMAL)}
        same = 1 - relative(rows, machine, LAST, OPTIMAL)
        found[f"{LAST}, {OPTIMAL}, against the baseline under {DOUBLE_BUFFER}"] = same
        alone = saving(own[DOUBLE_BUFFER], LAST, "backward_cycles")
        found[f"{LAST}, backward alone"] = alone
        mean = {name: pd.concat([of, pd.Series({"mean": of.mean()})]) for name, of in found.items()}
        title = "against the baseline under the same replacement, %"
        yield Table(
            title=f"Time saved on the {TITLES[machine]} {title}",
            heads=["network", *found],
            lines=gradients.by_network(mean),
        )
    against = []
    for machine in MACHINES:
        for technique in (BASELINE, "interleaving", "+rearrangement", LAST):
            ratios = [
                f"{relative(rows, machine, technique, replacement, column).mean():.3f}"
                for column in ("cycles", "traffic_bytes")
                for replacement in REPLACEMENTS
            ]
            page = under(rows, OPTIMAL, machine=machine, technique=technique)
            over = (page.value / page.bound).mean()  # the bound of each row's own tiles
            against.append([TITLES[machine], technique, *ratios, f"{over:.2f}"])
    yield Table(
        title="In terms of the baseline under double buffering, mean of networks",
        heads=["machine", "technique", *HEADS, "traffic over the bound of all orders: page"],
        lines=against,
        left=2,
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Times saved, all against the paper's baseline under double buffering."""
    rows, mark = gradients.with_cycles(rows), f"{LAST} under optimal residency, same baseline"
    panels = {}
    for machine in MACHINES:
        own = under(rows, DOUBLE_BUFFER, machine=machine)
        panels[TITLES[machine]] = {name: saving(own, name) for name in SHOWN}
        panels[TITLES[machine]][mark] = 1 - relative(rows, machine, LAST, OPTIMAL)
    title = (
        "Time of both passes that orders of gradients save, of the sequential baseline's under "
        "double buffering\nbars: under double buffering too; batch 4 (small NPU) and 8 (large "
        "NPU), 4 bytes an element"
    )
    return gradients.draw_savings(title, panels, mark)


# All but the ideal choice under optimal residency, for the time that takes.
WAYS = [(name, OPTIMAL) for name in ALL if name != IDEAL]
PLAIN = [Setting(name="plain", machine=machine) for machine in MACHINES]
STUDY = gradients.network_study(
    __file__, gradients.asked(PLAIN, ALL, (DOUBLE_BUFFER, BELADY), *WAYS), tables, draw
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
