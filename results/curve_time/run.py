"""How long a whole curve takes: the bound and a policy at hundreds of capacities."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared.bench import timed
from results.shared.common import MB, Tables, megabytes, run_sweep, sweeps, texts
from results.shared.thesis import QUICKER, TITLES, case, thesis_study
from spmopt.experiments.executors import processors
from spmopt.sweeps.cases import SweepCase
from spmopt.sweeps.work import SolveOptions

SIZES = tuple(range(24 * MB, 1000 * MB + 1, 2 * MB))
SCHEDULERS = ("tsai", "lp-bound")
COLUMNS = {  # heading and form of what a curve took; the first five add up
    "points": ("capacities", "{:.0f}"),
    "verified": ("schedules, verified", "{:.0f}"),
    "solves": ("solutions", "{:.0f}"),
    "wall_s": ("wall s", "{:.1f}"),
    "cpu_s": ("CPU s", "{:.1f}"),
    "fluid gap": ("optimum enclosed to, %", "{:.3f}"),
    "tsai gap": ("largest gap of tsai, %", "{:.1f}"),
}


def measured() -> dict[str, float]:
    """Measure the three curves, one after the other, on all processors."""
    found = {"processors": float(processors())}
    for name in QUICKER:
        measured = measure(case(name, SIZES), processors())
        found |= {f"{name} {figure}": value for figure, value in measured.items()}
    return found


def measure(curve: SweepCase, jobs: int) -> dict[str, float]:
    """Run one curve in memory: what it takes, from the network's name to the last row.

    Of ``fluid`` the gap is that between the two ends of the relaxation's optimum.
    """
    (sweep,) = sweeps([("curve", curve, SCHEDULERS, SolveOptions())]).values()
    (found, solves), spent = timed(lambda: run_sweep(sweep, jobs))
    rows = pd.DataFrame(found)
    gaps = {name: rows[rows.scheduler == name].gap for name in SCHEDULERS}
    if any(gap.isna().any() for gap in gaps.values()):
        raise ValueError(f"{curve.network.name}: a point has no bound")
    return {
        "points": float(rows.spm_bytes.nunique()),
        "verified": float(rows.verified.eq(True).sum()),
        "solves": float(solves),
        **spent,
        **{f"{name} gap": float(gap.max()) for name, gap in gaps.items()},
    }


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate what the curves took, together and each; GNMT point by point."""
    figures = rows.attrs["figures"]
    spent = pd.DataFrame({n: {w: figures[f"{n} {w}"] for w in COLUMNS} for n in QUICKER}).T
    spent[["fluid gap", "tsai gap"]] *= 100
    spent.loc["all"] = spent[[*COLUMNS][:5]].sum()
    curves = {head: texts(spent[what], form) for what, (head, form) in COLUMNS.items()}
    points = {
        "value, s": texts(rows.value, "{:.5g}"),
        "bound, s": texts(rows.bound, "{:.5g}"),
        "gap, %": texts(100 * rows.gap, "{:.3g}"),
        "wall s": texts(rows.solve_s, "{:.1f}"),
    }
    index = [rows.network.map(TITLES), rows.spm_bytes.map(megabytes).rename("SPM"), rows.scheduler]
    return {
        "": pd.DataFrame(curves).replace("-", "").rename(TITLES).rename_axis("network"),
        "GNMT, point by point": pd.DataFrame(points).set_index(index),
    }


STUDY = thesis_study(__file__, tables, figures=measured)

if __name__ == "__main__":
    sys.exit(STUDY.main())
