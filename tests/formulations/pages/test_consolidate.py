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


def test_two_interleaved_loads_become_two_whole_ones() -> None:
    line = timeline_in_order(random_problem(3, max_operations=14, max_tensors=9))
    intervals = RankedIntervals(line)
    long = (
        existing(intervals)[ColumnKind.LOAD]
        & (intervals.step - intervals.begin >= 2)
        & (intervals.begin == 0)
    )
    first, second = np.flatnonzero(long)[np.argsort(intervals.step[long])][:2].tolist()
    access = np.array([first, first, second, second])
    columns = of_kind(ColumnKind.LOAD, access, np.array([0, 1, 0, 1]))
    after, sizes = consolidate(intervals, columns, np.full(4, 100.0))
    pieces = sorted(zip(after.access.tolist(), after.step.tolist(), sizes.tolist(), strict=True))
    assert pieces == sorted([(first, 0, 200.0), (second, 1, 200.0)])


def test_a_gap_whose_bytes_return_before_others_left_is_not_touched() -> None:
    for seed in some(range(200)):
        intervals = RankedIntervals(timeline_in_order(random_problem(seed, max_operations=14)))
        both = np.flatnonzero(
            existing(intervals)[ColumnKind.DROP] & (intervals.step - intervals.begin >= 2)
        )
        if both.size:
            break
    at = both[:1]
    begin = intervals.begin[at]
    columns = PathColumns.together(
        of_kind(ColumnKind.LOAD, at, begin), of_kind(ColumnKind.DROP, at, begin + 1)
    )
    after, sizes = consolidate(intervals, columns, np.array([50.0, 60.0]))
    assert after == columns
    assert sizes.tolist() == [50.0, 60.0]
