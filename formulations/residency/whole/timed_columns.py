"""Columns of the compact program that whole-tensor schedules need."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.dual import MovePrices
from formulations.residency.bound.prices import CostCoefficients, Multipliers
from formulations.residency.bound.rangemin import RangeMinimum, StepRanges
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import (
    AT_ACCESS,
    ColumnKind,
    PathColumns,
    exists,
    in_interval,
    of_kind,
)
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

HELD = (ColumnKind.HOLD_DIRTY, ColumnKind.HOLD_CLEAN, ColumnKind.CLEAN)


def nearby(
    intervals: RankedIntervals, coefficients: CostCoefficients, prices: Multipliers, depth: int
) -> PathColumns:
    """Everything at accesses, and in each interval the cheapest steps for a load and a store.

    Each level of ``depth`` adds the cheapest steps to the left and right of those before.
    """
    step_prices = MovePrices.of(coefficients, prices)
    parts = [of_kind(kind, np.flatnonzero(exists(intervals, kind))) for kind in AT_ACCESS]
    for kind, table in in_interval(step_prices):
        at = np.flatnonzero(exists(intervals, kind) & (intervals.begin < intervals.step))
        parts.append(
            _best(table, of_kind(kind, at, intervals.begin[at]), intervals.step[at], depth)
        )
    final = of_kind(ColumnKind.FINAL, intervals.last, intervals.step[intervals.last] + 1)
    end = np.full_like(final.step, intervals.steps)
    parts.append(_best(step_prices.drops, final, end, depth))
    read = np.flatnonzero(intervals.dirty & (intervals.kind == Access.READ))
    parts.append(of_kind(ColumnKind.CLEAN, read, intervals.step[read]))
    return PathColumns.together(*parts).union(PathColumns.empty(), intervals.steps)


def _best(table: RangeMinimum, interval: PathColumns, end: Ints, depth: int) -> PathColumns:
    """The columns of ``interval`` (at its first steps) at its cheapest steps before ``end``."""
    kind, access, begin = interval.kind, interval.access, interval.step
    parts = [PathColumns.empty()]
    for _ in range(depth):
        some = begin < end
        kind, access, begin, end = kind[some], access[some], begin[some], end[some]
        step = table.argmin(StepRanges.of(begin, end))
        parts.append(PathColumns(kind=kind, access=access, step=step))
        kind, access = np.concatenate((kind, kind)), np.concatenate((access, access))
        begin, end = np.concatenate((begin, step + 1)), np.concatenate((step, end))
    return PathColumns.together(*parts)


def allowed(
    intervals: RankedIntervals, columns: PathColumns, resident: Bools, kept: Bools
) -> Bools:
    """(c,) Columns that choices leave open; ``resident`` and ``kept`` are as ``intervals``."""
    kind, access = columns.kind, columns.access
    here, held = resident[access], kept[access]
    before = intervals.previous[access]
    was = (before >= 0) & resident[before]
    rules = (
        (ColumnKind.STREAM, ~here),
        (ColumnKind.WRITE_THROUGH, here),
        (ColumnKind.FINAL, here),
        (ColumnKind.LOAD, here & ~held),
        (ColumnKind.LOAD_HERE, here & ~held),
        (ColumnKind.DROP, was & ~held),
        *((one, held) for one in HELD),
    )
    result = np.zeros(kind.size, bool)
    for one, rule in rules:
        result |= (kind == one) & rule
    return result
