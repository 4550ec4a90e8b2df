"""When a copy may start: intervals by the time that elapses in them.

The rule of XLA's cost-analysis picker of prefetch intervals. Its ratios have no canonical
values; these are the ones that XLA's own tests of the pass use.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from spmopt.policies.msa.costs import Floats

LEAST_OVERLAP = 0.8
"""A copy overlaps with at least this part of its own time (less the saving of its use)."""
PREFERRED_OVERLAP = 1.5
"""The overlap, over the time of the copy, that a window is chosen for."""
LONGEST_RESIDENCY = 10.0
"""Time that a value may wait on chip unused, over the time to copy a whole scratchpad."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """First steps that a copy may start in, from the earliest to the latest, and the best."""

    earliest: int
    latest: int
    preferred: int

    def within(self, earliest: int, latest: int) -> int | None:
        """The step nearest to the preferred one in a narrower window."""
        earliest, latest = max(earliest, self.earliest), min(latest, self.latest)
        return None if earliest > latest else min(max(self.preferred, earliest), latest)


class Intervals:
    """Elapsed time between steps."""

    def __init__(self, elapsed: Floats, whole_copy_cycles: float) -> None:
        self._until: list[float] = np.append(0, np.cumsum(elapsed)).tolist()
        self._longest = LONGEST_RESIDENCY * whole_copy_cycles

    def may_wait(self, begin: int, end: int) -> bool:
        """The steps [begin, end) are short enough to remain on chip unused."""
        return self._until[end] - self._until[begin] <= self._longest

    def prefetch(self, begin: int, use: int, copy_cycles: float, saved: float) -> Window | None:
        """Where a copy into the scratchpad may start in [begin, use), if anywhere."""
        at_use = self._until[use]
        enough = at_use - max(0.0, LEAST_OVERLAP * copy_cycles - saved)
        latest = min(bisect_right(self._until, enough, begin, use + 1) - 1, use - 1)
        earliest = bisect_left(self._until, at_use - self._longest, begin, use + 1)
        if earliest > latest:
            return None
        goal = at_use - PREFERRED_OVERLAP * copy_cycles
        after = min(bisect_left(self._until, goal, earliest, latest + 1), latest)
        before = max(after - 1, earliest)
        nearer_before = goal - self._until[before] < self._until[after] - goal
        return Window(
            earliest=earliest, latest=latest, preferred=before if nearer_before else after
        )

    def eviction_end(self, begin: int, limit: int, copy_cycles: float) -> int:
        """End of the steps from ``begin`` on that an eviction should take, at most ``limit``."""
        goal = self._until[begin] + PREFERRED_OVERLAP * copy_cycles
        return min(bisect_left(self._until, goal, begin, limit + 1), limit)
