"""Results of small schedules, made without a scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.schedule import Schedule
from spmopt.io.files import StoredResult
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from spmopt.verifier import verify
from tests.verifier.random_plans import rich_schedule

SEEDS = 60


def result_of(problem: Problem, schedule: Schedule, scheduler: str = "belady") -> StoredResult:
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
    return StoredResult(problem=problem, result=result)


def pictures(timings: tuple[str, ...] = TIMINGS) -> Iterator[ScheduleView]:
    """Random schedules, in any order, with everything that the format knows."""
    for seed in range(SEEDS):
        problem, schedule = rich_schedule(seed)
        for timing in timings:
            yield ScheduleView.of(result_of(problem, schedule), timing=timing)
