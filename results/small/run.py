"""Small ragged problems: how many `residency` proves optimal within 10 CPU seconds."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared.common import Row, Study, Tables, in_percent, read, tabulated
from results.shared.ragged import KINDS, ragged_problem
from spmopt.core.clock import cpu_s
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve

COUNT, BLOCK = 500, 25
CPU_S, LIMIT_S = 10.0, 120.0
Case = tuple[str, range]


def cases() -> dict[str, Case]:
    """Return blocks of problems by name."""
    return {
        f"{kind} {first}": (kind, range(first, first + BLOCK))
        for first in range(0, COUNT, BLOCK)
        for kind in KINDS
    }


def measured(case: Case) -> list[Row]:
    """Schedule each problem of a block; CPU seconds are of policies, search and checks."""
    kind, seeds = case
    return [_row(kind, seed) for seed in seeds]


def _row(kind: str, seed: int) -> Row:
    problem, began = ragged_problem(kind, seed), cpu_s()
    result = solve(problem, "residency", Request(time_limit_s=LIMIT_S, threads=1))
    seconds = cpu_s() - began
    machine = problem.machine
    return {
        "kind": kind,
        "seed": seed,
        "operations": len(problem.operations),
        "tensors": len(problem.tensors),
        "spm_pages": machine.spm_pages,
        "setup_cycles": machine.dma_setup_cycles,
        "status": str(result.status),
        "proved": _is_proved(result) and seconds <= CPU_S,
        "value": None if result.value is None else int(result.value),
        "bound": None if result.bound is None else float(result.bound),
        "gap": result.gap,
        "least": None if result.class_bound is None else result.class_bound.value,
        "verified": result.verified,
        "seconds": round(seconds, 3),
    }


def _is_proved(result: Result) -> bool:
    """Return whether the certificate, or the solver's bound for whole pages, closes the gap."""
    return result.status is Status.OPTIMAL or result.is_best_of_class


def tables(rows: pd.DataFrame) -> Tables:
    """Return shares by kind, of an earlier version by dual values alone, and of this one."""
    before = read(STUDY.folder / "before.csv")
    lines = [
        _line(kind, what, found[found.kind == kind])
        for kind in KINDS
        for what, found in (("dual values alone", before), ("branch and bound", rows))
    ]
    heads = ["instances", "bounds", "count", "proved %", "median gap of the others %"]
    return {"": tabulated([*heads, "median s", "most s"], lines, left=2)}


def _line(kind: str, what: str, rows: pd.DataFrame) -> list[str]:
    others = rows[~rows.proved]
    bound = others.bound if "least" not in others else others[["bound", "least"]].max(axis=1)
    gap = "-" if others.empty else in_percent((others.value / bound - 1).median())
    seconds = (f"{rows.seconds.median():.2f}", f"{rows.seconds.max():.2f}")
    return [kind, what, f"{len(rows)}", in_percent(rows.proved.mean()), gap, *seconds]


STUDY = Study(
    file=__file__, cases=cases, work=measured, quick=("one mapping", range(2)), tables=tables
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
