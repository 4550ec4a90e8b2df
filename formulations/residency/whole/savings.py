"""What residency saves, in bytes over the channel at their prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.byte_prices import BytePrices
from formulations.residency.whole.intervals import PagedIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Savings:
    """Roughly: ``keep`` (a,) of each interval per page and step, ``enter`` (a,) per page.

    ``enter`` is what being resident at an access saves beside keeping intervals.
    """

    keep: Floats
    enter: Floats


def byte_prices(uses: PagedIntervals, prices: BytePrices) -> tuple[Ints, Ints, Ints]:
    """Price (a,) not to be resident, to come back after an interval, and to be stored.

    With ``p`` passes a reader pays ``p s`` streamed, ``s`` loaded and nothing kept: being
    absent costs ``(p - 1) s`` on top of coming back. A result that is streamed pays ``p s`` out
    and ``(p - 1) s`` in, against one store.
    """
    written = ~uses.read & uses.live_after
    needed = uses.live | uses.live_after
    extra = (uses.passes - 1) * uses.size_bytes
    absent = extra * (prices.into * needed + prices.out * written)
    back = uses.live * uses.size_bytes * prices.into
    return np.where(uses.stationary, 0, absent), back, written * uses.size_bytes * prices.out


def savings(uses: PagedIntervals, prices: BytePrices) -> Savings:
    """Rank intervals and accesses; a version's intervals share the price of its store."""
    absent, back, store_price = byte_prices(uses, prices)
    version = np.concatenate(([-1], uses.version))[:-1]
    mine = uses.crossed & (version >= 0)
    intervals = np.bincount(version[mine], minlength=uses.step.size)
    final = np.zeros(uses.step.size, bool)
    final[uses.version[uses.final]] = True
    shared = np.where(final, 0, store_price / np.maximum(intervals, 1))
    saved = np.where(uses.crossed, back, 0) + np.where(mine, shared[version], 0)
    length = uses.step - np.concatenate(([0], uses.step[:-1]))
    return Savings(keep=saved / (uses.pages * np.maximum(length, 1)), enter=absent / uses.pages)
