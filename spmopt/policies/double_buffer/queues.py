"""Transfers in queues beside the computation, cut where its steps end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.transfers.idle import Pieces

Times = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Clock:
    """Compute time since the start, in cycles: (n + 1,) when each step begins, and the end."""

    begin: Times

    @classmethod
    def of(cls, timeline: Timeline) -> Self:
        """Steps that compute and never wait."""
        return cls(begin=np.append(0.0, np.cumsum(timeline.compute_cycles, dtype=np.float64)))

    def cut(self, queued: Queued) -> Pieces:
        """Pages of each transfer by steps, in proportion to its time; the last step has the rest.

        Rounded pages and computation that waits change when bytes move, never how many.
        """
        end = self.begin[1:]
        low = np.clip(np.searchsorted(end, queued.start, "right"), queued.first, queued.last)
        high = np.clip(np.searchsorted(end, queued.stop, "left"), low, queued.last)
        count = high - low + 1
        item = np.repeat(np.arange(low.size), count)
        step = np.arange(item.size) - np.repeat(np.cumsum(count) - count, count) + low[item]
        length = np.maximum(queued.stop - queued.start, np.finfo(float).tiny)
        share = np.clip((end[step] - queued.start[item]) / length[item], 0, 1)
        pages = queued.pages[item]
        done = np.minimum(np.floor(share * pages).astype(np.int64), pages)
        done = np.where(step == high[item], pages, done)
        moved = np.diff(done, prepend=0)
        heads = np.cumsum(count) - count
        moved[heads] = done[heads]
        some = np.flatnonzero(moved)
        return Pieces(item=item[some], step=step[some], pages=moved[some])


@dataclass(frozen=True, kw_only=True, eq=False)
class Queued:
    """Columns over transfers: the pages that move, when, and in which steps at most.

    ``start`` and ``stop`` are times of a :class:`Clock`; of what lies before step ``first`` or
    after step ``last``, these two steps take the bytes.
    """

    pages: Ints
    start: Times
    stop: Times
    first: Ints
    last: Ints


def evenly(cycles: Ints, window: Ints, begin: Times) -> tuple[Times, Times]:
    """Start and stop of transfers that follow one another, a queue for each batch.

    Each queue takes exactly as long as its batch computes, however long its transfers are: in
    every step of the batch transfers and computation then have the same ratio.

    Parameters
    ----------
    cycles, window : (k,)
        Of the transfers, in the order of the queues, by batch.
    begin : (g + 1,)
        When each batch begins, and when the last one ends.
    """
    stop = np.cumsum(cycles, dtype=np.float64)
    total = np.bincount(window, cycles, begin.size - 1)
    before = (np.cumsum(total) - total)[window]
    ratio = np.diff(begin)[window] / np.maximum(total[window], 1)
    start = begin[window] + (stop - cycles - before) * ratio
    return start, start + cycles * ratio


def late(cycles: Ints, due: Times) -> tuple[Times, Times]:
    """Start and stop of transfers, one at a time, each as late as possible; ``due`` increases."""
    total = np.cumsum(cycles, dtype=np.float64)
    slack = np.minimum.accumulate((due - total)[::-1])[::-1]
    return slack + total - cycles, slack + total


def soon(cycles: Ints, ready: Times) -> tuple[Times, Times]:
    """Start and stop of transfers, one at a time, as soon as possible; ``ready`` increases."""
    total = np.cumsum(cycles, dtype=np.float64)
    delay = np.maximum.accumulate(ready - (total - cycles))
    return delay + total - cycles, delay + total
