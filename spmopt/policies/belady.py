"""Farthest next use first, on whole tensors or by pages.

L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
Journal 5(2), 1966 (the rule MIN). It is optimal for clean pages of one size, used one a step,
and only there: here tensors have unequal sizes, write-backs and fetches. Departures: an operand
whose next use is farther than that of everything evictable is streamed and not kept (bypass);
one that crosses several times within its step counts as used again at once; transfers are
hidden afterwards where DMA time is idle, with part of the scratchpad left free for that where
it pays.
"""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline
from spmopt.policies.policy import rank_outcomes
from spmopt.policies.ranked import Ranking, next_use


def belady(problem: Problem, request: Request, *, granularity: str = "tensor") -> Result:
    """Bring in an operand only at the cost of tensors that are used later than it.

    The order is the problem's, the mappings are the first that fit. ``granularity`` is ``tensor``,
    or ``page``: heads of tensors, a victim trimmed from its tail by exactly the pages needed.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return rank_outcomes(problem, request, distance, granularity)


def distance(timeline: Timeline) -> Ranking:
    """Rank by the step of the next use; the number of steps where there is none."""
    after = next_use(timeline)
    return Ranking(
        now=np.arange(timeline.steps),
        after=after,
        admit_above=np.where(timeline.fetches > 1, timeline.step, after),
    )
