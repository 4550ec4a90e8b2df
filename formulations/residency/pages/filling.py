"""Round stretches of residency up where rounding down left pages free."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import Profiles
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints


def raised_rows(
    intervals: RankedIntervals,
    profile: Profiles,
    pages: tuple[Ints, Ints],
    dma_price: Floats,
    free: Ints,
) -> Bools:
    """(k,) Rows of the profile to raise from the first to the second of ``pages``.

    ``free`` (n,) pages are at hand, and are used up; ``dma_price`` (n,) is the price of a DMA byte.

    A stretch is a run of rows in which a tensor keeps some bytes resident. It rises as a
    whole or not at all: half a stretch would load a page for nothing.
    """
    low, high = pages
    extra = high - low
    stretch = _stretches(profile, high)
    until = np.append(profile.step[1:], 0)
    served = profile.access >= 0
    saved = np.where(
        served,
        intervals.passes[profile.access] * dma_price[np.minimum(profile.step, dma_price.size - 1)],
        0,
    )
    count = int(stretch.max(initial=-1)) + 1
    rows = np.flatnonzero((stretch >= 0) & (extra > 0))
    gain = np.bincount(stretch[rows], (saved * extra)[rows], count)
    cost = np.bincount(stretch[rows], ((until - profile.step) * extra)[rows], count)
    first = np.searchsorted(stretch[rows], np.arange(count), "left")
    last = np.searchsorted(stretch[rows], np.arange(count), "right")
    spans = list(
        zip(
            profile.step[rows].tolist(),
            until[rows].tolist(),
            extra[rows].tolist(),
            strict=True,
        )
    )
    chosen = np.zeros(count, bool)
    candidates = np.flatnonzero((gain > 0) & (last > first))
    for k in candidates[np.argsort(-gain[candidates] / cost[candidates], kind="stable")].tolist():
        mine = spans[first[k] : last[k]]
        if all(free[begin:end].min() >= need for begin, end, need in mine):
            for begin, end, need in mine:
                free[begin:end] -= need
            chosen[k] = True
    raised = stretch >= 0
    raised[raised] = chosen[stretch[raised]]
    return raised


def _stretches(profile: Profiles, pages: Ints) -> Ints:
    """(k,) Number of the stretch of each row, growing; -1 where nothing is resident."""
    held = pages > 0
    starts = held.copy()
    starts[1:] &= ~(held[:-1] & (profile.tensor[1:] == profile.tensor[:-1]))
    number = np.cumsum(starts) - 1
    return np.where(held, number, -1)
