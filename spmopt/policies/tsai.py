"""The tensor-level policy of Tsai's analytical model of training, in full.

C.-Y. Tsai, "A performance analytical model for DNN training with focus on memory subsystem",
master thesis, National Taiwan University, 2021, chapter 4, Listing 1. Its parts, of
which each can be switched off:

* ``order``: operations run depth first and wait at joins (section 4.2.2).
* Belady's replacement on whole tensors: tensors of a layer are brought in, and the tensors used
  furthest ahead make room for it.
* ``prefetch``: a tensor needed by layer i is put on the list of layer i - k, with the least k
  for which the layers i - k to i - 1 compute at least as long as it loads (``latency``); the
  naive list is that of layer i - 1 (``next``). While there is no room for the whole tensor until
  its use, it goes on the list of the next layer. Missing tensors are loaded at their use.
* ``offload``: a tensor that will be evicted before its next use leaves right after its current
  one (``ahead``); the naive way is when the room is needed (``full``).

Departures. The paper's channel runs freely beside the computation; here its bytes belong to
steps: in each step it moves, first in first out, as much as costs no time there (rule R6), and
urgent transfers before that (:mod:`spmopt.policies.channel`). That is the paper's channel
cut at the layers' boundaries; shares in proportion to the layers' time would let transfers pass
each other. A load at a use overlaps with its layer, row by row, where the paper stalls. With
``full`` a victim is stored in the step before it makes room, because room must be free when a step
begins. Tensors that do not fit the scratchpad beside the rest of their layer are streamed; the
paper's caches hold all that a layer uses. Which tensors remain is decided by Belady's rule before
prefetches are listed, so a prefetch evicts nothing.
"""

from __future__ import annotations

import numpy as np

from spmopt.assemble.cost import transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.mappings import fitting_mappings
from spmopt.core.order import depth_first
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import Residency, ResidencyPlan, Steps
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, timeline
from spmopt.policies.channel import RequestedTimes, run_channel
from spmopt.policies.gaps import free_pages, latest_stores, plan_of, transfers_of, whole_gaps
from spmopt.policies.idle import idle_beside_streams
from spmopt.policies.policy import in_first_mappings
from spmopt.policies.ranked import Ranking, keep_by_rank, next_use
from spmopt.policies.rows import WholeRows, whole_rows


def tsai(
    problem: Problem,
    request: Request,
    order: str = "depth-first",
    prefetch: str = "latency",
    offload: str = "ahead",
) -> Result:
    """Schedule by the rules above; each operation runs in its first mapping that fits.

    Parameters
    ----------
    problem, request
        The objective is not heeded.
    order
        ``depth-first`` or ``listed``.
    prefetch
        ``latency``, ``next`` or ``none``.
    offload
        ``ahead`` or ``full``.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    del request
    steps = Steps.listed(fitting_mappings(problem))
    if order == "depth-first":
        steps = steps.take(depth_first(problem))
    arrays = timeline(problem, steps)
    residency_plan = keep_by_rank(problem, arrays, bring_in(arrays))
    moved = through_channel(problem.machine, arrays, residency_plan, prefetch, offload)
    return in_first_mappings(problem, moved)


def bring_in(timeline: Timeline) -> Ranking:
    """Belady's rule as published: for operands of a step, all other tensors may go."""
    return Ranking(
        now=np.arange(timeline.steps), after=next_use(timeline), admit_above=timeline.step
    )


def through_channel(
    machine: Machine, timeline: Timeline, residency_plan: ResidencyPlan, prefetch: str, offload: str
) -> ResidencyPlan:
    """Return ``residency_plan``, with the same residency at uses.

    Moved by ``prefetch`` and ``offload``.
    """
    rows = whole_rows(machine, timeline, residency_plan.residency)
    ahead = offload == "ahead"
    gone = rows.last_use + 1 if ahead else rows.end
    held = Residency(tensor=rows.tensor, begin=rows.first_use, end=gone, size_bytes=rows.size_bytes)
    gaps = whole_gaps(timeline, rows.used())
    latest = latest_stores(timeline)[rows.last]
    asked = RequestedTimes(
        load=np.maximum(_list(machine, timeline, rows, prefetch), rows.previous_use + 1),
        store=gone - 1,
        needed=np.maximum(gone - 1, latest) if ahead else gone - 1,
        gone=gone,
    )
    idle = idle_beside_streams(machine, timeline, gaps.held)
    room = free_pages(machine, timeline, held)
    loads, stores = run_channel(machine, rows, asked, idle, room)
    left = timeline.step + 1
    # Offloaded ahead: the row ends at its last use, else where Belady evicts it.
    left[rows.last] = gone
    return plan_of(
        gaps,
        transfers_of(machine.page_bytes, rows.last, rows.size_bytes, stores, short_first=True),
        transfers_of(machine.page_bytes, rows.first, rows.size_bytes, loads, short_first=False),
        left,
    )


def _list(machine: Machine, timeline: Timeline, rows: WholeRows, prefetch: str) -> Ints:
    """(k,) The step on whose list each row's load is."""
    use = rows.first_use
    if prefetch == "none":
        return use
    if prefetch == "next":
        return np.maximum(use - 1, 0)
    # Time before each layer, as if none waited.
    computed = np.append(0, np.cumsum(timeline.compute_cycles))
    moved = timeline.moved.of(timeline.tensor[rows.first], rows.size_bytes)
    latest = computed[use] - transfer_cycles(machine, moved)
    return np.maximum(np.searchsorted(computed, latest, side="right") - 1, 0)


def next_layer(problem: Problem, request: Request) -> Result:
    """Schedule as the thesis' naive baseline: prefetch for the next layer, offload when full.

    Figures 4.1a and 4.2a: Belady's replacement with the same departures; a tensor is asked for
    while the layer before its use runs, and leaves when its room is needed.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return tsai(problem, request, order="listed", prefetch="next", offload="full")
