"""Keep what fits, the most useful first: a start, a repair, and the way for huge instances."""

from __future__ import annotations

import numpy as np

from formulations.residency.whole.choices import Choices
from formulations.residency.whole.intervals import PagedIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Bools


def repaired(uses: PagedIntervals, choices: Choices, keep: Floats) -> Choices:
    """Give up intervals, those of least ``keep`` (a,) first, until everything fits."""
    free = uses.capacity_pages - uses.pages_of(choices.kept, choices.resident)
    if (free >= 0).all():
        return choices
    kept, resident = choices.kept.copy(), choices.resident.copy()
    single = resident & ~kept & ~_after(kept) & ~uses.stationary
    for use in np.flatnonzero(single & (free[uses.step] < 0)).tolist():
        resident[use] = False
        free[uses.step[use]] += uses.pages[use]
    step, pages, fixed = uses.step.tolist(), uses.pages.tolist(), uses.stationary.tolist()
    interval = np.flatnonzero(kept)
    for use in interval[np.argsort(keep[interval], kind="stable")].tolist():
        if free[step[use - 1] : step[use] + 1].min() >= 0:
            continue
        kept[use] = False
        free[step[use - 1] + 1 : step[use]] += pages[use]
        for end in (use - 1, use):
            held_before = kept[end]
            held_after = end + 1 < kept.size and kept[end + 1]
            if resident[end] and not (held_before or held_after or fixed[end]):
                resident[end] = False
                free[step[end]] += pages[end]
    return Choices.of(uses, resident, kept)


def filled(uses: PagedIntervals, choices: Choices, keep: Floats, enter: Floats) -> Choices:
    """Keep further intervals where they fit, those of largest ``keep`` (a,) > 0 first.

    Then have tensors resident at single accesses where they fit, by ``enter`` (a,) > 0.
    """
    free = uses.capacity_pages - uses.pages_of(choices.kept, choices.resident)
    kept, resident = choices.kept.copy(), choices.resident.copy()
    step, pages = uses.step.tolist(), uses.pages.tolist()
    for use in _ranked(keep, uses.crossed & ~kept):
        need, first, last = pages[use], step[use - 1], step[use]
        ends = [end for end in (use - 1, use) if not resident[end]]
        if any(free[step[end]] < need for end in ends):
            continue
        if first + 1 < last and free[first + 1 : last].min() < need:
            continue
        free[first + 1 : last] -= need
        for end in ends:
            free[step[end]] -= need
            resident[end] = True
        kept[use] = True
    for use in _ranked(enter, ~resident):
        if free[step[use]] >= pages[use]:
            free[step[use]] -= pages[use]
            resident[use] = True
    return Choices.of(uses, resident, kept)


def _ranked(priority: Floats, where: Bools) -> list[int]:
    """Accesses of positive priority, the highest first."""
    at = np.flatnonzero(where & (priority > 0))
    ranked: list[int] = at[np.argsort(-priority[at], kind="stable")].tolist()
    return ranked


def _after(kept: Bools) -> Bools:
    return np.append(kept[1:], False)
