"""All covers of a small listing, those of the least sum of values the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.pieces.segments import Cover, Segment

_Segments = tuple[Segment, ...]


def by_value(
    table: Floats, make: Callable[[int, int, int], Segment]
) -> Iterator[tuple[float, Cover]]:
    """Yield covers and the sums of their segments' values, in ascending order of these.

    Best first: what is known of a beginning is its sum and the least that can follow.

    Parameters
    ----------
    table : (n + 1, p, n + 1)
        Values of segments, by end, number of pieces and begin.
    make
        Of begin, end and number of pieces, its place in the table.
    """
    count = len(table) - 1
    rest = np.full(count + 1, np.inf)
    rest[count] = 0.0
    for begin in range(count - 1, -1, -1):
        rest[begin] = (table[:, :, begin] + rest[:, None]).min()
    number = 0
    waiting: list[tuple[float, int, float, int, _Segments]] = [(float(rest[0]), 0, 0.0, 0, ())]
    while waiting:
        least, _, sum_, at, cover = heappop(waiting)
        if at == count:
            yield least, cover
            continue
        ends, ways = np.nonzero(np.isfinite(table[:, :, at] + rest[:, None]))
        for end, way in zip(ends.tolist(), ways.tolist(), strict=True):
            value = sum_ + float(table[end, way, at])
            segment = make(at, end, way)
            number += 1
            both = value + float(rest[end])
            heappush(waiting, (both, number, value, end, (*cover, segment)))
