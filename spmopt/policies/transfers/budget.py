"""What a plan leaves over in every step: DMA time of streams, and free pages."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import summed, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.schedule import Command, Commands, Residency
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline


def idle_beside_streams(
    machine: Machine, timeline: Timeline, commands: Commands
) -> tuple[Ints, Ints]:
    """(n,) DMA cycles that cost no time beside the step's streams: inward, and outward.

    With one channel both are the same time.
    """
    incoming = _stream_cycles(machine, timeline, commands, Command.STREAM_IN)
    outgoing = _stream_cycles(machine, timeline, commands, Command.STREAM_OUT)
    if not machine.duplex:
        outgoing = incoming = incoming + outgoing
    compute = timeline.compute_cycles
    return np.maximum(compute - incoming, 0), np.maximum(compute - outgoing, 0)


def free_pages(machine: Machine, timeline: Timeline, *parts: Residency) -> Ints:
    """(n,) Free pages of every step, beside its scratch and ``parts``."""
    page = machine.page_bytes
    change = np.zeros(timeline.steps + 1, np.int64)
    for part in parts:
        pages = -(-part.size_bytes // page)
        np.add.at(change, part.begin, pages)
        np.subtract.at(change, part.end, pages)
    scratch = -(-timeline.scratch_bytes // page)
    return machine.spm_pages - scratch - np.cumsum(change)[:-1]


def _stream_cycles(machine: Machine, timeline: Timeline, commands: Commands, kind: Command) -> Ints:
    """(n,) DMA cycles of the commands of one kind."""
    chosen = commands.take(commands.kind == kind)
    cycles = transfer_cycles(machine, (chosen.end - chosen.begin) * chosen.passes)
    return summed(timeline.steps, chosen.step, cycles)
