"""Least frequently used, on whole tensors or by pages.

Tabbassum, Issani and Khahro, "Revolutionizing Scratchpad Memory Utilization in Deep Learning
Accelerators for Optimal Performance": "dynamic allocation adjusts memory distribution in response
to real-time workload demands", while "data locality optimization places data into scratchpad
memory based on its access frequency". The paper gives no algorithm. The reading here: every operand
is allocated when an operation demands it; the tensor accessed least often goes first, of equals the
one used longest ago. ``counts`` says which accesses count, on which the paper is silent:

* ``past``: those since the start of the run, also those that were streamed, all alike. Nothing is
  known of the future.
* ``recent``: the same, but each counts half as much after every ``HALF_LIFE`` steps, so that
  tensors that an earlier layer used often go in time ("adapts to workload changes in real-time").
  This is the order of LRFU (Lee et al., "LRFU: a spectrum of policies that subsumes the least
  recently used and least frequently used policies", IEEE Transactions on Computers 50(12), 2001).
* ``run``: those of the whole run, known beforehand ("data most frequently accessed by deep
  learning models"). An operand is placed only at the cost of tensors that are used less often.

Departures, as in all rules here: dead contents are dropped at once; an operand that does not
fit is streamed; transfers are hidden afterwards where DMA time is idle, with part of the
scratchpad left free for that where it pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.policy import rank_outcomes
from spmopt.policies.ranked import Ranking

Reals = NDArray[np.float64]

HALF_LIFE = 8
"""Steps, about the operations of one residual block."""


def frequency(
    problem: Problem, request: Request, *, granularity: str = "tensor", counts: str = "past"
) -> Result:
    """Bring in every operand that fits; evict the tensor with the fewest accesses.

    The order is the problem's, the mappings are the first that fit. ``granularity`` is ``tensor``,
    or ``page`` to keep heads of tensors; ``counts`` is ``past``, ``recent`` or ``run``.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return rank_outcomes(problem, request, COUNTS[counts], granularity)


def rarity(timeline: Timeline) -> Ranking:
    """Rank by the number of accesses so far, then by recency; all not used now may go."""
    return _rank(timeline, accesses_so_far(timeline))


def fading(timeline: Timeline) -> Ranking:
    """Rank by accesses so far, each worth half after ``HALF_LIFE`` steps; all not used may go."""
    return _rank(timeline, fading_accesses(timeline))


def residency_plan_residency(timeline: Timeline) -> Ranking:
    """Rank by the accesses of the whole run, then by recency; only rarer tensors may go."""
    total = accesses_in_all(timeline)
    ranking = _rank(timeline, total)
    # The highest rank of any access to a tensor that is used so often: above are rarer ones.
    # Ties by recency are no reason to evict: only rarer tensors may go.
    highest = np.zeros(int(total.max(initial=0)) + 1, np.int64)
    np.maximum.at(highest, total, ranking.after)
    return replace(ranking, admit_above=highest[total])


COUNTS: Mapping[str, Callable[[Timeline], Ranking]] = {
    "past": rarity,
    "recent": fading,
    "run": residency_plan_residency,
}


def accesses_so_far(timeline: Timeline) -> Ints:
    """(a,) Accesses of the same tensor up to and with each access."""
    tensor = timeline.tensor
    order = np.argsort(tensor, kind="stable")
    begins = np.searchsorted(tensor[order], tensor[order], side="left")
    so_far = np.empty(tensor.size, np.int64)
    so_far[order] = np.arange(tensor.size) - begins + 1
    return so_far


def accesses_in_all(timeline: Timeline) -> Ints:
    """(a,) Accesses of the same tensor in the whole run, of each access."""
    return np.bincount(timeline.tensor, minlength=timeline.size_bytes.size)[timeline.tensor]


def fading_accesses(timeline: Timeline) -> Reals:
    """(a,) Accesses so far that count ``2 ** (-age / HALF_LIFE)``, as ordered at any later step.

    All fade alike, so their order after an access remains as it is: that of the logarithm of
    ``sum 2 ** (step / HALF_LIFE)``.
    """
    found: list[float] = []
    for step, previous in zip(timeline.step.tolist(), timeline.previous.tolist(), strict=True):
        before = -np.inf if previous < 0 else found[previous]
        found.append(float(np.logaddexp2(before, step / HALF_LIFE)))
    return np.array(found)


def _rank(timeline: Timeline, counts: Ints | Reals) -> Ranking:
    """Rank by ``counts`` (a,) of accesses, the highest first to remain, then by recency."""
    accesses = timeline.tensor.size
    often_first = np.lexsort((-timeline.step, -counts))
    after = np.empty(accesses, np.int64)
    after[often_first] = np.arange(1, accesses + 1)
    return Ranking(
        now=np.zeros(timeline.steps, np.int64),
        after=after,
        admit_above=np.zeros(accesses, np.int64),
    )
