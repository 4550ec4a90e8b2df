"""Columns of the compact program that whole-tensor schedules need."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.dual import StepPrices
from formulations.residency.bound.prices import CostCoefficients, Multipliers
from formulations.residency.bound.rangemin import RangeMinimum, Ranges
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import (
    AT_ACCESS,
    Columns,
    Kind,
    exists,
    in_interval,
    of_kind,
)
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

HELD = (Kind.HOLD_DIRTY, Kind.HOLD_CLEAN, Kind.CLEAN)


def nearby(
    intervals: RankedIntervals, coefficients: CostCoefficients, prices: Multipliers, depth: int
) -> Columns:
    """Everything at accesses, and in each gap the cheapest steps for a load and a store.

    Each level of ``depth`` adds the cheapest steps to the left and right of those before.
    """
    step_prices = StepPrices.of(coefficients, prices)
    parts = [of_kind(kind, np.flatnonzero(exists(intervals, kind))) for kind in AT_ACCESS]
    for kind, table in in_interval(step_prices):
        at = np.flatnonzero(exists(intervals, kind) & (intervals.begin < intervals.step))
        parts.append(
            _best(table, of_kind(kind, at, intervals.begin[at]), intervals.step[at], depth)
        )
    final = of_kind(Kind.FINAL, intervals.last, intervals.step[intervals.last] + 1)
    end = np.full_like(final.step, intervals.steps)
    parts.append(_best(step_prices.drops, final, end, depth))
    read = np.flatnonzero(intervals.dirty & (intervals.kind == Access.READ))
    parts.append(of_kind(Kind.CLEAN, read, intervals.step[read]))
    return Columns.together(*parts).union(Columns.empty(), intervals.steps)


def _best(table: RangeMinimum, gap: Columns, end: Ints, depth: int) -> Columns:
    """The columns of ``gap`` (at its first steps) at its cheapest steps before ``end``."""
    kind, access, begin = gap.kind, gap.access, gap.step
    parts = [Columns.empty()]
    for _ in range(depth):
        some = begin < end
        kind, access, begin, end = kind[some], access[some], begin[some], end[some]
        step = table.argmin(Ranges.of(begin, end))
        parts.append(Columns(kind=kind, access=access, step=step))
        kind, access = np.concatenate((kind, kind)), np.concatenate((access, access))
        begin, end = np.concatenate((begin, step + 1)), np.concatenate((step, end))
    return Columns.together(*parts)


def allowed(intervals: RankedIntervals, columns: Columns, resident: Bools, kept: Bools) -> Bools:
    """(c,) Columns that choices leave open; ``resident`` and ``kept``: in ``intervals``' order."""
    kind, access = columns.kind, columns.access
    here, held = resident[access], kept[access]
    before = intervals.previous[access]
    was = (before >= 0) & resident[before]
    rules = (
        (Kind.STREAM, ~here),
        (Kind.WRITE_THROUGH, here),
        (Kind.FINAL, here),
        (Kind.LOAD, here & ~held),
        (Kind.LOAD_HERE, here & ~held),
        (Kind.DROP, was & ~held),
        *((one, held) for one in HELD),
    )
    result = np.zeros(kind.size, bool)
    for one, rule in rules:
        result |= (kind == one) & rule
    return result
