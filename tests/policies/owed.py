"""What every policy owes: legal schedules, whole tensors where it says so, none too good."""

from __future__ import annotations

from functools import lru_cache

from spmopt.assemble import assemble
from spmopt.assemble.index import resident_bytes
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.order import reordered
from spmopt.core.result import Outcome, Totals
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request, Scheduler
from spmopt.core.timeline import timeline
from spmopt.testing.policies import random_instances
from spmopt.verifier import verify
from tests.brute_force import optimum
from tests.strategies import random_instance

_optimum = lru_cache(512)(optimum)  # of the same instances for every policy

__all__ = ["beats_no_optimum", "is_whole", "plan_of", "random_instances", "totals"]


def plan_of(found: Outcome) -> Plan:
    """The plan; a policy always has one."""
    assert found.plan is not None
    return found.plan


def totals(instance: Instance, plan: Plan) -> Totals:
    """Totals of a plan that must be legal, replay included."""
    report = verify(instance, assemble(instance, plan))
    assert report.legal, report.violations
    assert report.totals is not None
    return report.totals


def is_whole(instance: Instance, plan: Plan) -> bool:
    """Whether every operand is on chip whole or not at all."""
    steps = timeline(instance, plan.steps)
    held = resident_bytes(plan.residency, steps.step, steps.tensor)
    return bool(((held == 0) | (held == steps.size_bytes[steps.tensor])).all())


def beats_no_optimum(scheduler: Scheduler, instances: int, residency: str = "whole") -> None:
    """Fail where a schedule is better than the optimum of its own order, on tiny instances."""
    for seed in range(instances):
        instance = random_instance(
            seed, max_operations=4, max_tensors=3, page_bytes=2, max_tensor_pages=2
        )
        for objective in (TRAFFIC, MAKESPAN):
            plan = plan_of(scheduler(instance, Request(objective=objective)))
            own = reordered(instance, plan.steps.operation)
            best = _optimum(own, objective, residency=residency)
            assert best is not None
            assert totals(instance, plan).value(objective) >= best.value
