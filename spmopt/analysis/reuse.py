"""Reuse intervals of a schedule, and the bytes that stay on chip throughout each.

A *reuse interval* lies between two uses of the same contents of a tensor: from one access to the
next, if that one reads. Keeping the tensor through the interval spares its bytes one way over the
DRAM boundary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.schedule import Residency
from spmopt.core.table import Bools, Ints
from spmopt.verifier import ScheduleArrays


@dataclass(frozen=True, kw_only=True, eq=False)
class Reuse:
    """Reuse intervals, (i,) each.

    Attributes
    ----------
    access
        Row of the access that begins the interval; ``timeline.next`` has the one that ends it.
    captured_bytes
        Bytes of the tensor that stay on chip from one access to the other.
    """

    access: Ints
    captured_bytes: Ints


def reuse(view: ScheduleArrays) -> Reuse:
    """Find the intervals of a legal schedule, and measure their captured bytes."""
    line = view.timeline
    access = np.flatnonzero((line.next >= 0) & line.live_after)
    tensor, begin, end = line.tensor[access], line.step[access], line.step[line.next[access]]
    first, last = view.rows.last(tensor, begin), view.rows.last(tensor, end)
    captured = least_resident(view.schedule.residency, first, last, begin, end)
    return Reuse(access=access, captured_bytes=captured)


def least_resident(table: Residency, first: Ints, last: Ints, begin: Ints, end: Ints) -> Ints:
    """Return the fewest resident bytes of a tensor in steps begin to end, both included, per pair.

    ``first`` and ``last`` are the rows with the latest begin at or before these steps, or -1.
    """
    result = np.zeros(begin.size, np.int64)
    held = np.flatnonzero(first >= 0)
    low, high = first[held], last[held]
    # The first row may have ended before the interval, the last one within it.
    through = (table.end[low] > begin[held]) & (table.end[high] > end[held])
    through &= _unbroken(table, low, high)
    held, low, high = held[through], low[through], high[through]
    # ``reduceat`` takes pairs of edges; every second result is of the gap between two pairs.
    edges = np.stack((low, high + 1), axis=1).ravel()
    result[held] = np.minimum.reduceat(np.append(table.size_bytes, 0), edges)[::2]
    return result


def _unbroken(table: Residency, low: Ints, high: Ints) -> Bools:
    """Return whether rows low to high of one tensor follow each other without a step between."""
    breaks = np.zeros(len(table) + 1, np.int64)
    breaks[1:-1] = np.cumsum(table.end[:-1] != table.begin[1:])
    unbroken: Bools = breaks[high] == breaks[low]
    return unbroken
