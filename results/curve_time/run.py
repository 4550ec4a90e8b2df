"""How long a whole curve takes: the bound and a policy at hundreds of capacities."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import monotonic

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import MB, Study, Sweep, Table, megabytes, run_parts, sweeps
from results.shared.thesis import PATIENT, QUICK, QUICKER, TITLES, case
from spmopt.experiments.executors import processors
from spmopt.sweeps.cases import SweepCase

SIZES = tuple(range(24 * MB, 1000 * MB + 1, 2 * MB))
SCHEDULERS = ("tsai", "fluid")
DIGITS = {"points": 0, "verified": 0, "solves": 0, "wall_s": 1, "cpu_s": 1}


def timed() -> dict[str, float]:
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
    wall, cpu = monotonic(), cpu_s()
    found, solves = run_parts([Sweep("curve", curve, SCHEDULERS)], jobs)
    rows = pd.DataFrame(found)
    spent = {"wall_s": monotonic() - wall, "cpu_s": cpu_s() - cpu}
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


def cpu_s() -> float:
    """CPU seconds of this process and of those that it has ended, all threads."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """What the curves took, together and each; GNMT point by point."""
    lines = []
    for name in QUICKER:
        cells = [f"{figures[f'{name} {what}']:.{digits}f}" for what, digits in DIGITS.items()]
        gaps = [f"{100 * figures[f'{name} fluid gap']:.3f}"]
        gaps += [f"{100 * figures[f'{name} tsai gap']:.1f}"]
        lines.append([TITLES[name], *cells, *gaps])
    total = {what: sum(figures[f"{name} {what}"] for name in QUICKER) for what in DIGITS}
    lines.append(["all", *(f"{total[what]:.{n}f}" for what, n in DIGITS.items()), "", ""])
    heads = ["network", "capacities", "schedules, verified", "solutions", "wall s", "CPU s"]
    gaps = ["optimum enclosed to, %", "largest gap of tsai, %"]
    yield Table(heads=[*heads, *gaps], lines=lines)
    lines = []
    for row in rows.itertuples():
        seconds = "-" if pd.isna(row.solve_s) else f"{row.solve_s:.1f}"
        found = [f"{row.value:.5g}", f"{row.bound:.5g}", f"{100 * row.gap:.3g}", seconds]
        lines.append([TITLES[row.network], megabytes(row.spm_bytes), row.scheduler, *found])
    heads = ["network", "SPM", "scheduler", "value, s", "bound, s", "gap, %", "wall s"]
    yield Table(title="GNMT, point by point", heads=heads, lines=lines, left=3)


CASES = sweeps([Sweep("gnmt", case("gnmt", (24 * MB, 500 * MB)), SCHEDULERS, PATIENT)])
STUDY = Study(file=__file__, cases=lambda: CASES, quick=QUICK, tables=tables, figures=timed)

if __name__ == "__main__":
    sys.exit(STUDY.main())
