"""Traffic and time of greedy policies and of the optimum against the capacity."""

from __future__ import annotations

import sys

import pandas as pd
from matplotlib.figure import Figure

from results.shared.common import MB, Tables, megabytes, percent, tabulated, texts
from results.shared.plots import line_panels
from results.shared.thesis import TITLES, thesis_study

DENSE = 20  # points of a curve; fewer are single sizes
POLICIES = ("tsai", "msa")
SHOWN = (*POLICIES, "residency", "fluid")
KINDS = {"time": ("time_s", "ms", 1e-3), "traffic": ("traffic_bytes", "GB", 1e9)}


def curve(rows: pd.DataFrame, network: str, scheduler: str, what: str) -> pd.Series:
    """Return seconds or bytes by capacity; of the optimizer and the bound, for that objective."""
    own = rows[(rows.network == network) & (rows.scheduler == scheduler)]
    if scheduler not in POLICIES:
        own = own[own.objective == what]
    column = "bound" if scheduler == "fluid" else KINDS[what][0]
    return own.set_index("spm_bytes")[column].sort_index()


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate time and traffic, and where a policy is not monotone."""
    found, sizes = {}, rows[rows.scheduler == "residency"].spm_bytes.unique()
    for what, (_, unit, scale) in KINDS.items():
        curves = {
            title: pd.DataFrame({s: curve(rows, name, s, what) for s in SHOWN}).reindex(sizes)
            for name, title in TITLES.items()
        }
        table = pd.concat(curves, names=["network", "SPM"]).rename(columns={"fluid": "bound"})
        shown = texts(table / scale, "{:.4g}").rename(index=megabytes, level="SPM")
        found[f"{what.capitalize()}, {unit}"] = shown
    rises = []
    for name, title in TITLES.items():
        for scheduler in (*POLICIES, "fluid"):
            rises.append([title, "bound" if scheduler == "fluid" else scheduler])
            for what in KINDS:
                rise = curve(rows, name, scheduler, what).pct_change().dropna()
                most, where = rise.max(), megabytes(rise.idxmax())
                share = percent(most) if most >= 1e-3 else f"{100 * most:.1g} %"
                rises[-1].append(f"{(rise > 0).sum()} of {len(rise)}")
                rises[-1].append(f"{share} at {where}" if most > 0 else "-")
    heads = ["network", "scheduler", "time", "most", "traffic", "most"]
    title = "Where more capacity costs more: steps to the next capacity that raise"
    return {**found, title: tabulated(heads, rises, left=2)}


def draw(rows: pd.DataFrame) -> Figure:
    """Draw time above, traffic below, a column for each network."""

    def curves(name: str, what: str) -> dict[str, pd.Series]:
        shown: dict[str, pd.Series] = {}
        for scheduler in SHOWN:
            found = curve(rows, name, scheduler, what) / KINDS[what][2]
            places = "every 8 MB" if len(found) > DENSE else "at single sizes"
            label = f"certified bound, {places}" if scheduler == "fluid" else scheduler
            shown |= {label: found.set_axis(found.index / MB)} if len(found) else {}
        return shown

    panels = {
        f"{what}, {unit}": {title: curves(name, what) for name, title in TITLES.items()}
        for what, (_, unit, _) in KINDS.items()
    }
    return line_panels(panels, "scratchpad, MB", (24, 64, 256, 1000), cut=True)


STUDY = thesis_study(__file__, tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
