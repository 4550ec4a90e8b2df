"""A plan becomes a schedule: facts only, nothing left to infer."""

from __future__ import annotations

from spmopt.assemble.addresses import place
from spmopt.assemble.banks import moves_between, place_in_banks
from spmopt.assemble.check import check_plan
from spmopt.assemble.commands import derive_commands
from spmopt.assemble.ranges import in_ranges
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.schedule import Moves, Placements, Plan, Schedule, Steps
from spmopt.core.timeline import Timeline, timeline


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
    machine = instance.machine
    arrays = timeline(instance, plan.operation, plan.mode)
    if plan.banks is not None:
        placements = place_in_banks(machine, plan.banks)
        moves = moves_between(machine, arrays, plan.banks)
    else:
        placements, moves = _places(machine, arrays, plan), Moves.empty()
    return Schedule(
        steps=Steps(operation=plan.operation, mode=plan.mode),
        residency=plan.residency,
        commands=derive_commands(arrays, plan),
        placements=placements,
        moves=moves,
    )


def _places(machine: Machine, arrays: Timeline, plan: Plan) -> Placements:
    """Addresses anywhere, or in the plan's ranges."""
    if plan.ranges is None:
        return place(machine, arrays, plan.residency)
    return in_ranges(machine, arrays, plan.residency, plan.ranges)
