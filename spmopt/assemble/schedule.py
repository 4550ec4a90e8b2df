"""A plan becomes a schedule: facts only, nothing left to infer."""

from __future__ import annotations

from spmopt.assemble.addresses import place
from spmopt.assemble.check import check_plan
from spmopt.assemble.commands import derive_commands
from spmopt.assemble.ranges import in_ranges
from spmopt.core.instance import Instance
from spmopt.core.plan import Plan
from spmopt.core.schedule import Schedule, Steps
from spmopt.core.timeline import timeline


def assemble(instance: Instance, plan: Plan) -> Schedule:
    """Schedule that ``plan`` describes (problem statement, section 3).

    The result is legal when the plan is; nothing is repaired here. Pages for which the
    scratchpad has no room get addresses beyond its end.

    Raises
    ------
    ScheduleError
        A table of the plan is malformed, so that no schedule expresses it.
    """
    check_plan(instance, plan)
    arrays = timeline(instance, plan.operation, plan.mode)
    return Schedule(
        steps=Steps(operation=plan.operation, mode=plan.mode),
        residency=plan.residency,
        commands=derive_commands(arrays, plan),
        placements=(
            place(instance.machine, arrays, plan.residency)
            if plan.ranges is None
            else in_ranges(instance.machine, arrays, plan.residency, plan.ranges)
        ),
    )
