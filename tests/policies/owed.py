"""What every policy owes: legal schedules, whole tensors where it says so, none too good."""

from __future__ import annotations

from functools import lru_cache

from spmopt.assemble import assemble
from spmopt.assemble.index import resident_bytes
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.order import reorder
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Totals
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request, Scheduler
from spmopt.core.timeline import timeline
from spmopt.testing.policies import random_problems
from spmopt.verifier import verify
from tests.brute_force import optimum
from tests.strategies import random_problem

_optimum = lru_cache(512)(optimum)  # of the same problems for every policy

__all__ = ["beats_no_optimum", "is_whole", "random_problems", "residency_plan_of", "totals"]


def residency_plan_of(found: Result) -> ResidencyPlan:
    """The residency plan; a policy always has one."""
    assert found.residency_plan is not None
    return found.residency_plan


def totals(problem: Problem, residency_plan: ResidencyPlan) -> Totals:
    """Totals of a residency plan that must be legal, replay included."""
    report = verify(problem, assemble(problem, residency_plan))
    assert report.legal, report.violations
    assert report.totals is not None
    return report.totals


def is_whole(problem: Problem, residency_plan: ResidencyPlan) -> bool:
    """Whether every operand is on chip whole or not at all."""
    steps = timeline(problem, residency_plan.steps)
    held = resident_bytes(residency_plan.residency, steps.step, steps.tensor)
    return bool(((held == 0) | (held == steps.size_bytes[steps.tensor])).all())


def beats_no_optimum(scheduler: Scheduler, problems: int, residency: str = "whole") -> None:
    """Fail where a schedule is better than the optimum of its own order, on tiny problems."""
    for seed in range(problems):
        problem = random_problem(
            seed, max_operations=4, max_tensors=3, page_bytes=2, max_tensor_pages=2
        )
        for objective in (TRAFFIC, MAKESPAN):
            residency_plan = residency_plan_of(scheduler(problem, Request(objective=objective)))
            own = reorder(problem, residency_plan.steps.operation)
            best = _optimum(own, objective, residency=residency)
            assert best is not None
            assert totals(problem, residency_plan).value(objective) >= best.value
