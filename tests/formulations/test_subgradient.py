"""Subgradient steps: their duals are legal, near the best, and their columns nearly enough."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, permutations, repeat

import numpy as np
import pytest

from formulations.residency import fluid
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import require
from formulations.residency.program.paths import path_use
from formulations.residency.subgradient import ascend, with_setups
from results.shared.drawn import drawn_problem
from spmopt.analysis.floor import Floor
from spmopt.core.objective import MAKESPAN
from spmopt.core.params import ResidencyParams, SolveParams
from spmopt.core.scheduler import Request
from spmopt.verifier import bound
from tests.checked import need
from tests.formulations.priced import all_columns, cases, random_duals, solved
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


def test_what_paths_use_is_a_slope_of_their_cost() -> None:
    """With set-ups too: at no other dual values is the dual above the tangent of these.

    But for required-resident operands: their transfers are counted, though they cost the same at
    all dual values.
    """
    for case in cases(share(60, 3), max_operations=30):
        coefficients = case.coefficients
        line = replace(case.line, required_resident=np.zeros_like(case.line.required_resident))
        intervals = RankedIntervals(line, setup_bytes=100.0)
        free = replace(case, intervals=intervals)
        for one, other in permutations([random_duals(case, k) for k in range(6)], 2):
            here, there = free.priced(one), free.priced(one.mix(other, 0.1))
            held, into, out = path_use(here)
            covered = coefficients.covered_bytes
            tangent = here.value
            for slope, before, after in (
                (held - coefficients.capacity_bytes, one.spm, there.duals.spm),
                (into - covered, one.load, there.duals.load),
                (out - covered if coefficients.duplex else out, one.store, there.duals.store),
            ):
                tangent += float((slope * (after - before)).sum())
            assert there.value <= tangent + 1e-9 * max(case.scale, abs(tangent))


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
    for case in cases(share(60, 3)):
        steps, until = case.intervals.steps, chain(repeat(False, 200), repeat(True))
        duals, columns = ascend(case.intervals, case.coefficients, 200, 0, until.__next__)
        if next(until):  # all steps were taken
            continue
        ended += 1
        best = solved(case, all_columns(case.intervals))[2]
        value = solved(case, columns.union(require(case.intervals), steps))[2]
        assert case.priced(duals).value == pytest.approx(best, abs=1e-9 * case.scale)
        assert value == pytest.approx(best, abs=1e-6 * case.scale)
    assert ended >= share(5, 4)


def test_without_time_for_a_step_the_bound_is_no_less_than_the_floor() -> None:
    for case in cases(24)[1::3]:  # of time
        duals, _ = ascend(case.intervals, case.coefficients, 9, 0, lambda: True)
        assert case.priced(duals).value >= Floor.of(case.problem).cycles * (1 - 1e-9)
