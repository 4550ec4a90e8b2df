"""All fusion plans of a small graph, those of the least sum of values the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan

_FusedGroups = tuple[FusedGroup, ...]


def by_value(
    table: Floats, make: Callable[[int, int, int], FusedGroup]
) -> Iterator[tuple[float, FusionPlan]]:
    """Yield fusion plans and the sums of their fused groups' values, in ascending order of these.

    Best first: the bound of a beginning is its sum and the least that can follow.

    Parameters
    ----------
    table : (n + 1, p, n + 1)
        Values of fused groups, by end, number of fusion tiles and begin.
    make
        Of begin, end and number of fusion tiles, its place in the table.
    """
    count = len(table) - 1
    # Cost of the cheapest way on from each boundary: exact, so the search is A* with a perfect
    # heuristic.
    rest = np.full(count + 1, np.inf)
    rest[count] = 0.0
    for begin in range(count - 1, -1, -1):
        rest[begin] = (table[:, :, begin] + rest[:, None]).min()
    number = 0
    waiting: list[tuple[float, int, float, int, _FusedGroups]] = [(float(rest[0]), 0, 0.0, 0, ())]
    while waiting:
        least, _, sum_, at, fusion_plan = heappop(waiting)
        if at == count:
            yield least, fusion_plan
            continue
        ends, ways = np.nonzero(np.isfinite(table[:, :, at] + rest[:, None]))
        for end, way in zip(ends.tolist(), ways.tolist(), strict=True):
            value = sum_ + float(table[end, way, at])
            fused_group = make(at, end, way)
            # A number breaks ties: fused groups are not ordered.
            number += 1
            both = value + float(rest[end])
            heappush(waiting, (both, number, value, end, (*fusion_plan, fused_group)))
