"""Columns of the compact program that whole-tensor schedules need."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.dual import step_prices
from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.prices import Economy, Multipliers
from formulations.residency.bound.rangemin import RangeMinimum, Ranges
from formulations.residency.program.columns import Columns, Kind, exists, of_kind
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

HELD = (Kind.HOLD_DIRTY, Kind.HOLD_CLEAN, Kind.CLEAN)
_AT_ACCESS = (
    Kind.HOLD_DIRTY,
    Kind.HOLD_CLEAN,
    Kind.STREAM,
    Kind.LOAD_HERE,
    Kind.WRITE_THROUGH,
)


def nearby(gaps: Gaps, economy: Economy, prices: Multipliers, depth: int) -> Columns:
    """Everything at accesses, and in each gap the cheapest steps for a load and a store.

    Each level of ``depth`` adds the cheapest steps to the left and right of those before.
    """
    into, out, held = step_prices(economy, prices)
    upto = np.concatenate(([0.0], np.cumsum(held)))
    parts = [of_kind(kind, np.flatnonzero(exists(gaps, kind))) for kind in _AT_ACCESS]
    drops = RangeMinimum(out + upto[1:])
    tables = {
        Kind.LOAD: RangeMinimum(into - upto[:-1]),
        Kind.DROP: drops,
        Kind.CLEAN: RangeMinimum(out),
    }
    for kind, table in tables.items():
        at = np.flatnonzero(exists(gaps, kind) & (gaps.begin < gaps.step))
        parts.append(_best(table, of_kind(kind, at, gaps.begin[at]), gaps.step[at], depth))
    final = of_kind(Kind.FINAL, gaps.last, gaps.step[gaps.last] + 1)
    parts.append(_best(drops, final, np.full_like(final.step, gaps.steps), depth))
    read = np.flatnonzero(gaps.dirty & (gaps.kind == Access.READ))
    parts.append(of_kind(Kind.CLEAN, read, gaps.step[read]))
    return Columns.together(*parts).union(Columns.empty(), gaps.steps)


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


def allowed(gaps: Gaps, columns: Columns, resident: Bools, kept: Bools) -> Bools:
    """(c,) Columns that choices leave open; ``resident`` and ``kept`` are in ``gaps``' order."""
    kind, access = columns.kind, columns.access
    here, held = resident[access], kept[access]
    before = gaps.previous[access]
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
