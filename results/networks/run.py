"""Random small networks, layer by layer: certified gaps within 20 s, and what a plain MIP finds."""

from __future__ import annotations

import sys
from fractions import Fraction

import pandas as pd

from formulations.residency.plain.search import page_optimum
from results.shared.common import Row, Study, Tables, in_percent, tabulated
from results.shared.drawn import KINDS, drawn_problem
from spmopt.core.clock import cpu_s
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.solving import solve

COUNT, BLOCK, LIMIT_S = 34, 2, 20.0
HALVES = ("open", "held out")
"""The second of each pair of seeds was not looked at while the search was developed."""
Case = tuple[str, int]


def cases() -> dict[str, Case]:
    """Return the networks by name."""
    return {
        f"{HALVES[seed % 2]} {kind} {seed}": (kind, seed) for kind in KINDS for seed in range(COUNT)
    }


def measured(case: Case) -> list[Row]:
    """Schedule a network twice: as the program does, and by one integer program."""
    kind, seed = case
    problem, began = drawn_problem(kind, seed), cpu_s()
    result = solve(problem, "residency", Request(time_limit_s=LIMIT_S, threads=1))
    seconds = cpu_s() - began
    least = None if result.class_bound is None else result.class_bound.value
    row = {
        "half": HALVES[seed % 2],
        "kind": kind,
        "seed": seed,
        "machine": problem.machine.name,
        "spm_kib": problem.machine.spm_bytes // 1024,
        "setup_cycles": problem.machine.dma_setup_cycles,
        "operations": len(problem.operations),
        "status": str(result.status),
        "value": None if result.value is None else int(result.value),
        "bound": None if result.bound is None else float(result.bound),
        "gap": result.gap,
        "least": least,
        "proof_gap": _proof_gap(result.value, result.bound, least),
        "verified": result.verified,
        "seconds": round(seconds, 3),
    }
    return [{**row, "plain": _plain(problem)}]


def _proof_gap(value: Fraction | None, bound: Fraction | None, least: float | None) -> float | None:
    """Return the gap to the larger of the certificate and the bound for whole pages."""
    if value is None or bound is None:
        return None
    return float(value) / max(float(bound), least or 0.0) - 1


def _plain(problem: Problem) -> int | None:
    """Return the value of the program that HiGHS solves as it stands, without a start."""
    line = fitting_timeline(problem)
    found = page_optimum(problem, Request(time_limit_s=LIMIT_S, threads=1), line)
    return None if found is None else int(found.value)


def tables(rows: pd.DataFrame) -> Tables:
    """Return gaps by half and kind."""
    lines = [
        _line(half, kind, rows[(rows.half == half) & (rows.kind == kind)])
        for half in HALVES
        for kind in KINDS
    ]
    lines += [_line(half, "all", rows[rows.half == half]) for half in HALVES]
    heads = ["networks", "kind", "count", "median gap %", "worst gap %", "median gap to pages %"]
    heads += ["worst %", "above the plain MIP", "median s", "most s"]
    return {"": tabulated(heads, [line for line in lines if line], left=2)}


def _line(half: str, kind: str, rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return []
    worse = int((rows.value > rows.plain).sum())
    gaps = [
        in_percent(share)
        for column in (rows.gap, rows.proof_gap)
        for share in (column.median(), column.max())
    ]
    seconds = (f"{rows.seconds.median():.2f}", f"{rows.seconds.max():.2f}")
    return [half, kind, f"{len(rows)}", *gaps, f"{worse}", *seconds]


STUDY = Study(file=__file__, cases=cases, work=measured, quick=("mixed", 1), tables=tables)

if __name__ == "__main__":
    sys.exit(STUDY.main())
