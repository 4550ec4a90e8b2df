"""What the batch size is worth, at a small and a large capacity."""

from __future__ import annotations

import sys

import pandas as pd
from matplotlib.figure import Figure

from results.shared.common import Tables, megabytes, texts
from results.shared.plots import line_panels
from results.shared.thesis import TITLES, thesis_study

KINDS = ("tsai", "bound")


def samples(rows: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return milliseconds per sample at a capacity by network, kind and batch size."""
    own = rows[rows.spm_bytes == size]
    of = own.scheduler.where(own.scheduler == "tsai", "bound").rename("of")
    found = 1e3 * own.time_s.where(of == "tsai", own.bound) / own.batch
    index = pd.MultiIndex.from_product([TITLES, KINDS], names=["network", "of"])
    return found.groupby([own.network, of, own.batch]).first().unstack().reindex(index)


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate times per sample."""
    found = {}
    for size in rows.spm_bytes.unique():
        known = samples(rows, size)
        count = known.count(axis=1)
        few = (" (of " + count.astype(str) + ")").where(count < known.columns.size, "")
        spread = 100 * (known.max(axis=1) / known.min(axis=1) - 1)
        best = {"best batch": known.idxmin(axis=1).astype(str) + few}
        table = texts(known, "{:#.4g}").assign(**best, **{"spread, %": texts(spread, "{:.1f}")})
        found[f"ms per sample at {megabytes(size)}"] = table.rename(index=TITLES, level="network")
    return found


def draw(rows: pd.DataFrame) -> Figure:
    """Draw time per sample against batch: a row of panels for each capacity."""
    panels = {}
    for size in rows.spm_bytes.unique():
        known = samples(rows, size).rename(index={"bound": "certified bound"}, level="of")
        panels[f"ms per sample, {megabytes(size)}"] = {
            title: {of: curve.dropna() for of, curve in known.loc[name].iterrows()}
            for name, title in TITLES.items()
        }
    return line_panels(panels, "batch, samples", sorted(rows.batch.unique()))


STUDY = thesis_study(__file__, tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
