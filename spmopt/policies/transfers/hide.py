"""Hide transfers under compute: store and load in steps whose DMA time is idle.

Latency-aware prefetch (load in earlier steps whose compute covers the transfer, the nearest
first) and early write-back, as one pass over a plan that transfers at its uses:

1. A tensor leaves right after its last use in a row, which frees room for the rest.
2. Dirty rows are stored where DMA time is idle, from the last write on: first up to the last
   use, then beyond it, shrinking, until the step where the policy evicted the tensor. What
   finds no idle time is stored at the last use.
3. Loads go where DMA time is idle: in their own step, then backwards to the tensor's use
   before, growing. What finds no idle time is loaded at its use.

The same bytes move, so traffic does not grow, and the result is taken only if it is faster. DMA
time is idle in a step while ordinary transfers take less than its compute (R6). Look-back is
not limited, as each step costs only what it moves; the room limits it.
"""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import summed, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.schedule import Commands, Plan
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.transfers.budget import free_pages, idle_beside_streams
from spmopt.policies.transfers.faster import if_faster
from spmopt.policies.transfers.idle import Waiting
from spmopt.policies.transfers.moves import (
    Moves,
    earliest_load,
    heads,
    load_moves,
    moved_plan,
    store_moves,
    tails,
)
from spmopt.policies.transfers.rows import WholeRows, whole_rows
from spmopt.policies.transfers.windows import loads_in_windows, stores_in_windows


def hide_transfers(machine: Machine, timeline: Timeline, plan: Plan) -> Plan:
    """Faster plan with the same residency at every use, or ``plan`` itself.

    Parameters
    ----------
    machine, timeline
        The machine, and the instance in the plan's order and modes.
    plan
        Whole tensors, loaded in the step of their use.
    """
    return if_faster(machine, timeline, plan, spread_transfers)


def spread_transfers(machine: Machine, timeline: Timeline, plan: Plan, commands: Commands) -> Plan:
    """Plan that moves the same bytes in idle time; ``commands`` are those of ``plan``."""
    rows = whole_rows(machine, timeline, plan.residency)
    used = rows.used()
    inward, outward = idle_beside_streams(machine, timeline, commands)
    stores = _spread_stores(machine, rows, outward, free_pages(machine, timeline, used))
    after_use = tails(rows, stores)
    idle = inward
    if not machine.duplex:
        taken = _ordinary_cycles(machine, timeline.steps, rows, stores)
        idle = np.maximum(inward - taken, 0)
    room = free_pages(machine, timeline, used, after_use)
    loads = _spread_loads(machine, rows, stores, idle, room)
    return moved_plan(plan, rows, stores, used, after_use, heads(rows, loads))


def _spread_stores(machine: Machine, rows: WholeRows, idle: Ints, room: Ints) -> Moves:
    """Stores of dirty rows, by windows: up to the last use, then up to the eviction."""
    dirty = np.flatnonzero(rows.stores)
    within = Waiting(
        home=rows.last_write[dirty],
        last=rows.last_use[dirty],
        pages=rows.pages[dirty],
        size_bytes=rows.size_bytes[dirty],
        at_home=~rows.pinned_store[dirty],
    )
    until = rows.end[dirty] - 1
    pieces = stores_in_windows(machine, within, until, idle, room)
    return store_moves(machine.page_bytes, rows, dirty, pieces)


def _spread_loads(
    machine: Machine, rows: WholeRows, stores: Moves, idle: Ints, room: Ints
) -> Moves:
    """Loads of rows, backwards in time from their first use."""
    loaded = np.flatnonzero(rows.loads)
    waiting = Waiting(
        home=rows.first_use[loaded],
        last=earliest_load(rows, stores)[loaded],
        pages=rows.pages[loaded],
        size_bytes=rows.size_bytes[loaded],
        at_home=~rows.pinned_load[loaded],
    )
    pieces = loads_in_windows(machine, waiting, idle, room)
    return load_moves(machine.page_bytes, rows, loaded, pieces)


def _ordinary_cycles(machine: Machine, steps: int, rows: WholeRows, stores: Moves) -> Ints:
    """(n,) DMA cycles of the stores, less those of stationary results in their own step."""
    serial = rows.pinned_store[stores.row] & (stores.step == rows.last_write[stores.row])
    chosen = stores.take(~serial)
    return summed(steps, chosen.step, transfer_cycles(machine, chosen.size_bytes))
