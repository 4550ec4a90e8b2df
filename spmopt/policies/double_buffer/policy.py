"""Double buffering of operations that need all their operands in the scratchpad."""

from __future__ import annotations

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.modes import SEVERAL_MODES, fitting_modes
from spmopt.core.plan import Plan, Stores
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, timeline
from spmopt.policies.double_buffer.batches import batches
from spmopt.policies.double_buffer.spread import Transfers, spread
from spmopt.policies.double_buffer.stays import rows_of_batches
from spmopt.policies.transfers.moves import heads, tails
from spmopt.policies.transfers.rows import joined


def double_buffer(instance: Instance, request: Request, *, reuse: str = "shared") -> Outcome:
    """Schedule in the instance's own order; the modes are the first that fit.

    Parameters
    ----------
    instance, request
        The objective is not heeded.
    reuse
        ``shared``: what two batches, one after the other, both use stays; ``none``: it is loaded
        again.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    del request
    arrays = timeline(instance, np.arange(len(instance.operations)), fitting_modes(instance))
    plan = buffered(instance.machine, arrays, shared=reuse == "shared")
    several = any(len(operation.modes) > 1 for operation in instance.operations)
    return Outcome(plan=plan, notes=(SEVERAL_MODES,) if several else ())


def buffered(machine: Machine, timeline: Timeline, *, shared: bool) -> Plan:
    """Plan by batches."""
    moved = transfers(machine, timeline, shared=shared)
    rows, stores = moved.rows, moved.stores
    order = np.lexsort((rows.tensor[stores.row], stores.step))
    return Plan(
        operation=timeline.operation,
        mode=timeline.mode,
        residency=joined(rows.used(), tails(rows, stores), heads(rows, moved.loads)),
        stores=Stores(
            step=stores.step[order],
            tensor=rows.tensor[stores.row[order]],
            size_bytes=stores.size_bytes[order],
        ),
    )


def transfers(machine: Machine, timeline: Timeline, *, shared: bool) -> Transfers:
    """Transfers by batches: what :func:`buffered` moves, and when."""
    cut = batches(machine, timeline)
    return spread(machine, timeline, cut, rows_of_batches(machine, timeline, cut, shared=shared))
