"""Fused groups that there are, in place of a table of all begins, ends and numbers of fusion tiles.

Of the fused groups of a training step one in twenty can be: no other reads the sums of one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.table import Bools, Ints


class SparseArcs:
    """Fused groups (a,) by their ends, the number of fusion tiles and the begin.

    Parameters
    ----------
    there : (n + 1, p, n + 1)
        Whether there is one, by end, number of fusion tiles and begin.

    Attributes
    ----------
    place, end, begin : (a,)
        Their places in that table, in ascending order, and their values.
    """

    def __init__(self, there: Bools) -> None:
        self.count, self._fusion = there.shape[0] - 1, there.shape[1]
        self.place: Ints = np.flatnonzero(there)
        self.end, self._way, self.begin = np.unravel_index(self.place, there.shape)
        self._first = np.searchsorted(self.end, np.arange(self.count + 2)).tolist()

    def of(self, table: Floats) -> Floats:
        """Return (a,) their entries in a table."""
        found: Floats = table.reshape(-1)[self.place]
        return found

    def index(self, places: Ints) -> Ints:
        """Return which ones are at places of the table."""
        found: Ints = np.searchsorted(self.place, places)
        return found

    def shortest(
        self, cost: Floats, make: Callable[[int, int, int], FusedGroup]
    ) -> tuple[float, FusionPlan]:
        """Return the shortest path from the first boundary to the last; infinite if there is none.

        As :func:`~.lengths.shortest_path`, of costs (a,).
        """
        # Arcs go forward, so that one pass over the ends finds all shortest paths.
        reached = np.full(self.count + 1, np.inf)
        reached[0] = 0.0
        came = np.full(self.count + 1, -1)
        for end in range(1, self.count + 1):
            first, last = self._first[end], self._first[end + 1]
            if first == last:
                continue
            arcs = cost[first:last] + reached[self.begin[first:last]]
            least = int(arcs.argmin())
            reached[end], came[end] = arcs[least], first + least
        fusion_plan, end = list[FusedGroup](), self.count
        while end and np.isfinite(reached[-1]):
            arc = int(came[end])
            begin = int(self.begin[arc])
            fusion_plan.append(make(begin, end, int(self._way[arc])))
            end = begin
        return float(reached[-1]), tuple(reversed(fusion_plan))
