"""Pictures of one problem, made by a rule and by an optimizer, and one with awkward names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.io.files import StoredResult, read_problem
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.solving import solve

_PROBLEM = Path(__file__).parents[2] / "instances" / "lstm.json"
AWKWARD = ("<script>alert('x')</script>", "$x_{", "\"quoted\" & 'more'", "🦊 ∑ 漢字", "n" * 1000)
"""Names that must be text and nothing else."""


@cache
def stored(scheduler: str) -> StoredResult:
    """A result for a small network with scratch space."""
    problem = read_problem(_PROBLEM)
    request = Request(objective=MAKESPAN, time_limit_s=5, tolerance=0.02)
    return StoredResult(problem=problem, result=solve(problem, scheduler, request))


@cache
def picture(scheduler: str, timing: str = "steps") -> ScheduleView:
    return ScheduleView.of(stored(scheduler), timing=timing)


def awkward(scheduler: str) -> ScheduleView:
    """Its problem, tensors and operations have names of all kinds."""
    found = stored(scheduler)
    problem = found.problem
    tensors = tuple(
        replace(tensor, name=f"{AWKWARD[number % len(AWKWARD)]}\n{number}")
        for number, tensor in enumerate(problem.tensors)
    )
    operations = tuple(
        replace(operation, name=f"{AWKWARD[number % len(AWKWARD)]}{number}")
        for number, operation in enumerate(problem.operations)
    )
    renamed = replace(problem, name="".join(AWKWARD), tensors=tensors, operations=operations)
    return ScheduleView.of(StoredResult(problem=renamed, result=found.result))
