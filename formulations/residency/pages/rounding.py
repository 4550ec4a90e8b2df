"""From bytes of columns to a legal residency plan in whole pages.

The columns of a tensor add up to two profiles over the steps: ``r``, resident bytes, and
``d``, dirty bytes (``s - Z``), with ``d <= r`` while the tensor is live. Rounding both down to
pages keeps that, never raises occupancy, and keeps rises rises and falls falls: the loads and
stores of the residency plan are the differences of the rounded profiles. Dirty bytes are the lower
ones, so that loaded bytes lie in the suffix that DRAM holds.
"""

from __future__ import annotations

import numpy as np

from formulations.residency.pages.profiles import Profiles
from formulations.reuse_intervals import residency_of, stores_of
from formulations.solver.program import Floats
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.table import Bools, Ints

# Not at all, then by a power of ten from the solver's tolerance on: most solutions fit as they are.
_SHRINK = (0.0, *(10.0**power for power in range(-6, 0)))
# The program leaves some of the scratchpad free for its tolerance: whole tensors lack as much.
_NEARLY_WHOLE = 1e-5
_NOISE = 1e-6


def to_residency_plan(
    profile: Profiles, dma_dual: Floats, *, page_bytes: int, capacity_pages: Ints
) -> ResidencyPlan | None:
    """Round to pages; None if even a shrunken profile does not fit.

    Everything is rounded down, then stretches of residency up while pages are free: those
    first that save most DMA per page, ``dma_dual`` (n,) being the dual value of a byte in each
    step. Where the program's solution is slightly over the capacity (it was solved to a tolerance),
    everything but required-resident operands shrinks by a small fraction.
    """
    for shrink in _SHRINK:
        low = _round(profile, page_bytes, shrink, up=False)
        free = capacity_pages - _occupy(profile, low[0], page_bytes, capacity_pages.size)
        if (free >= 0).all():
            high = _round(profile, page_bytes, shrink, up=True)
            pages = (-(-low[0] // page_bytes), -(-high[0] // page_bytes))
            raised = raise_rows(profile, pages, dma_dual, free)
            resident = np.where(raised, high[0], low[0])
            dirty = _settle(profile, np.where(raised, high[1], low[1]), resident)
            return ResidencyPlan(
                steps=profile.intervals.line.chosen,
                residency=_rows(profile, resident),
                stores=_stores(profile, resident, dirty),
            )
    return None


def _round(profile: Profiles, page_bytes: int, shrink: float, *, up: bool) -> tuple[Ints, Ints]:
    """Return the resident and dirty bytes in whole pages; nearly whole tensors become whole."""
    size = profile.size_bytes

    def to_pages(amount: Floats) -> Ints:
        whole = amount >= size * (1 - _NEARLY_WHOLE) - 0.5
        # So much shrunk, tensors that were whole may no longer fit whole.
        if shrink > 1e-3:
            whole &= False
        exact = np.maximum(amount, 0.0) * (1 - shrink) / page_bytes
        pages = np.ceil(exact - _NOISE) if up else np.floor(exact + _NOISE)
        return np.where(whole, size, np.minimum(pages.astype(np.int64) * page_bytes, size))

    resident = np.where(profile.fixed, size, to_pages(profile.resident))
    return resident, to_pages(profile.dirty)


def _occupy(profile: Profiles, resident: Ints, page_bytes: int, steps: int) -> Ints:
    """Return (n,) the pages in use."""
    pages = -(-resident // page_bytes)
    before = np.concatenate(([0], pages[:-1]))
    # The first row of each tensor follows nothing.
    before[np.concatenate(([True], profile.tensor[1:] != profile.tensor[:-1]))] = 0
    change = np.bincount(profile.step, pages - before, steps + 2)
    return np.rint(np.cumsum(change)[:steps]).astype(np.int64)


def _settle(profile: Profiles, dirty: Ints, resident: Ints) -> Ints:
    """Return the dirty bytes: at most the resident ones, never growing within a version."""
    # R5: a dirty byte is resident.
    dirty = np.minimum(dirty, resident)
    same = np.concatenate(([False], profile.version[1:] == profile.version[:-1]))
    same &= np.concatenate(([False], profile.tensor[1:] == profile.tensor[:-1]))
    # A new version is dirty at most where its writer left it resident.
    fresh = ~same
    dirty[1:] = np.where(fresh[1:], np.minimum(dirty[1:], resident[:-1]), dirty[1:])
    segment = np.cumsum(fresh)
    big = int(profile.size_bytes.max(initial=0)) + 1
    # A running minimum within each version: large steps down between versions keep them apart.
    lowest: Ints = np.minimum.accumulate(dirty - segment * big) + segment * big
    return lowest


def _rows(profile: Profiles, resident: Ints) -> Residency:
    steps = profile.intervals.steps
    some = (resident > 0) & (profile.step < steps)
    # A tensor's final row holds nothing, so the next row's step ends each row that matters.
    end = np.minimum(np.append(profile.step[1:], steps), steps)
    return residency_of(steps, profile.tensor[some], profile.step[some], end[some], resident[some])


def _stores(profile: Profiles, resident: Ints, dirty: Ints) -> Stores:
    """Return bytes that are dirty before a step (or written in it), and no longer after it."""
    at, tensor = profile.access[:-1], profile.tensor
    amount = np.where(profile.written, resident, dirty)[:-1] - dirty[1:]
    dead = (at >= 0) & profile.intervals.dead[at]
    some = (tensor[:-1] == tensor[1:]) & (amount > 0) & ~dead
    return stores_of(profile.step[1:][some] - 1, tensor[:-1][some], amount[some])


def raise_rows(profile: Profiles, pages: tuple[Ints, Ints], dma_dual: Floats, free: Ints) -> Bools:
    """Return (k,) the rows of the profile to raise from the first to the second of ``pages``.

    ``free`` (n,) pages are at hand, and are used up; ``dma_dual`` (n,) is the dual value of a DMA
    byte.

    A stretch is a run of rows in which a tensor keeps some bytes resident. It rises as a
    whole or not at all: half a stretch would load a page for nothing.
    """
    low, high = pages
    extra = high - low
    stretch = _stretches(profile, high)
    until = np.append(profile.step[1:], 0)
    fetches = (profile.intervals.fetches * profile.intervals.ratio)[profile.access]
    dual = dma_dual[np.minimum(profile.step, dma_dual.size - 1)]
    saved = np.where(profile.access >= 0, fetches * dual, 0)
    count = int(stretch.max(initial=-1)) + 1
    rows = np.flatnonzero((stretch >= 0) & (extra > 0))
    gain = np.bincount(stretch[rows], (saved * extra)[rows], count)
    cost = np.bincount(stretch[rows], ((until - profile.step) * extra)[rows], count)
    first = np.searchsorted(stretch[rows], np.arange(count), "left")
    last = np.searchsorted(stretch[rows], np.arange(count), "right")
    columns = (profile.step[rows], until[rows], extra[rows])
    spans = list(zip(*(column.tolist() for column in columns), strict=True))
    chosen = np.zeros(count, bool)
    candidates = np.flatnonzero((gain > 0) & (last > first))
    # Greedy by saving per page and step, as for a knapsack.
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
    """Return (k,) the number of the stretch of each row, growing; -1 where nothing is resident."""
    held = pages > 0
    starts = held.copy()
    starts[1:] &= ~(held[:-1] & (profile.tensor[1:] == profile.tensor[:-1]))
    number = np.cumsum(starts) - 1
    return np.where(held, number, -1)
