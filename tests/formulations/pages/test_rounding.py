"""Rounding: by hand, and on solutions of random programs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from formulations.residency.pages.consolidate import consolidate
from formulations.residency.pages.profiles import Profiles, profiles
from formulations.residency.pages.rounding import raise_rows, to_residency_plan
from formulations.residency.program.columns import ColumnKind, PathColumns, of_kind
from formulations.residency.program.master import Master
from formulations.solver.highs import solve
from formulations.solver.program import Floats
from spmopt.assemble import assemble
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan, Steps
from spmopt.core.table import Ints
from spmopt.verifier import verify
from tests.checked import need
from tests.formulations.priced import Case, all_columns, cases
from tests.thorough import share
from tests.tiny import Op, tiny

READ = Op(reads="x")


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A fractional solution of a case of one mapping."""

    case: Case
    columns: PathColumns
    amounts: Floats

    @property
    def profile(self) -> Profiles:
        return profiles(self.case.intervals, self.columns, self.amounts)

    @property
    def page_bytes(self) -> int:
        return self.case.problem.machine.page_bytes

    @property
    def capacity_pages(self) -> Ints:
        pages: Ints = (self.case.coefficients.capacity_bytes // self.page_bytes).astype(np.int64)
        return pages

    def rounded(self, worth: Floats | float = 0.0, extra_pages: int = 0) -> ResidencyPlan | None:
        case = self.case
        residency_plan = to_residency_plan(
            self.profile,
            np.broadcast_to(np.asarray(worth, np.float64), (case.intervals.steps,)),
            page_bytes=self.page_bytes,
            capacity_pages=self.capacity_pages + extra_pages,
        )
        if residency_plan is None:
            return None
        return replace(
            residency_plan, steps=Steps.listed(np.zeros(len(residency_plan.steps), np.int64))
        )


def solutions(count: int) -> list[Solution]:
    """Interior solutions of random programs with random costs added, half of them noisy.

    Two thirds have their transfers dealt out anew, as the loop does.
    """
    found = []
    for seed, case in enumerate(
        cases(
            count, max_operations=12, max_tensors=7, max_tensor_pages=5, max_mappings=1, setup=True
        )
    ):
        columns, page = all_columns(case.intervals), case.problem.machine.page_bytes
        built = Master(case.intervals, case.coefficients, columns, page_bytes=page, margin=1e-5)
        generator = np.random.default_rng(seed)
        cost = built.program.cost.copy()
        cost[: len(columns)] += generator.random(len(columns)) * (seed % 2)
        options = {"solver": "ipx", "presolve": "off", "run_crossover": "off"}
        amounts = built.amounts(solve(replace(built.program, cost=cost), options=options))
        if seed % 4 > 1:
            amounts = amounts * generator.normal(1, 1e-4, amounts.size)
        if seed % 3:
            columns, amounts = consolidate(case.intervals, columns, amounts)
        found.append(Solution(case=case, columns=columns, amounts=amounts))
    return found


def resident(problem: Problem, residency_plan: ResidencyPlan) -> Ints:
    """(tensors, steps)"""
    table = np.zeros((len(problem.tensors), len(problem.operations)), np.int64)
    rows = residency_plan.residency
    for tensor, begin, end, size in zip(
        rows.tensor.tolist(),
        rows.begin.tolist(),
        rows.end.tolist(),
        rows.size_bytes.tolist(),
        strict=True,
    ):
        table[tensor, begin:end] = size
    return table


def test_plans_are_legal_whatever_is_worth_filling_up() -> None:
    for seed, solution in enumerate(solutions(share(150))):
        generator = np.random.default_rng(seed)
        worth = generator.random(solution.case.intervals.steps) * generator.integers(0, 2)
        residency_plan = solution.rounded(worth)
        assert residency_plan is not None, seed
        report = verify(solution.case.problem, assemble(solution.case.problem, residency_plan))
        assert report.legal, (seed, report.violations)


def test_residency_is_in_pages_and_fits() -> None:
    for seed, solution in enumerate(solutions(share(60))):
        residency_plan, page = solution.rounded(1.0), solution.page_bytes
        size = solution.case.line.size_bytes[:, None]
        held = resident(solution.case.problem, need(residency_plan))
        assert ((held % page == 0) | (held == size)).all(), seed
        assert ((-(-held // page)).sum(axis=0) <= solution.capacity_pages).all(), seed


def rows(residency_plan: ResidencyPlan | None) -> list[tuple[int, ...]]:
    table = need(residency_plan).residency
    columns = (table.tensor, table.begin, table.end, table.size_bytes)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def held_part(amount: float, spm: int = 8) -> Solution:
    """x, of 10 bytes, is read in steps 0 and 2; ``amount`` bytes of it stay."""
    case = Case.of(tiny({"x": (10, "in")}, [READ, Op(), READ], spm=spm), TRAFFIC)
    columns = PathColumns.together(
        of_kind(ColumnKind.LOAD_HERE, np.array([0])),
        of_kind(ColumnKind.HOLD_CLEAN, np.array([1])),
        of_kind(ColumnKind.STREAM, np.array([0, 1])),
    )
    amounts = np.array([amount, amount, 10 - amount, 10 - amount])
    return Solution(case=case, columns=columns, amounts=amounts)


@pytest.mark.parametrize(
    ("amount", "spm", "worth", "held"),
    [
        (7.0, 8, 0.0, 4),
        (7.0, 8, 1.0, 8),  # the free page is used
        (7.0, 7, 1.0, 4),  # there is none
        (8.0 - 1e-7, 8, 0.0, 8),  # a page but for the solver's noise
        (10.0 - 1e-4, 12, 0.0, 10),  # the whole tensor, its last page cut
        (9.0, 12, 0.0, 8),
        (9.0, 12, 1.0, 10),
        (3.9, 8, 0.0, 0),
    ],
)
def test_by_hand(amount: float, spm: int, worth: float, held: int) -> None:
    assert rows(held_part(amount, spm).rounded(worth)) == ([(0, 0, 3, held)] if held else [])


def test_what_cannot_be_made_to_fit_is_no_plan() -> None:
    assert held_part(10.0, spm=8).rounded(extra_pages=-2) is None


def pages_of(profile: Profiles, page: int) -> tuple[Ints, Ints]:
    """Pages rounded down and up."""
    size = np.where(profile.fixed, profile.size_bytes, np.maximum(profile.resident, 0))
    low = np.floor(size / page + 1e-6).astype(np.int64)
    low = np.where(profile.fixed, -(-profile.size_bytes // page), low)
    return low, np.maximum(low, np.ceil(size / page - 1e-6).astype(np.int64))


def test_raised_stretches_use_up_free_pages_only() -> None:
    for seed, solution in enumerate(solutions(share(80))):
        intervals, profile = solution.case.intervals, solution.profile
        generator = np.random.default_rng(seed)
        low, high = pages_of(profile, solution.page_bytes)
        free = generator.integers(0, 4, intervals.steps)
        left, worth = free.copy(), generator.random(intervals.steps)
        raised = raise_rows(profile, (low, high), worth, left)
        assert (left >= 0).all(), seed
        used = np.zeros(intervals.steps, np.int64)
        until = np.append(profile.step[1:], 0)
        groups: dict[int, list[int]] = {}
        stretch = -1
        for row in range(profile.step.size):
            begin, end = int(profile.step[row]), int(until[row])
            if high[row] and not (
                row and high[row - 1] and profile.tensor[row] == profile.tensor[row - 1]
            ):
                stretch += 1
            if high[row]:
                groups.setdefault(stretch, []).append(row)
            if raised[row]:
                used[begin:end] += high[row] - low[row]
        np.testing.assert_array_equal(free - left, used)
        for own in groups.values():
            assert len({bool(raised[row]) for row in own}) == 1, "all of a stretch or nothing"
            spans = [(int(profile.step[r]), int(until[r]), int(high[r] - low[r])) for r in own]
            serves = any(profile.access[r] >= 0 and high[r] > low[r] for r in own)
            if serves and not raised[own[0]]:
                assert any(left[b:e].min() < need for b, e, need in spans), "it would have fitted"


def test_the_stretch_that_saves_most_per_page_is_raised() -> None:
    """x and y both lack a page in step 1, and one is free; y is read with three fetches."""
    operations = [Op(reads="x"), Op(reads="y", fetches={"y": 3}), Op(reads="x"), Op(reads="y")]
    problem = tiny({"x": (8, "in"), "y": (8, "in")}, operations, spm=8)
    case = Case.of(problem, TRAFFIC)
    intervals = case.intervals
    held = of_kind(ColumnKind.HOLD_CLEAN, np.flatnonzero(intervals.previous >= 0))
    here = of_kind(ColumnKind.LOAD_HERE, np.flatnonzero(intervals.previous < 0))
    profile = profiles(intervals, PathColumns.together(held, here), np.full(4, 2.0))
    low, high = pages_of(profile, 4)
    for free, expected in ((1, {1}), (2, {0, 1}), (0, set())):
        raised = raise_rows(profile, (low, high), np.ones(4), np.full(4, free))
        assert set(profile.tensor[raised & (high > low)].tolist()) == expected
    # Where DMA costs nothing, nothing is gained.
    assert not raise_rows(profile, (low, high), np.zeros(4), np.full(4, 2))[high > low].any()
