from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.byte_duals import ByteDuals
from formulations.residency.whole import traffic
from formulations.residency.whole.decisions import (
    NO,
    YES,
    CapacityRows,
    largest_sums,
)
from formulations.residency.whole.intervals import PagedIntervals, savings
from formulations.residency.whole.retention import Retention, fill, repair, residency_plan_of
from formulations.residency.whole.traffic import TrafficProgram
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.core.timeline import timeline_in_order
from tests.formulations.whole.cases import verified_value
from tests.strategies import problems
from tests.thorough import share
from tests.tiny import Op, tiny

UNIT = ByteDuals.of(TRAFFIC, 2**20)


def uses_of(problem: Problem) -> PagedIntervals:
    return PagedIntervals(problem.machine, timeline_in_order(problem))


@settings(max_examples=share(60), deadline=None)
@given(problems(max_operations=5, max_tensors=4))
def test_rows_left_out_are_implied(problem: Problem) -> None:
    uses = uses_of(problem)
    columns = TrafficProgram(uses, UNIT).decisions
    rows = CapacityRows(uses, columns)
    if columns.count > 10:
        return
    for values in product((0, 1), repeat=columns.count):
        x = np.array(values, np.int64)
        if not _linked(columns.kept, columns.resident, x):
            continue
        fits = rows.used(x.astype(np.float64)) <= rows.room
        if fits[rows.needed].all():
            assert fits.all()


def _linked(kept: Ints, resident: Ints, x: Ints) -> bool:
    def on(state: int) -> bool:
        return state == YES or (state >= 0 and bool(x[state]))

    return all(
        on(resident[use]) and on(resident[use - 1])
        for use in range(kept.size)
        if kept[use] != NO and on(kept[use])
    )


@given(st.lists(st.lists(st.integers(1, 40), max_size=7), max_size=4), st.integers(0, 90))
def test_largest_sums_are_the_largest(rows: list[list[int]], room: int) -> None:
    start = np.cumsum([0, *map(len, rows)])
    weights = np.array([weight for row in rows for weight in row], np.int64)
    found = largest_sums(start, weights, np.full(len(rows), room))
    for row, largest in zip(rows, found.tolist(), strict=True):
        sums = [sum(some) for k in range(len(row) + 1) for some in combinations(row, k)]
        assert largest == max(total for total in sums if total <= room)


@settings(max_examples=share(60), deadline=None)
@given(problems(max_operations=12, max_tensors=6, max_operands=4), st.integers(0, 2**32))
def test_repair_and_filling_fit(problem: Problem, seed: int) -> None:
    uses = uses_of(problem)
    saved = savings(uses, UNIT)
    wild = np.random.default_rng(seed).random((2, uses.step.size)) < 0.7
    choices = repair(uses, Retention.of(uses, wild[0] | wild[1], wild[1]), saved.keep)
    assert choices.fits(uses)
    fuller = fill(uses, choices, saved.keep, saved.enter)
    assert fuller.fits(uses)
    assert (fuller.kept >= choices.kept).all()
    held = np.flatnonzero(fuller.kept)
    assert fuller.resident[held].all()
    assert fuller.resident[held - 1].all()


THREE_READS = [Op(reads="x y"), Op(reads="z"), Op(reads="x")]
THREE = {"x": (8, "in"), "y": (4, "in"), "z": (4, "in")}


@pytest.mark.parametrize(
    ("spm", "x", "others"), [(12, True, True), (8, True, False), (4, False, True)]
)
def test_what_is_a_page_too_many_is_given_up_and_nothing_else(
    spm: int, x: bool, others: bool
) -> None:
    """x needs two pages until its second use, beside one of y first and then one of z."""
    uses = uses_of(tiny(THREE, THREE_READS, spm=spm))
    of_x = uses.tensor == 0
    chosen = repair(uses, Retention.of(uses, of_x, uses.between_uses), np.ones(4))
    assert chosen.kept[uses.between_uses].tolist() == [x]
    assert chosen.resident[of_x].tolist() == [x, x]
    fuller = fill(uses, chosen, np.ones(4), np.ones(4))
    assert fuller.kept[uses.between_uses].tolist() == [x]
    assert fuller.resident[~of_x].tolist() == [others, others]


@settings(max_examples=share(60), deadline=None)
@given(problems(max_operations=8, max_tensors=5), st.integers(0, 2**32))
def test_the_model_duals_plans_exactly(problem: Problem, seed: int) -> None:
    uses = uses_of(problem)
    model = TrafficProgram(uses, UNIT)
    values = np.random.default_rng(seed).random(model.program().cost.size).round()
    choices = repair(uses, model.choose(values), model.savings.keep)
    choices = model.choose(model.values(choices))
    residency_plan = residency_plan_of(uses, choices)
    # Units of several bytes are not binary fractions: 89 bytes are 8.0909... units of 11.
    cost = float(model.cost(choices) * model.unit)
    assert float(verified_value(problem, TRAFFIC, residency_plan)) == pytest.approx(cost, rel=1e-12)
    again = Retention.of_residency_plan(uses, residency_plan)
    assert (again.resident == choices.resident).all()
    assert (again.kept == choices.kept).all()


@pytest.mark.parametrize(
    ("used", "rows"),
    [
        ([7, 6, 1, 80], [True, False, False, False]),
        ([7, 9, 1, 80], [True, True, False, False]),
        ([7, 9, 8, 80], [True, True, True, True]),
    ],
)
def test_the_search_begins_with_the_rows_that_are_nearly_full(
    used: list[int], rows: list[bool]
) -> None:
    """Or with all that are needed, if most of them are."""
    capacity = SimpleNamespace(
        needed=np.array([True, True, True, True, False]),
        room=np.array([10, 10, 10, 200, 1]),
        used=lambda values: np.array([*used, 1]),
    )
    model: Any = SimpleNamespace(capacity=capacity)
    relaxed: Any = SimpleNamespace(primal=np.zeros(1))
    assert traffic._busy(model, relaxed).tolist() == [*rows, False]
