"""What the greedy rules cost: certified gaps, objective time."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial
from typing import Any

from results.shared.bench import NETWORKS, TINY, Bench, BenchLine, Case, Figures
from spmopt.core.scheduler import Request
from spmopt.solving import compare

SCHEDULERS = {
    **{name: name for name in ("stream", "lru", "belady")},
    "whole": "residency:granularity=tensor",
    "page": "residency",
}
"""Schedulers by their name in rows."""


def gaps(case: Case, limit_s: float) -> Figures:
    """Measure the certified gap of each scheduler, at most ``limit_s`` for each."""
    problem = case.problem()
    results = compare(problem, [*SCHEDULERS.values()], Request(time_limit_s=limit_s))
    figures: dict[str, Any] = {"operations": len(problem.operations)}
    for name, result in zip(SCHEDULERS, results, strict=True):
        figures |= {f"{name}_gap": result.gap, f"{name}_s": result.solve_s}
    least, cycles_per_ms = results[0].bound, Fraction(problem.machine.clock_hz, 1000)
    figures["bound_ms"] = None if least is None else float(least / cycles_per_ms)
    return {**figures, "verified": all(result.verified for result in results)}


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine((network, spm), {"": partial(gaps, Case(network, spm), 20.0)})
        for network in (*NETWORKS, "vgg16", "googlenet", "bert-large")
        for spm in ("24MB", "64MB", "128MB", "296MB")
    ],
    quick=partial(gaps, TINY, 5.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
