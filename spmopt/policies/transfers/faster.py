"""A plan with its transfers moved elsewhere, if that is faster."""

from __future__ import annotations

from collections.abc import Callable

from spmopt.assemble.commands import derive_commands
from spmopt.assemble.cost import step_cycles
from spmopt.core.machine import Machine
from spmopt.core.schedule import Commands, Plan
from spmopt.core.timeline import Timeline

Spread = Callable[[Machine, Timeline, Plan, Commands], Plan]
"""The same residency at every use, other transfers; the commands are those of the plan."""


def if_faster(machine: Machine, timeline: Timeline, plan: Plan, spread: Spread) -> Plan:
    """What ``spread`` makes of ``plan`` if its steps take less time, else ``plan`` itself."""
    commands = derive_commands(timeline, plan)
    moved = spread(machine, timeline, plan, commands)
    faster = derive_commands(timeline, moved)
    before = int(step_cycles(machine, timeline, commands).sum())
    after = int(step_cycles(machine, timeline, faster).sum())
    return moved if after < before else plan
