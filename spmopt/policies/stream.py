"""Keep nothing: every operand crosses the DRAM boundary in every step that uses it.

The floor that every other scheduler is measured against. Stationary operands are resident for
their one step (R3), loaded before and stored after it; their loads are hidden afterwards where
DMA time is idle.
"""

from __future__ import annotations

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.outcome import policy_outcome


def stream(instance: Instance, request: Request) -> Outcome:
    """Stream all but the stationary operands.

    The order is the instance's, the modes are the first that fit.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    return policy_outcome(instance, request, lambda arrays, _: nothing_kept(arrays), shares=())


def nothing_kept(timeline: Timeline) -> Plan:
    """Plan with one row a stationary access, and a store where that leaves live results."""
    pinned = np.flatnonzero(timeline.stationary)
    pinned = pinned[np.lexsort((timeline.step[pinned], timeline.tensor[pinned]))]
    result = timeline.stationary & timeline.live_after & (timeline.kind != Access.READ)
    saved = np.flatnonzero(result)
    saved = saved[np.lexsort((timeline.tensor[saved], timeline.step[saved]))]
    step, tensor = timeline.step, timeline.tensor
    return Plan(
        operation=timeline.operation,
        mode=timeline.mode,
        residency=Residency(
            tensor=tensor[pinned],
            begin=step[pinned],
            end=step[pinned] + 1,
            size_bytes=timeline.size_bytes[tensor[pinned]],
        ),
        stores=Stores(
            step=step[saved],
            tensor=tensor[saved],
            size_bytes=timeline.size_bytes[tensor[saved]],
        ),
    )
