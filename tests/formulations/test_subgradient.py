"""Subgradient steps: their duals are legal, near the best, and their columns nearly enough."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, repeat

import numpy as np
import pytest

from formulations.residency import fluid
from formulations.residency.program.columns import require
from formulations.residency.program.paths import path_columns
from formulations.residency.subgradient import ascend, with_setups
from results.shared.drawn import drawn_problem
from spmopt.core.objective import MAKESPAN, Objective
from spmopt.core.params import ResidencyParams, SolveParams
from spmopt.core.scheduler import Request
from spmopt.verifier import bound
from tests.checked import need
from tests.formulations.priced import Case, all_columns, cases, solved
from tests.strategies import random_problem
from tests.thorough import nightly, share


def test_duals_are_nearly_the_best_and_columns_nearly_suffice() -> None:
    below, above = [], []
    for case in cases(share(24)):
        every, coefficients = all_columns(case.intervals), case.coefficients
        best = solved(case, every)[2]
        duals, columns = ascend(case.intervals, coefficients, 100, 30, lambda: False)
        dma = duals.load + duals.store if coefficients.duplex else duals.load
        assert min(duals.spm.min(), duals.load.min(), duals.store.min()) >= 0
        assert dma.max() <= coefficients.byte_time * (1 + 1e-12)
        steps = case.intervals.steps
        assert set(columns.key(steps).tolist()) <= set(every.key(steps).tolist())
        value = solved(case, columns.union(require(case.intervals), steps))[2]
        below.append((best - case.priced(duals).value) / max(case.scale, best))
        above.append((value - best) / max(case.scale, best))
    assert min(*below, *above) >= -1e-6
    assert np.median(below) < 0.01
    assert np.median(above) < 0.001
    assert max(*below, *above) < 0.3


def test_the_best_of_all_steps_is_returned() -> None:
    """With the same schedule of steps, more of them prove no less."""
    for case in cases(share(20)):
        values = []
        for steps in (1, 10, 40):
            stop = chain(repeat(False, steps), repeat(True)).__next__
            duals, _ = ascend(case.intervals, case.coefficients, 60, 5, stop)
            values.append(case.priced(duals).value)
        assert values == sorted(values)


def test_polishing_goes_on_from_the_duals_given() -> None:
    """It proves no less than they do, and mostly more."""
    more = 0
    for case in cases(share(24)):
        rough, _ = ascend(case.intervals, case.coefficients, 10, 5, lambda: False)
        start = case.priced(rough).value
        duals, _ = ascend(case.intervals, case.coefficients, 30, 5, lambda: False, start=rough)
        polished = case.priced(duals).value
        assert polished >= start - 1e-9 * max(abs(start), 1.0)
        more += polished > start
        once, _ = ascend(case.intervals, case.coefficients, 1, 5, lambda: False, start=rough)
        # Of energies too, whose dual values are of 1e-12.
        np.testing.assert_allclose(once.spm, rough.spm, rtol=1e-12, atol=1e-25)
        np.testing.assert_allclose(once.load, rough.load, rtol=1e-12, atol=1e-25)
        np.testing.assert_allclose(once.store, rough.store, rtol=1e-12, atol=1e-25)
    assert more >= share(12)


@nightly
def test_steps_from_duals_without_setups_end_near_their_optimum() -> None:
    """Five times as many steps prove at most 1 % more of a random network of 146 operations."""
    problem = drawn_problem("mixed", 14)
    request = Request(objective=MAKESPAN, tolerance=1e-4, threads=1)
    plain = replace(problem, machine=replace(problem.machine, dma_setup_cycles=0))
    start = fluid.schedule(plain, request).certificate
    few = bound(problem, need(with_setups(problem, request, start)))
    longer = replace(request, params=SolveParams(residency=ResidencyParams(setup_steps=1500)))
    many = bound(problem, need(with_setups(problem, longer, start)))
    assert bound(problem, need(start)) < few <= many <= few * Fraction(101, 100)


def test_steps_end_at_an_optimum() -> None:
    """Where no dual value can rise, and none that can fall would; their columns have a solution."""
    ended = 0
    for case in cases(share(60, 2)):
        steps, until = case.intervals.steps, chain(repeat(False, 200), repeat(True))
        duals, columns = ascend(case.intervals, case.coefficients, 200, 0, until.__next__)
        if next(until):  # all steps were taken
            continue
        ended += 1
        best = solved(case, all_columns(case.intervals))[2]
        value = solved(case, columns.union(require(case.intervals), steps))[2]
        assert case.priced(duals).value == pytest.approx(best, abs=1e-9 * case.scale)
        assert value == pytest.approx(best, abs=1e-6 * case.scale)
    assert ended >= share(5, 2)


@pytest.mark.filterwarnings("error")
def test_where_no_byte_has_a_dual() -> None:
    """Dual values to start from are none either."""
    objective = Objective(name="macs", unit="MACs", mac=Fraction(1))
    for seed in range(4):
        case = Case.of(random_problem(seed, duplex=True), objective)
        start, _ = ascend(case.intervals, case.coefficients, 3, 1, lambda: False)
        duals, _ = ascend(case.intervals, case.coefficients, 3, 1, lambda: False, start=start)
        for dual in (duals.spm, duals.load, duals.store):
            assert not dual.any()


def test_stopped_at_once() -> None:
    """Free bytes: the rest is the computation."""
    case = Case.of(random_problem(3), MAKESPAN)
    duals, columns = ascend(case.intervals, case.coefficients, 50, 10, lambda: True)
    assert len(columns) == 0
    assert not duals.spm.any()
    assert case.priced(duals).value == case.coefficients.compute_cycles.sum()


def test_columns_are_those_of_the_last_steps_alone() -> None:
    for case in cases(3):
        intervals, coefficients, steps = case.intervals, case.coefficients, case.intervals.steps
        none = ascend(intervals, coefficients, 7, 0, lambda: False)[1]
        assert len(none) == 0
        # The dual values of the first step do not depend on how many follow.
        first, once = ascend(intervals, coefficients, 1, 1, lambda: False)
        paths = path_columns(case.priced(first)).key(steps)
        assert set(once.key(steps).tolist()) == set(paths.tolist())
        every = ascend(intervals, coefficients, 7, 7, lambda: False)[1]
        last = ascend(intervals, coefficients, 7, 1, lambda: False)[1]
        assert set(once.key(steps).tolist()) | set(last.key(steps).tolist()) <= set(
            every.key(steps).tolist()
        )
