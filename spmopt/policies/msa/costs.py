"""Time estimates of the assignment, and the order in which values are placed by them.

Everything here assumes that all operands come from DRAM, as XLA's cost analysis does when it
sorts values and measures intervals. These figures guide choices only, so they are floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.assemble.cost import step_time, sum_up, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.static import crossings

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Costs:
    """Cycles over steps (n), accesses (a) and tensors (m).

    Attributes
    ----------
    elapsed : (n,)
        Duration of a step (R6) with everything in DRAM.
    incoming, outgoing : (n,)
        DMA time of the operands that are not required-resident, each way.
    own_in, own_out : (a,)
        DMA time of one operand, each way.
    saved : (a,)
        How much shorter the step is with the operand on chip.
    benefit : (a,)
        XLA's memory benefit: where transfers take longer than compute, the transfer time that
        the operand on chip saves; elsewhere minus the time by which compute is the longer.
        A required-resident operand delays its operation either way, so its own time counts.
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


def costs(machine: Machine, timeline: Timeline) -> Costs:
    """Costs of every step and access with all operands in DRAM."""
    pinned, step, compute = timeline.required_resident, timeline.step, timeline.compute_cycles
    size, moved = timeline.size_bytes, timeline.moved
    own_in, own_out = (
        np.where(fetches > 0, transfer_cycles(machine, moved.of(tensor, size[tensor] * fetches)), 0)
        for tensor, fetches in ((timeline.tensor, each) for each in crossings(timeline))
    )
    own = (own_in, own_out, np.where(pinned, own_in, 0), np.where(pinned, own_out, 0))
    dma = [sum_up(timeline.steps, step, cycles) for cycles in own]
    without = [total[step] - cycles for total, cycles in zip(dma, own, strict=True)]

    def duration(dma: list[Ints], compute: Ints) -> Ints:
        inward, outward, before, after = dma
        return step_time(
            machine, compute=compute, inward=inward, outward=outward, before=before, after=after
        )

    elapsed, memory = duration(dma, compute), duration(dma, np.zeros_like(compute))
    # Positive where the step waits for DRAM.
    slack = (memory - compute)[step]
    relief = np.where(slack > 0, memory[step] - duration(without, np.zeros_like(step)), slack)
    return Costs(
        elapsed=elapsed.astype(np.float64),
        incoming=dma[0] - dma[2],
        outgoing=dma[1] - dma[3],
        own_in=own_in,
        own_out=own_out,
        saved=(elapsed[step] - duration(without, compute[step])).astype(np.float64),
        benefit=np.where(pinned, own_in + own_out, relief).astype(np.float64),
        copy=transfer_cycles(machine, moved.of(np.arange(size.size), size)),
    )


def by_boundedness(timeline: Timeline, benefit: Floats) -> list[list[int]]:
    """Return the accesses of each value, those first that are most bounded by DRAM.

    Of equals the larger is first, then by tensor. A value is the result of one blind write, or
    initial contents of DRAM, up to its last use; updates in place belong to the value they change,
    as XLA colocates the buffers of such a chain. It is bounded by its benefits over the root of its
    size: added up where they are positive (operations that wait for DRAM); without any such, the
    largest counts (the operation nearest to that).
    """
    access = np.lexsort((timeline.step, timeline.tensor))
    begins = (timeline.previous[access] < 0) | (timeline.kind[access] == Access.WRITE)
    starts = np.flatnonzero(begins)
    if not starts.size:
        return []
    helps = np.add.reduceat(np.maximum(benefit[access], 0), starts)
    nearest = np.maximum.reduceat(benefit[access], starts)
    size = timeline.size_bytes[timeline.tensor[access[starts]]]
    bounded = np.where(helps > 0, helps, nearest) / np.sqrt(size)
    values = np.split(access, starts[1:])
    return [values[k].tolist() for k in np.lexsort((-size, -bounded)).tolist()]
