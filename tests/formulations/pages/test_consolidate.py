"""Consolidated transfers keep what each step moves, what each gap moves, and every deadline."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.consolidate import consolidate
from formulations.residency.program.columns import ColumnKind, PathColumns, existing, of_kind
from formulations.solver.program import Floats
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, timeline_in_order
from tests.strategies import random_problem
from tests.thorough import some


def _random_transfers(intervals: RankedIntervals, seed: int) -> tuple[PathColumns, Floats]:
    """Pieces of loads, drops and stores at random steps of their intervals."""
    random = np.random.default_rng(seed)
    parts = []
    for kind in (ColumnKind.LOAD, ColumnKind.DROP, ColumnKind.CLEAN):
        inner = np.flatnonzero(existing(intervals)[kind] & (intervals.begin < intervals.step))
        access = np.repeat(inner, random.integers(0, 4, inner.size))
        spread = random.random(access.size) * (intervals.step - intervals.begin)[access]
        parts.append(of_kind(kind, access, intervals.begin[access] + spread.astype(np.int64)))
    here = np.flatnonzero(existing(intervals)[ColumnKind.LOAD_HERE])
    parts.append(of_kind(ColumnKind.LOAD_HERE, here))
    columns = PathColumns.together(*parts)
    return columns, random.random(len(columns)) * 90 + 10


def _steps(intervals: RankedIntervals, columns: PathColumns) -> Ints:
    return np.where(
        columns.kind == ColumnKind.LOAD_HERE, intervals.step[columns.access], columns.step
    )


def _summed(
    columns: PathColumns, by: Ints, amounts: Floats, kinds: tuple[ColumnKind, ...]
) -> Floats:
    chosen = np.isin(columns.kind, kinds)
    total: Floats = np.bincount(by[chosen], amounts[chosen], 1000).astype(np.float64)
    return total


@pytest.mark.parametrize("seed", some(range(40)))
def test_steps_and_gaps_move_the_same_bytes(seed: int) -> None:
    line = timeline_in_order(random_problem(seed, max_operations=14, max_tensors=9))
    intervals = RankedIntervals(line)
    columns, amounts = _random_transfers(intervals, seed)
    after, sizes = consolidate(intervals, columns, amounts)
    for kinds in ((ColumnKind.LOAD, ColumnKind.LOAD_HERE), (ColumnKind.DROP,), (ColumnKind.CLEAN,)):
        by_step = _summed(columns, _steps(intervals, columns), amounts, kinds)
        assert _summed(after, _steps(intervals, after), sizes, kinds) == pytest.approx(
            by_step, abs=3
        )
        by_gap = _summed(columns, columns.access, amounts, kinds)
        assert _summed(after, after.access, sizes, kinds) == pytest.approx(by_gap, abs=0.5)
    step, end = _steps(intervals, after), intervals.step[after.access]
    read = intervals.kind[after.access] == Access.READ
    may_end = np.where(after.kind == ColumnKind.LOAD_HERE, end, end - 1)
    may_end = np.where((after.kind == ColumnKind.CLEAN) & read, end, may_end)
    assert (step >= intervals.begin[after.access]).all()
    assert (step <= may_end).all()
    assert len(after) <= len(columns)
