"""Time of DMA commands and of steps (R6), exact."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.index import access_at, flagged
from spmopt.core.machine import Machine
from spmopt.core.schedule import Command, Commands
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

_INT64_LIMIT = 2**63 - 1


def transfer_cycles(machine: Machine, size_bytes: Ints) -> Ints:
    """Cycles of DMA commands that move ``size_bytes``: ``lambda + ceil(x f / beta)``."""
    rate = machine.bytes_per_cycle
    largest = int(size_bytes.max(initial=0)) * rate.denominator
    # Python integers where the product would not fit 64 bits.
    exact = size_bytes.astype(object) if largest > _INT64_LIMIT else size_bytes
    busy = -(-(exact * rate.denominator) // rate.numerator)
    cycles: Ints = (busy + machine.dma_setup_cycles).astype(np.int64)
    return cycles


def summed(length: int, place: Ints, values: Ints) -> Ints:
    """(length,) Sums of the ``values`` that fall on each place."""
    total = np.zeros(length, np.int64)
    np.add.at(total, place, values)
    return total


def step_cycles(machine: Machine, timeline: Timeline, commands: Commands) -> Ints:
    """(n,) Duration ``d_i`` of every step (problem statement, section 3, R6)."""
    cycles = transfer_cycles(machine, (commands.end - commands.begin) * commands.passes)
    kind = commands.kind
    access = access_at(timeline, commands.step, commands.tensor)
    pinned = flagged(timeline.stationary, access)
    pinned_result = flagged(timeline.stationary & (timeline.kind != Access.READ), access)

    def per_step(chosen: Bools) -> Ints:
        return summed(timeline.steps, commands.step[chosen], cycles[chosen])

    inward = (kind == Command.LOAD) | (kind == Command.STREAM_IN)
    before = per_step(pinned & (kind == Command.LOAD))
    after = per_step(pinned_result & (kind == Command.STORE))
    incoming, outgoing = per_step(inward), per_step(~inward)
    serial = before + timeline.compute_cycles + after
    busy = incoming + outgoing
    if machine.duplex:
        busy = np.maximum(incoming + after, before + outgoing)
    duration: Ints = np.maximum(busy, serial)
    return duration
