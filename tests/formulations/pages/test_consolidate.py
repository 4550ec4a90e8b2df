"""Consolidated transfers keep what each step moves, what each gap moves, and every deadline."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.rangemin import Floats
from formulations.residency.pages.consolidate import consolidated
from formulations.residency.program.columns import Columns, Kind, exists, of_kind
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, listed_timeline
from tests.strategies import random_instance


def _random_transfers(gaps: Gaps, seed: int) -> tuple[Columns, Floats]:
    """Pieces of loads, drops and stores at random steps of their gaps."""
    random = np.random.default_rng(seed)
    parts = []
    for kind in (Kind.LOAD, Kind.DROP, Kind.CLEAN):
        inner = np.flatnonzero(exists(gaps, kind) & (gaps.begin < gaps.step))
        access = np.repeat(inner, random.integers(0, 4, inner.size))
        spread = random.random(access.size) * (gaps.step - gaps.begin)[access]
        parts.append(of_kind(kind, access, gaps.begin[access] + spread.astype(np.int64)))
    here = np.flatnonzero(exists(gaps, Kind.LOAD_HERE))
    parts.append(of_kind(Kind.LOAD_HERE, here))
    columns = Columns.together(*parts)
    return columns, random.random(len(columns)) * 90 + 10


def _steps(gaps: Gaps, columns: Columns) -> Ints:
    return np.where(columns.kind == Kind.LOAD_HERE, gaps.step[columns.access], columns.step)


def _summed(columns: Columns, by: Ints, amounts: Floats, kinds: tuple[Kind, ...]) -> Floats:
    chosen = np.isin(columns.kind, kinds)
    total: Floats = np.bincount(by[chosen], amounts[chosen], 1000).astype(np.float64)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_steps_and_gaps_move_the_same_bytes(seed: int) -> None:
    line = listed_timeline(random_instance(seed, max_operations=14, max_tensors=9))
    gaps = Gaps.of(line)
    columns, amounts = _random_transfers(gaps, seed)
    after, sizes = consolidated(gaps, columns, amounts)
    for kinds in ((Kind.LOAD, Kind.LOAD_HERE), (Kind.DROP,), (Kind.CLEAN,)):
        by_step = _summed(columns, _steps(gaps, columns), amounts, kinds)
        assert _summed(after, _steps(gaps, after), sizes, kinds) == pytest.approx(by_step, abs=3)
        by_gap = _summed(columns, columns.access, amounts, kinds)
        assert _summed(after, after.access, sizes, kinds) == pytest.approx(by_gap, abs=0.5)
    step, end = _steps(gaps, after), gaps.step[after.access]
    read = gaps.kind[after.access] == Access.READ
    may_end = np.where(after.kind == Kind.LOAD_HERE, end, end - 1)
    may_end = np.where((after.kind == Kind.CLEAN) & read, end, may_end)
    assert (step >= gaps.begin[after.access]).all()
    assert (step <= may_end).all()
    assert len(after) <= len(columns)


def test_two_interleaved_loads_become_two_whole_ones() -> None:
    line = listed_timeline(random_instance(3, max_operations=14, max_tensors=9))
    gaps = Gaps.of(line)
    long = exists(gaps, Kind.LOAD) & (gaps.step - gaps.begin >= 2) & (gaps.begin == 0)
    first, second = np.flatnonzero(long)[np.argsort(gaps.step[long])][:2].tolist()
    access = np.array([first, first, second, second])
    columns = of_kind(Kind.LOAD, access, np.array([0, 1, 0, 1]))
    after, sizes = consolidated(gaps, columns, np.full(4, 100.0))
    pieces = sorted(zip(after.access.tolist(), after.step.tolist(), sizes.tolist(), strict=True))
    assert pieces == sorted([(first, 0, 200.0), (second, 1, 200.0)])


def test_a_gap_whose_bytes_return_before_others_left_is_not_touched() -> None:
    for seed in range(200):
        gaps = Gaps.of(listed_timeline(random_instance(seed, max_operations=14)))
        both = np.flatnonzero(exists(gaps, Kind.DROP) & (gaps.step - gaps.begin >= 2))
        if both.size:
            break
    at = both[:1]
    begin = gaps.begin[at]
    columns = Columns.together(of_kind(Kind.LOAD, at, begin), of_kind(Kind.DROP, at, begin + 1))
    after, sizes = consolidated(gaps, columns, np.array([50.0, 60.0]))
    assert after == columns
    assert sizes.tolist() == [50.0, 60.0]
