"""Least recently used, on whole tensors or by pages.

Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM
Systems Journal 9(2), 1970. Departures: pages become tensors of unequal sizes; an operand that
does not fit is streamed (by pages: the part of it that does not fit, and a victim is trimmed
from its tail); contents that are dead are dropped at once without write-back (a
cache cannot know that); transfers are hidden afterwards where DMA time is idle, with part of
the scratchpad left free for that where it pays.
"""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline
from spmopt.policies.policy import rank_outcomes
from spmopt.policies.ranked import Ranking


def lru(problem: Problem, request: Request, *, granularity: str = "tensor") -> Result:
    """Bring in every operand that fits; evict the tensor whose last use is longest ago.

    The order is the problem's, the mappings are the first that fit. ``granularity`` is ``tensor``,
    or ``page`` to keep heads of tensors.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return rank_outcomes(problem, request, recency, granularity)


def recency(timeline: Timeline) -> Ranking:
    """Rank by steps since the last use; everything not used now may go."""
    step = timeline.steps - timeline.step
    return Ranking(now=timeline.steps - np.arange(timeline.steps), after=step, admit_above=step)
