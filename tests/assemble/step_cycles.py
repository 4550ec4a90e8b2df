"""Durations of steps by their commands, as those of plans must be."""

from __future__ import annotations

from spmopt.assemble.cost import step_time, sum_up, transfer_cycles
from spmopt.assemble.index import access_at, flag
from spmopt.core.machine import Machine
from spmopt.core.schedule import Command, Commands
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


def step_cycles(machine: Machine, timeline: Timeline, commands: Commands) -> Ints:
    """Return (n,) duration ``d_i`` of every step, in cycles."""
    cycles = transfer_cycles(machine, (commands.end - commands.begin) * commands.fetches)
    kind = commands.kind
    access = access_at(timeline, commands.step, commands.tensor)
    result = timeline.required_resident & (timeline.kind != Access.READ)
    load, store = kind == Command.LOAD, kind == Command.STORE
    inward = load | (kind == Command.STREAM_IN)

    def per_step(chosen: Bools) -> Ints:
        return sum_up(timeline.steps, commands.step[chosen], cycles[chosen])

    return step_time(
        machine,
        compute=timeline.compute_cycles,
        inward=per_step(inward),
        outward=per_step(~inward),
        before=per_step(load & flag(timeline.required_resident, access)),
        after=per_step(store & flag(result, access)),
    )
