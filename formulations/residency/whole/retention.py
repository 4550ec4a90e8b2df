"""Decisions of a whole-tensor schedule: where a tensor is resident, through which intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.whole.intervals import PagedIntervals
from formulations.reuse_intervals import residency_of, stores_of
from formulations.solver.program import Floats
from spmopt.assemble.index import row_at
from spmopt.core.schedule import Residency, ResidencyPlan
from spmopt.core.table import Bools, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Retention:
    """``resident`` (a,) in the access's step, ``kept`` (a,) through the interval before it."""

    resident: Bools
    kept: Bools

    @staticmethod
    def of(uses: PagedIntervals, resident: Bools, kept: Bools) -> Retention:
        """Make the two consistent: kept means resident at both ends.

        A tensor that is resident in two steps in a row has been kept.
        """
        resident = resident | uses.required_resident
        before = np.concatenate(([False], resident[:-1]))
        neighbors = np.concatenate(([False], uses.step[1:] == uses.step[:-1] + 1))
        kept = uses.between_uses & resident & before & (kept | neighbors)
        return Retention(resident=resident, kept=kept)

    @staticmethod
    def nothing(uses: PagedIntervals) -> Retention:
        """Have only required tensors resident."""
        return Retention.of(uses, *np.zeros((2, uses.step.size), bool))

    @staticmethod
    def of_residency_plan(uses: PagedIntervals, residency_plan: ResidencyPlan) -> Retention:
        """Return the tensors that a plan in the same order has resident, and keeps, in full."""
        row = residency_plan.residency
        if not len(row):
            return Retention.nothing(uses)
        at = row_at(row, uses.step, uses.tensor)
        resident = (at >= 0) & (row.size_bytes[at] == uses.size_bytes)
        alike = row.size_bytes[1:] == row.size_bytes[:-1]
        stretch = np.concatenate(([0], np.cumsum(~(_join(row) & alike))))[at]
        kept = np.concatenate(([False], stretch[1:] == stretch[:-1]))
        return Retention.of(uses, resident, kept)

    def free_pages(self, uses: PagedIntervals) -> Ints:
        """Return (n,) the pages left in every step; negative where not everything fits."""
        return uses.capacity_pages - uses.pages_of(self.kept, self.resident)

    def fits(self, uses: PagedIntervals) -> bool:
        """Return whether everything fits in every step."""
        return bool((self.free_pages(uses) >= 0).all())

    def drop(self, uses: PagedIntervals) -> Bools:
        """Return (a,) writing accesses whose version must be in DRAM later on."""
        interval = np.flatnonzero(uses.between_uses & ~self.kept)
        version = uses.version[interval - 1]
        result = np.zeros(uses.step.size, bool)
        result[version[version >= 0]] = True
        result[uses.version[uses.final]] = True
        return result


def residency_plan_of(uses: PagedIntervals, chosen: Retention) -> ResidencyPlan:
    """Load in the step of the use, store in the step of the write."""
    held, here = np.flatnonzero(chosen.kept), np.flatnonzero(chosen.resident)
    stored = np.flatnonzero(chosen.drop(uses) & chosen.resident)
    pieces = np.concatenate((here, held))
    return ResidencyPlan(
        steps=uses.line.chosen,
        residency=residency_of(
            uses.steps,
            uses.tensor[pieces],
            np.concatenate((uses.step[here], uses.begin[held])),
            np.concatenate((uses.step[here] + 1, uses.step[held])),
            uses.size_bytes[pieces],
        ),
        stores=stores_of(uses.step[stored], uses.tensor[stored], uses.size_bytes[stored]),
    )


def repair(uses: PagedIntervals, chosen: Retention, keep: Floats) -> Retention:
    """Give up intervals, those of least ``keep`` (a,) first, until everything fits."""
    free = chosen.free_pages(uses)
    if (free >= 0).all():
        return chosen
    kept, resident = chosen.kept.copy(), chosen.resident.copy()
    single = resident & ~kept & ~np.append(kept[1:], False) & ~uses.required_resident
    for use in np.flatnonzero(single & (free[uses.step] < 0)).tolist():
        resident[use] = False
        free[uses.step[use]] += uses.pages[use]
    step, pages, fixed = uses.step.tolist(), uses.pages.tolist(), uses.required_resident.tolist()
    interval = np.flatnonzero(kept)
    for use in interval[np.argsort(keep[interval], kind="stable")].tolist():
        if free[step[use - 1] : step[use] + 1].min() >= 0:
            continue
        kept[use] = False
        free[step[use - 1] + 1 : step[use]] += pages[use]
        for end in (use - 1, use):
            if resident[end] and not (kept[end : end + 2].any() or fixed[end]):
                resident[end] = False
                free[step[end]] += pages[end]
    return Retention.of(uses, resident, kept)


def fill(uses: PagedIntervals, chosen: Retention, keep: Floats, enter: Floats) -> Retention:
    """Keep further intervals where they fit, those of largest ``keep`` (a,) > 0 first.

    Then have tensors resident at single accesses where they fit, by ``enter`` (a,) > 0.
    """
    free = chosen.free_pages(uses)
    kept, resident = chosen.kept.copy(), chosen.resident.copy()
    step, pages = uses.step.tolist(), uses.pages.tolist()
    for use in _rank(keep, uses.between_uses & ~kept):
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
    for use in _rank(enter, ~resident):
        if free[step[use]] >= pages[use]:
            free[step[use]] -= pages[use]
            resident[use] = True
    return Retention.of(uses, resident, kept)


def _rank(priority: Floats, where: Bools) -> list[int]:
    """Return the accesses of positive priority, the highest first."""
    at = np.flatnonzero(where & (priority > 0))
    ranked: list[int] = at[np.argsort(-priority[at], kind="stable")].tolist()
    return ranked


def is_kept_whole(uses: PagedIntervals, residency_plan: ResidencyPlan) -> bool:
    """Return whether a residency plan is of the class ``KEPT_WHOLE``; one in another order is not.

    At a use all of a tensor is resident, or nothing; where bytes of it are resident in all steps
    from one use to the next, all are, in each of them.
    """
    row = residency_plan.residency
    if not np.array_equal(residency_plan.steps.operation, uses.line.order):
        return False
    if not len(row):
        return True
    full = row.size_bytes == uses.line.size_bytes[row.tensor]
    at = row_at(row, uses.step, uses.tensor)
    if not full[at[at >= 0]].all():
        return False
    stretch, partial = np.concatenate(([0], np.cumsum(~_join(row)))), np.cumsum(~full)
    last = np.flatnonzero(uses.previous >= 0)
    first, last = at[uses.previous[last]], at[last]
    through = (first >= 0) & (last >= 0) & (stretch[first] == stretch[last])
    return bool((partial[first] == partial[last])[through].all())


def _join(row: Residency) -> Bools:
    """(r - 1,) Rows of residency that go on where the one before ends."""
    found: Bools = (row.tensor[1:] == row.tensor[:-1]) & (row.end[:-1] == row.begin[1:])
    return found
