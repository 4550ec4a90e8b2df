"""What the assignment knows of time: an operation's elapsed time, an operand's part in it.

Everything here assumes that all operands come from DRAM, as XLA's cost analysis does when it
sorts values and measures intervals. These figures guide choices only, so they are floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.assemble.cost import summed, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Costs:
    """Cycles over steps (n), accesses (a) and tensors (m).

    Attributes
    ----------
    elapsed : (n,)
        Duration of a step (R6) with everything in DRAM.
    incoming, outgoing : (n,)
        DMA time of the operands that are not stationary, each way.
    own_in, own_out : (a,)
        DMA time of one operand, each way.
    saved : (a,)
        How much shorter the step is with the operand on chip.
    benefit : (a,)
        XLA's memory benefit: where transfers take longer than compute, the transfer time that
        the operand on chip saves; elsewhere minus the time by which compute is the longer.
        A stationary operand delays its operation either way, so its own time counts.
    copy : (m,)
        DMA time of a whole tensor.
    """

    elapsed: Floats
    incoming: Ints
    outgoing: Ints
    own_in: Ints
    own_out: Ints
    saved: Floats
    benefit: Floats
    copy: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class _Load:
    """DMA time each way, and the parts of it that are serial with compute (R6)."""

    incoming: Ints
    outgoing: Ints
    before: Ints
    after: Ints

    def memory(self, duplex: bool) -> Ints:
        """Time of the transfers alone."""
        if duplex:
            longer: Ints = np.maximum(self.incoming + self.after, self.before + self.outgoing)
            return longer
        return self.incoming + self.outgoing

    def elapsed(self, duplex: bool, compute: Ints) -> Ints:
        """Duration of the step."""
        whole: Ints = np.maximum(self.memory(duplex), self.before + compute + self.after)
        return whole


def costs(machine: Machine, timeline: Timeline) -> Costs:
    """Costs of every step and access with all operands in DRAM."""
    own_in, own_out = _own_cycles(machine, timeline)
    pinned, step = timeline.stationary, timeline.step
    pinned_in, pinned_out = np.where(pinned, own_in, 0), np.where(pinned, own_out, 0)
    load = _Load(
        incoming=summed(timeline.steps, step, own_in),
        outgoing=summed(timeline.steps, step, own_out),
        before=summed(timeline.steps, step, pinned_in),
        after=summed(timeline.steps, step, pinned_out),
    )
    without = _Load(
        incoming=load.incoming[step] - own_in,
        outgoing=load.outgoing[step] - own_out,
        before=load.before[step] - pinned_in,
        after=load.after[step] - pinned_out,
    )
    duplex, compute = machine.duplex, timeline.compute_cycles
    memory, elapsed = load.memory(duplex), load.elapsed(duplex, compute)
    slack = (memory - compute)[step]
    relief = np.where(slack > 0, memory[step] - without.memory(duplex), slack)
    return Costs(
        elapsed=elapsed.astype(np.float64),
        incoming=load.incoming - load.before,
        outgoing=load.outgoing - load.after,
        own_in=own_in,
        own_out=own_out,
        saved=(elapsed[step] - without.elapsed(duplex, compute[step])).astype(np.float64),
        benefit=np.where(pinned, own_in + own_out, relief).astype(np.float64),
        copy=transfer_cycles(machine, timeline.size_bytes),
    )


def _own_cycles(machine: Machine, timeline: Timeline) -> tuple[Ints, Ints]:
    """(a,) DMA time into and out of the scratchpad when nothing stays (R3, R4)."""
    kind, live = timeline.kind, timeline.live_after
    passes = np.where(timeline.stationary, 1, timeline.passes)
    result = kind != Access.READ
    passes_in = np.where(kind == Access.WRITE, np.where(live, passes - 1, 0), passes)
    passes_out = np.where(result & live, passes, 0)
    size = timeline.size_bytes[timeline.tensor]

    def cycles(crossings: Ints) -> Ints:
        time: Ints = np.where(crossings > 0, transfer_cycles(machine, size * crossings), 0)
        return time

    return cycles(passes_in), cycles(passes_out)
