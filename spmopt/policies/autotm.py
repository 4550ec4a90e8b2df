"""Synchronous moves at uses, asynchronous ones that hide whole under one kernel.

M. Hildebrand, J. Khan, S. Trika, J. Lowe-Power and V. Akella, "AutoTM: automatic tensor movement
in heterogeneous memory systems using integer linear programming", ASPLOS 2020. Its moves: a
synchronous one, before or after a kernel that uses the tensor; an asynchronous one, which runs
beside a single kernel and must be over with it. A kernel may also work on slow memory directly.

Departures. AutoTM chooses tensors and moves by an integer program over profiled kernels; here
Belady's rule chooses the tensors (:mod:`spmopt.policies.belady`), and each move takes the kernel
nearest to its use that has the time and the room until then, if there is one. A move beside a
kernel never lengthens it, while AutoTM may let it. A synchronous move overlaps with the kernel
that it serves, as rows of streams do, where AutoTM stalls for all of it.
"""

from __future__ import annotations

import numpy as np

from spmopt.assemble.commands import derive_commands
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline
from spmopt.policies.belady import distance
from spmopt.policies.outcome import in_first_modes
from spmopt.policies.residency.ranked import keep_whole
from spmopt.policies.transfers.budget import free_pages, idle_beside_streams
from spmopt.policies.transfers.kernel import Beside, loads_under_one, stores_under_one
from spmopt.policies.transfers.moves import (
    earliest_load,
    heads,
    load_moves,
    moved_plan,
    store_moves,
    tails,
)
from spmopt.policies.transfers.rows import latest_store, whole_rows


def autotm(instance: Instance, request: Request) -> Outcome:
    """Schedule in the instance's own order; the modes are the first that fit.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    del request
    arrays = fitting_timeline(instance)
    plan = keep_whole(instance, arrays, distance(arrays))
    moved = under_kernels(instance.machine, arrays, plan)
    return in_first_modes(instance, moved)


def under_kernels(machine: Machine, timeline: Timeline, plan: Plan) -> Plan:
    """Return ``plan``, with the same residency at uses, each move whole and within one step."""
    rows = whole_rows(machine, timeline, plan.residency)
    used = rows.used()
    inward, outward = idle_beside_streams(machine, timeline, derive_commands(timeline, plan))
    room = free_pages(machine, timeline, used)
    beside = Beside(idle=outward, room=room)
    latest = np.minimum(rows.end - 1, latest_store(timeline, rows))
    store_pieces = stores_under_one(machine, rows, latest, beside)
    every = np.arange(rows.tensor.size)
    stores = store_moves(machine.page_bytes, rows, every, store_pieces)
    # On one channel the stores have taken their time from the loads.
    idle = inward if machine.duplex else beside.idle
    earliest = earliest_load(rows, stores)
    load_pieces = loads_under_one(machine, rows, earliest, Beside(idle=idle, room=room))
    loads = load_moves(machine.page_bytes, rows, every, load_pieces)
    return moved_plan(plan, rows, stores, used, tails(rows, stores), heads(rows, loads))
