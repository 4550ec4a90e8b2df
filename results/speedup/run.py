"""What more bandwidth and more throughput are worth, against capacity."""

from __future__ import annotations

import sys

import pandas as pd
from matplotlib.figure import Figure

from results.shared.common import MB, Tables, megabytes, milliseconds, signed, texts
from results.shared.plots import line_panels
from results.shared.thesis import CLAIMS, FAST, FEW, MANY, SLOW, TITLES, thesis_study

BASE, UPGRADES = (SLOW, FEW), {"1555 GB/s": (FAST, FEW), "23.04 TFLOP/s": (SLOW, MANY)}
KINDS = ("tsai", "bound")


def seconds(rows: pd.DataFrame, machine: tuple[int, int], kind: str) -> pd.Series:
    """Return the time of the policy, or the bound, by network and capacity."""
    own = rows[(rows.dram_bytes_per_s == machine[0]) & (rows.operations_per_s == machine[1])]
    own = own[(own.scheduler == "tsai") == (kind == "tsai")]
    return own.set_index(["network", "spm_bytes"])["time_s" if kind == "tsai" else "bound"]


def gain(rows: pd.DataFrame, upgrade: str, kind: str) -> pd.Series:
    """Return how much faster it is, in percent: 20 for 1.2 times as fast."""
    return 100 * (seconds(rows, BASE, kind) / seconds(rows, UPGRADES[upgrade], kind) - 1)


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate speedups at every point."""
    base = [texts(seconds(rows, BASE, kind), milliseconds) for kind in KINDS]
    gains = [texts(gain(rows, upgrade, kind), signed) for upgrade in UPGRADES for kind in KINDS]
    claims = {(c.network, 24 * MB): c.quoted for c in CLAIMS if c.kind == "faster"}
    claimed = pd.Series(claims).reindex(base[0].index).fillna("-")
    table = pd.concat([*base, *gains, claimed], axis=1).reindex(base[0].index)
    table.columns = [
        *("tsai, ms", "bound, ms", "1555 GB/s: tsai, %", "at best, %"),
        *("23.04 TFLOP/s: tsai, %", "at best, %", "thesis, tsai, %"),
    ]
    table.index = table.index.map(lambda point: (TITLES[point[0]], megabytes(point[1])))
    return {"": table.rename_axis(["network", "SPM"])}


def draw(rows: pd.DataFrame) -> Figure:
    """Draw speedups against capacity: a row of panels for each upgrade."""
    labels = dict(zip(("tsai", "at best (gain of the bounds)"), KINDS, strict=True))
    panels = {
        f"faster with {upgrade}, %": {
            title: {
                label: gain(rows, upgrade, kind)[name].rename(index=lambda size: size / MB)
                for label, kind in labels.items()
            }
            for name, title in TITLES.items()
        }
        for upgrade in UPGRADES
    }
    return line_panels(panels, "scratchpad, MB", (24, 128, 1000), cut=True)


STUDY = thesis_study(__file__, tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
