"""Hide transfers under compute: store and load in steps whose DMA time is idle.

Latency-aware prefetch (load in earlier steps whose compute covers the transfer, the nearest
first) and early write-back, as one pass over a residency plan that transfers at its uses. Of each
gap between two uses of a tensor:

1. The tensor is trimmed to the part that remains through the gap right after the first use, which
  frees room
   for the rest.
2. Write-back moves where DMA time is idle, from the last write on: first up to the first use,
   then beyond it, shrinking, until the step where the policy evicted. Bytes without idle time are
   stored at the last use.
3. Growth moves where DMA time is idle: in the step of the second use, then backwards. Bytes without
  idle time are loaded at their use.

No more bytes move, and the result is taken only if it is faster. DMA time is idle in a step while
ordinary transfers take less than its compute (R6). Look-back is not limited, as each step costs
only its transfers; the room limits it.
"""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import residency_plan_cost, sum_up, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.gaps import (
    Gaps,
    PageMoves,
    Transfers,
    earliest_loads,
    free_pages,
    page_gaps,
    plan_of,
    residency_of,
    transfers_of,
    whole_gaps,
)
from spmopt.policies.idle import Waiting, fill_idle, idle_beside_streams, moves_at


def hide_transfers(
    machine: Machine, timeline: Timeline, residency_plan: ResidencyPlan, granularity: str = "tensor"
) -> ResidencyPlan:
    """Return a faster plan with the same residency at every use, or ``residency_plan`` itself.

    Parameters
    ----------
    machine, timeline
        The machine, and the problem in the residency plan's order and mappings.
    residency_plan
        Loads in the step of a use.
    granularity
        Whether it keeps tensors whole (``tensor``), or heads of them (``page``).
    """
    moved = spread_transfers(machine, timeline, residency_plan, granularity)
    before, after = (
        residency_plan_cost(machine, timeline, one).step_time.sum()
        for one in (residency_plan, moved)
    )
    return moved if after < before else residency_plan


def spread_transfers(
    machine: Machine, timeline: Timeline, residency_plan: ResidencyPlan, granularity: str = "tensor"
) -> ResidencyPlan:
    """Return a plan that moves the same bytes in idle time."""
    if granularity == "tensor":
        gaps = whole_gaps(timeline, residency_plan.residency)
        # Of equally urgent transfers those of the first tensor move first.
        order = np.lexsort((timeline.step, timeline.tensor))
    else:
        gaps, order = page_gaps(timeline, residency_plan), np.arange(timeline.tensor.size)
    none = Transfers.empty()
    idle, outward = idle_beside_streams(machine, timeline, gaps.held)
    room = free_pages(machine, timeline, residency_of(gaps, none, none))
    stores = _spread_stores(machine, gaps, order[gaps.saved[order] > 0], idle=outward, room=room)
    if not machine.duplex:
        idle = np.maximum(idle - _ordinary_cycles(machine, gaps, stores), 0)
    room = free_pages(machine, timeline, residency_of(gaps, stores, none))
    loads = _spread_loads(machine, gaps, order[gaps.grown[order] > 0], stores, idle=idle, room=room)
    return plan_of(gaps, stores, loads)


def _spread_stores(
    machine: Machine, gaps: Gaps, access: Ints, *, idle: Ints, room: Ints
) -> Transfers:
    """Write back in two windows: up to the last use before the eviction, then beyond it."""
    timeline, write = gaps.timeline, gaps.last_write[access]
    use, size = timeline.step[access], gaps.saved[access]
    within = Waiting(
        home=timeline.step[write],
        last=use,
        pages=machine.pages(size),
        size_bytes=size,
        # Rows stream out beside the computation, unless it needs the result in one piece.
        at_home=~timeline.required_resident[write],
    )
    # Up to the last use the whole tensor has its room anyway.
    no_limit = np.full(room.size, int(within.pages.sum()))
    early, rest, idle = fill_idle(machine, within, idle, no_limit)
    beyond = Waiting(
        home=use,
        last=np.maximum(gaps.trimmed[access] - 1, use),
        pages=rest,
        size_bytes=np.minimum(rest * machine.page_bytes, size),
        at_home=np.zeros(use.size, bool),
    )
    late, rest, _ = fill_idle(machine, beyond, idle, room)
    moves = PageMoves.together(early, late, moves_at(use, rest))
    return transfers_of(machine.page_bytes, access, size, moves, short_first=True)


def _spread_loads(
    machine: Machine, gaps: Gaps, access: Ints, stores: Transfers, *, idle: Ints, room: Ints
) -> Transfers:
    """Load backwards in time from the use: the same walk as of stores, over mirrored steps."""
    timeline, size, final = gaps.timeline, gaps.grown[access], room.size - 1
    use = timeline.step[access]
    mirrored = Waiting(
        home=final - use,
        last=final - earliest_loads(gaps, stores)[access],
        pages=machine.pages(size),
        size_bytes=size,
        at_home=~timeline.required_resident[access],
    )
    early, rest, _ = fill_idle(machine, mirrored, idle[::-1], room[::-1])
    early = PageMoves(item=early.item, step=final - early.step, pages=early.pages)
    moves = PageMoves.together(early, moves_at(use, rest))
    return transfers_of(machine.page_bytes, access, size, moves, short_first=False)


def _ordinary_cycles(machine: Machine, gaps: Gaps, stores: Transfers) -> Ints:
    """Return (n,) DMA cycles of the stores, without required-resident results in their step."""
    timeline, write = gaps.timeline, gaps.last_write[stores.access]
    serial: Bools = timeline.required_resident[write] & (stores.step == timeline.step[write])
    chosen = stores.take(~serial)
    moved = timeline.moved.of(timeline.tensor[chosen.access], chosen.size_bytes)
    return sum_up(timeline.steps, chosen.step, transfer_cycles(machine, moved))
