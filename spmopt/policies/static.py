"""Tensors chosen once for the whole run, best bytes saved per byte.

The "static allocation" that Tabbassum, Issani and Khahro ("Revolutionizing Scratchpad Memory
Utilization in Deep Learning Accelerators for Optimal Performance") compare with. The paper
gives no rule of choice; here it is greedy for the knapsack, by density: bytes that cross less
often when the tensor is always resident, per page that it takes.

Every chosen tensor owns its room for the whole run, also before its first and after its last
use: no two of them share a page, however far apart their uses are. The rest must hold, in every
step, the scratch and those required-resident operands that were not chosen. All else is streamed in
every step that uses it. Departures: the room of a tensor that is not yet or no longer in use serves
as a buffer for transfers, which are hidden afterwards where DMA time is idle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.assemble.commands import stream_fetches
from spmopt.assemble.cost import sum_up
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.gaps import in_their_steps
from spmopt.policies.policy import policy_outcome


def static(problem: Problem, request: Request) -> Result:
    """Keep the tensors that save the most bytes per byte of room, from first to last use.

    The order is the problem's, the mappings are the first that fit.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """

    def rule(timeline: Timeline, reserve_pages: int) -> ResidencyPlan:
        page, capacity = problem.machine.page_bytes, problem.machine.spm_pages
        return keep_all(timeline, choose(timeline, page, capacity - reserve_pages))

    return policy_outcome(problem, request, rule)


def stream(problem: Problem, request: Request) -> Result:
    """Stream all but the required-resident operands.

    The order is the problem's, the mappings are the first that fit.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return policy_outcome(problem, request, lambda line, _: nothing_kept(line), shares=())


def crossings(timeline: Timeline) -> tuple[Ints, Ints]:
    """(a,) How often an operand crosses in and out if it comes from DRAM in every step."""
    return stream_fetches(
        replace(timeline, fetches=np.where(timeline.required_resident, 1, timeline.fetches))
    )


def bytes_saved(timeline: Timeline) -> Ints:
    """(m,) Bytes that cross less when the tensor is resident from its first use to its last.

    Against streaming it in every step, or, where required-resident, loading and storing it there
    (PROBLEM.md, section 3, R3 and R4). That is too much for an operand that is required-resident
    in one step and in the next: it remains between them in any case, yet counts as loaded in each.
    """
    inward, outward = crossings(timeline)
    always = sum_up(timeline.size_bytes.size, timeline.tensor, inward + outward)
    used = timeline.first_access >= 0
    first, last = timeline.first_access[used], timeline.last_access[used]
    # One load where old contents are read, one store where new ones are needed.
    once = (timeline.kind[first] != Access.WRITE).astype(np.int64)
    once += timeline.written[used] & timeline.live_after[last]
    always[used] -= once
    size = timeline.size_bytes
    return timeline.moved.of(np.arange(size.size), always * size)


def choose(timeline: Timeline, page_bytes: int, capacity_pages: int) -> Bools:
    """(m,) The tensors to keep: by bytes saved per page, each if it still fits."""
    pages = -(-timeline.size_bytes // page_bytes)
    saved = bytes_saved(timeline)
    needed = -(-timeline.scratch_bytes // page_bytes)
    pinned = np.flatnonzero(timeline.required_resident)
    np.add.at(needed, timeline.step[pinned], pages[timeline.tensor[pinned]])
    pinned_steps: dict[int, list[int]] = {}
    for access in pinned.tolist():
        pinned_steps.setdefault(int(timeline.tensor[access]), []).append(int(timeline.step[access]))
    keep = np.zeros(pages.size, bool)
    room, most = capacity_pages, int(needed.max(initial=0))
    candidates = np.flatnonzero(saved > 0)
    order = np.lexsort((candidates, -(saved / pages)[candidates]))
    for tensor in candidates[order].tolist():
        steps = pinned_steps.get(tensor, [])
        size = int(pages[tensor])
        # A tensor kept for the whole run no longer needs room of its own in its steps.
        needed[steps] -= size
        rest = int(needed.max()) if steps else most
        if rest + size <= room:
            keep[tensor] = True
            room, most = room - size, rest
        else:
            needed[steps] += size
    return keep


def keep_all(timeline: Timeline, keep: Bools) -> ResidencyPlan:
    """Plan that holds the tensors ``keep`` from first to last use, and streams the others."""
    final = np.flatnonzero(keep)
    first, last = timeline.first_access[final], timeline.last_access[final]
    passing = np.flatnonzero(timeline.required_resident & ~keep[timeline.tensor])
    step, tensor, size = timeline.step, timeline.tensor, timeline.size_bytes
    kept = Residency(tensor=final, begin=step[first], end=step[last] + 1, size_bytes=size[final])
    rows = Residency.together(kept, in_their_steps(timeline, passing))
    owed = timeline.written[final] & timeline.live_after[last]
    result = passing[timeline.live_after[passing] & (timeline.kind[passing] != Access.READ)]
    left = np.concatenate((last[owed], result))
    left = left[np.lexsort((tensor[left], step[left]))]
    return ResidencyPlan(
        steps=timeline.chosen,
        residency=rows.take(np.lexsort((rows.begin, rows.tensor))),
        stores=Stores(step=step[left], tensor=tensor[left], size_bytes=size[tensor[left]]),
    )


def nothing_kept(timeline: Timeline) -> ResidencyPlan:
    """Plan that streams all that it may, and stores required-resident results."""
    return keep_all(timeline, np.zeros(timeline.size_bytes.size, bool))
