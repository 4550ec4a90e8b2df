"""The same result with any number of threads; phases end by counted work, not by the clock."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from formulations.solver.highs import solve as solved_by_highs
from formulations.solver.program import ProgramBuilder, SolverStatus
from spmopt import load, lower, machine
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.scheduler import Request
from spmopt.io.files import read_problem
from spmopt.solving import solve
from tests.checked import need
from tests.thorough import nightly

PROBLEMS = Path(__file__).parents[2] / "instances"


@pytest.mark.parametrize(
    "name", ["residency", "residency:granularity=tensor", "contiguous", "joint"]
)
def test_threads_change_nothing(name: str) -> None:
    small = "load-ahead" if name == "joint" else "take-turns"
    problem = read_problem(PROBLEMS / f"{small}.json")
    objective = REPLAY if name == "joint" else MAKESPAN
    one, two = (
        solve(problem, name, Request(objective=objective, threads=threads)) for threads in (1, 3)
    )
    assert two.schedule == one.schedule
    assert (two.value, two.bound, two.status) == (one.value, one.bound, one.status)


@pytest.mark.parametrize(
    ("network", "batch", "spm", "tolerance"),
    [("ncf", 2, "32KB", 1e-1), pytest.param("alexnet", 2, "1MB", 2e-2, marks=nightly)],
)
def test_pieces_are_those_of_any_number_of_threads(
    network: str, batch: int, spm: str, tolerance: float
) -> None:
    """The bound is searched in a process beside, or in turn with fusion plans.

    They hear the same.
    """
    problem = lower(load(network, batch=batch), machine("rtx2080ti", spm=spm))
    one, two = (
        solve(problem, "fusion", Request(threads=threads, tolerance=tolerance))
        for threads in (1, 2)
    )
    assert need(one.fused).fusion_plan == need(two.fused).fusion_plan
    assert one.schedule == two.schedule
    assert (one.bound, one.fusion_bound) == (two.bound, two.fusion_bound)


@nightly
def test_threads_change_nothing_where_they_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formulations.residency.bound.compiled._SHARE", 300)
    problem = lower(load("gnmt", batch=1, parameters={"steps": 3}), machine("rtx2080ti", spm="8MB"))
    one, two = (
        solve(problem, "residency", Request(threads=threads, tolerance=1e-2)) for threads in (1, 2)
    )
    assert one.schedule == two.schedule
    assert one.bound == two.bound


def test_a_phase_ends_by_what_is_counted() -> None:
    request = Request(time_limit_s=10.0)
    phase = request.share(0.25)
    assert 7.0 < phase.remaining_s() <= 7.5
    phase.work.seconds += 2.4
    assert phase.remaining_s() > 0
    part = phase.share(0.5)  # of the 2.5 seconds, of which 0.1 are left
    phase.work.seconds += 0.2
    assert phase.remaining_s() == 0
    assert part.remaining_s() == 0
    assert request.remaining_s() > 9  # the work is the same, the limit is not
    assert request.share(0.5).remaining_s() > 0


def test_the_clock_ends_a_phase_of_a_slow_machine() -> None:
    late = replace(Request(time_limit_s=10.0), started=monotonic() - 9)
    assert late.share(0.25).remaining_s() <= 0.8
    assert late.share(0.25).time_limit_s == 2.5
    assert Request(time_limit_s=inf).share(0.25).remaining_s() == inf


def test_an_integer_program_ends_at_the_same_point() -> None:
    generator = np.random.default_rng(1)
    build = ProgramBuilder()
    columns = build.columns(60, upper=1.0, integer=True, cost=-generator.integers(10, 99, 60))
    for _ in range(12):
        weight = generator.integers(5, 60, 60)
        row = build.rows(1, upper=float(weight.sum() // 3))
        build.add(np.full(60, row[0]), columns, weight.astype(float))
    program = build.program()
    limit = 100 * 3.5e-7 * program.matrix.index.size
    one, two = (solved_by_highs(program, work_limit_s=limit, threads=threads) for threads in (1, 2))
    assert one.status is SolverStatus.INTERRUPTED
    assert (one.bound, one.objective, one.work_s) == (two.bound, two.objective, two.work_s)
    assert solved_by_highs(program).bound > one.bound
