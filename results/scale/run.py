"""Large training steps, objective time, ``page`` on one thread: seconds and memory to a gap."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from math import log
from statistics import linear_regression

from results.shared.bench import GNMT, TINY, Bench, BenchLine, Case, Figures, is_met
from results.shared.certified import reach

LIMIT_S = 1200.0
GROWTH = "≤ 1.15"


def line(case: Case, gap: float = 1e-3, *, long: bool = False, **targets: float) -> BenchLine:
    """Return the line of a case; ``targets`` are the most that figures beside the gap may be."""
    return BenchLine(
        (case.title, case.machine, case.spm, f"{100 * gap:g} %"),
        {"": partial(reach, case, "residency", "time", gap, LIMIT_S, threads=1)},
        {name: f"≤ {most}" for name, most in {"gap": gap, **targets}.items()},
        long=long,
    )


def gnmt(steps: int, spm: str = "64MB") -> Case:
    """Return the case of a length of sentences; each step has 447 operations."""
    return Case("gnmt", spm, {"steps": steps})


SIZES = [
    line(gnmt(25)),
    line(gnmt(50), cpu_s=15, peak_checked_mb=350),
    line(gnmt(100), cpu_s=40, peak_checked_mb=600),
    line(gnmt(200), cpu_s=80, peak_checked_mb=1000),
    line(gnmt(300), cpu_s=130, peak_checked_mb=1500),
]
CLOSE = [
    line(gnmt(steps, spm), 5e-4, cpu_s=cpu_s)
    for steps, cpu_s in ((10, 8), (25, 20))
    for spm in ("64MB", "128MB")
]
PLAIN = line(Case("gnmt", "64MB", GNMT[0]), wall_s=60, peak_checked_mb=1000)
DEEP = [Case("transformer", spm, {"layers": 96}) for spm in ("64MB", "128MB", "296MB")]
DEEPER = [Case("transformer", "64MB", {"layers": layers}) for layers in (400, 800)]
LLAMA = [
    Case("llama", spm, {"sequence": 512}, machine="large-npu") for spm in ("64MB", "128MB", "296MB")
]
MILLION = line(gnmt(2240), 1e-2, long=True, wall_s=1200, peak_checked_mb=8000)


def growth(found: Mapping[str, Figures]) -> str:
    """Say how CPU seconds grow over :data:`SIZES`; nothing where one was not measured."""
    points = [found.get(size.name, {}) for size in SIZES]
    if not all("cpu_s" in figures and "error" not in figures for figures in points):
        return ""
    operations, seconds = ([log(each[k]) for each in points] for k in ("operations", "cpu_s"))
    slope = linear_regression(operations, seconds).slope
    bold = "" if is_met(slope, GROWTH) else "**"
    first, last = (points[k]["operations"] for k in (0, -1))
    return (
        f"CPU seconds grow as operations to the power {bold}{slope:.2f}{bold} ({GROWTH}): least "
        f"squares of logarithms over GNMT of {first:,} to {last:,} operations, 64MB, 0.1 %."
    )


BENCH = Bench(
    file=__file__,
    lines=[
        line(gnmt(10)),
        *CLOSE,
        PLAIN,
        line(gnmt(50), 1e-2, cpu_s=6, peak_checked_mb=350),
        *SIZES,
        *(line(case, cpu_s=5, wall_s=15) for case in DEEP),
        *map(line, DEEPER),
        *map(line, LLAMA),
        MILLION,
    ],
    note=growth,
    quick=partial(reach, TINY, "residency", "time", 1e-3, 10.0, threads=1),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
