"""Least frequently used, on whole tensors or by pages.

Tabbassum, Issani and Khahro, "Revolutionizing Scratchpad Memory Utilization in Deep Learning
Accelerators for Optimal Performance": scratchpad memory is allocated at run time "based on
workload demands", and data are placed in it "based on access frequency". The paper gives no
algorithm. The reading here: every operand is allocated when an operation demands it; what has
been accessed least often so far goes first, of equals the one used longest ago. Accesses count
from the start of the run, also those that were streamed, and nothing is known of the future.
Departures, as in all rules here: dead contents are dropped at once; an operand that does not
fit is streamed; transfers are hidden afterwards where DMA time is idle, with part of the
scratchpad left free for that where it pays.
"""

from __future__ import annotations

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.outcome import ranked_outcome
from spmopt.policies.residency.ranked import Ranking


def frequency(instance: Instance, request: Request, *, granularity: str = "whole") -> Outcome:
    """Bring in every operand that fits; evict the tensor with the fewest accesses so far.

    The order is the instance's, the modes are the first that fit. ``granularity`` is ``whole``,
    or ``page`` to keep heads of tensors.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    return ranked_outcome(instance, request, rarity, granularity)


def rarity(timeline: Timeline) -> Ranking:
    """Rank by the number of accesses so far, then by recency; all not used now may go."""
    count = timeline.tensor.size
    often_first = np.lexsort((-timeline.step, -accesses_so_far(timeline)))
    after = np.empty(count, np.int64)
    after[often_first] = np.arange(1, count + 1)
    return Ranking(
        now=np.zeros(timeline.steps, np.int64), after=after, admit_above=np.zeros(count, np.int64)
    )


def accesses_so_far(timeline: Timeline) -> Ints:
    """(a,) Accesses of the same tensor up to and with each access."""
    tensor = timeline.tensor
    order = np.argsort(tensor, kind="stable")
    begins = np.searchsorted(tensor[order], tensor[order], side="left")
    so_far = np.empty(tensor.size, np.int64)
    so_far[order] = np.arange(tensor.size) - begins + 1
    return so_far
