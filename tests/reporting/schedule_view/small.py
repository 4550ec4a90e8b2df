"""Results of small schedules, made without a scheduler."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.schedule import Schedule
from spmopt.core.solution import Solution
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from spmopt.verifier import verify
from tests.verifier.random_plans import rich_schedule

SEEDS = 30


def result_of(problem: Problem, schedule: Schedule, scheduler: str = "belady") -> Solution:
    """As a file would hold it; the figures are the verifier's."""
    totals = verify(problem, schedule).totals
    assert totals is not None
    result = Result(
        scheduler=scheduler,
        objective=MAKESPAN,
        status=Status.FEASIBLE,
        solve_s=0.25,
        schedule=schedule,
        totals=totals,
        value=Fraction(totals.makespan_cycles),
        verified=True,
    )
    return Solution(problem=problem, result=result)


@cache
def pictures(timings: tuple[str, ...] = TIMINGS) -> tuple[ScheduleView, ...]:
    """Random schedules, in any order, with everything that the format knows."""
    stored = [result_of(*rich_schedule(seed)) for seed in range(SEEDS)]
    return tuple(ScheduleView.of(each, timing=timing) for each in stored for timing in timings)
