"""What every policy owes: legal schedules, whole tensors where it says so, none too good."""

from __future__ import annotations

from collections.abc import Iterator

from spmopt.assemble import assemble
from spmopt.assemble.index import resident_bytes
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.order import reordered
from spmopt.core.result import Outcome, Totals
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request, Scheduler
from spmopt.core.timeline import timeline
from spmopt.verify import verify
from tests.brute_force import optimum
from tests.strategies import random_instance


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


def random_instances(count: int) -> Iterator[Instance]:
    """Instances with everything that the format knows, one channel and duplex."""
    for seed in range(count):
        yield random_instance(
            seed,
            max_operations=20,
            max_tensors=9,
            max_operands=4,
            max_tensor_pages=1 + seed % 8,
            max_compute_cycles=(12, 90)[seed % 2],
            max_modes=2,
            duplex=seed % 3 == 0,
            setup=seed % 4 < 2,
        )


def is_whole(instance: Instance, plan: Plan) -> bool:
    """Whether every operand is on chip whole or not at all."""
    steps = timeline(instance, plan.operation, plan.mode)
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
            own = reordered(instance, plan.operation)
            best = optimum(own, objective, residency=residency)
            assert best is not None
            assert totals(instance, plan).value(objective) >= best.value
