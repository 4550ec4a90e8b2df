"""Figures 14 to 16: what all techniques together save by cores, bandwidth, batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from results.shared import gradients
from results.shared.common import Study, Table
from results.shared.gradients import (
    BASELINE,
    HEADS,
    IN_WORDS,
    LAST,
    REPLACEMENTS,
    Setting,
    saving,
    under,
)


def scale_study(
    file: str, settings: Sequence[Setting], papers: Sequence[float], title: str, batch: str
) -> Study:
    """Hold settings against the paper's savings of time, in percent."""
    names = [setting.name for setting in settings]

    def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
        """Means beside the paper's, then networks."""
        rows = gradients.with_cycles(rows)
        yield Table(
            title="Saved, mean of networks, %",
            heads=["setting", "technique", "paper: time", *HEADS],
            lines=[
                [name, LAST, f"{paper}", *gradients.saved(rows, LAST, paper, setting=name)]
                for name, paper in zip(names, papers, strict=True)
            ],
            left=2,
        )
        found = {
            f"{name}: {replacement}": saving(under(rows, replacement, setting=name), LAST)
            for name in names
            for replacement in REPLACEMENTS
        }
        yield Table(
            title=f"Time that {LAST} saves, %",
            heads=["network", *found],
            lines=gradients.by_network(found),
        )

    def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
        """Time saved, a color for each setting."""
        rows = gradients.with_cycles(rows)
        panels = {
            words: {name: saving(under(rows, replacement, setting=name), LAST) for name in names}
            for replacement, words in IN_WORDS.items()
        }
        conditions = (
            f"large NPU, batch {batch}, all techniques, 4 bytes an element; each against the "
            "baseline under the same setting and replacement"
        )
        return gradients.draw_savings(f"{title}: time of both passes\n{conditions}", panels)

    cases = gradients.asked(settings, (BASELINE, LAST), REPLACEMENTS)
    return gradients.network_study(file, cases, tables, draw)
