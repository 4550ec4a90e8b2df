"""Traffic and time of greedy policies and of the optimum against the capacity."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import MB, Study, Sweep, Table, megabytes, percent, sweeps
from results.shared.plots import line_panels
from results.shared.thesis import BRIEF, MACHINE, QUICK, QUICKER, TITLES, case
from spmopt.sweeps.work import SolveOptions

SIZES = tuple(size * MB for size in (24, 64, 128, 256, 500, 1000))
FINE = tuple(sorted({*range(24 * MB, 1000 * MB + 1, 8 * MB), *SIZES}))
POLICIES = ("tsai", "msa")
SHOWN = (*POLICIES, "page", "fluid")
KINDS = {"time": ("time_s", "ms", 1e-3), "traffic": ("traffic_bytes", "GB", 1e9)}


def cases() -> dict[str, Sweep]:
    """Policies and bounds at many capacities, the optimizer at some, GNMT at few."""
    traffic, patient = (
        SolveOptions(objective="traffic"),
        SolveOptions(time_limit_s=150.0, tolerance=1e-2),
    )
    slow, gnmt = replace(patient, objective="traffic"), ("gnmt",)
    return sweeps(
        Sweep(part, case(name, sizes), schedulers, search)
        for part, names, sizes, schedulers, search in (
            ("time", QUICKER, FINE, (*POLICIES, "fluid"), SolveOptions()),
            ("traffic", QUICKER, FINE, ("fluid",), traffic),
            ("time-page", QUICKER, SIZES, ("page",), SolveOptions()),
            ("traffic-page", QUICKER, SIZES, ("page",), traffic),
            ("gnmt-policies", gnmt, SIZES, POLICIES, BRIEF),
            ("traffic-gnmt", gnmt, SIZES, ("fluid",), slow),
            ("time-gnmt", gnmt, SIZES, ("fluid",), patient),
        )
        for name in names
    )


def curve(rows: pd.DataFrame, network: str, scheduler: str, what: str) -> pd.Series:
    """Seconds or bytes by capacity; of the optimizer and the bound, for that objective."""
    own = rows[(rows.network == network) & (rows.scheduler == scheduler)]
    if scheduler not in POLICIES:
        own = own[own.objective == what]
    column = "bound" if scheduler == "fluid" else KINDS[what][0]
    return own.set_index("spm_bytes")[column].sort_index()


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Time and traffic, and where a policy is not monotone."""
    for what, (_, unit, scale) in KINDS.items():
        found = []
        for name, title in TITLES.items():
            curves = [curve(rows, name, scheduler, what) for scheduler in SHOWN]
            for size in SIZES:
                cells = [f"{c[size] / scale:.4g}" if size in c else "-" for c in curves]
                found.append([title, megabytes(size), *cells])
        heads = ["network", "SPM", *POLICIES, "page", "bound"]
        yield Table(title=f"{what.capitalize()}, {unit}", heads=heads, lines=found, left=2)
    rises = []
    for name, title in TITLES.items():
        for scheduler in (*POLICIES, "fluid"):
            cells = []
            for what in KINDS:
                change = curve(rows, name, scheduler, what).pct_change().dropna()
                most, where = change.max(), change.idxmax()
                share = percent(most) if most >= 1e-3 else f"{100 * most:.1g} %"
                cells.append(f"{(change > 0).sum()} of {len(change)}")
                cells.append(f"{share} at {megabytes(where)}" if most > 0 else "-")
            rises.append([title, "bound" if scheduler == "fluid" else scheduler, *cells])
    yield Table(
        title="Where more capacity costs more: steps to the next capacity that raise",
        heads=["network", "scheduler", "time", "most", "traffic", "most"],
        lines=rises,
        left=2,
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Time above, traffic below, a column for each network."""

    def curves(name: str, what: str) -> dict[str, pd.Series]:
        shown = dict[str, pd.Series]()
        for scheduler in SHOWN:
            found = curve(rows, name, scheduler, what) / KINDS[what][2]
            places = "every 8 MB" if len(found) > len(SIZES) else "at single sizes"
            label = f"certified bound, {places}" if scheduler == "fluid" else scheduler
            shown |= {label: found.set_axis(found.index / MB)} if len(found) else {}
        return shown

    panels = {
        f"{what}, {unit}": {title: curves(name, what) for name, title in TITLES.items()}
        for what, (_, unit, _) in KINDS.items()
    }
    title = (
        f"Time and traffic against the capacity of the scratchpad\n{MACHINE}, training, batch 32 "
        "(Transformer 128), lowering ideal"
    )
    return line_panels(title, panels, "scratchpad, MB", (24, 64, 256, 1000), cut=True)


STUDY = Study(file=__file__, cases=cases, quick=QUICK, tables=tables, draw=draw)

if __name__ == "__main__":
    sys.exit(STUDY.main())
