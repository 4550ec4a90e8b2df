"""The Lagrangian dual, forward against backward; its value is tested with certificates."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.duals import Multipliers
from spmopt.core.objective import MAKESPAN
from tests.formulations.priced import Case, cases, random_duals
from tests.strategies import random_problem
from tests.thorough import share


def test_dear_duals_are_made_legal() -> None:
    for case in cases(share(30)):
        steps, limit = case.intervals.steps, case.coefficients.byte_time
        dear = np.full(steps, 3 * limit + 1)
        duals = Multipliers.legal(case.coefficients, -dear, dear, 2 * dear)
        assert (duals.spm == 0).all()
        total = duals.load + duals.store if case.coefficients.duplex else duals.load
        np.testing.assert_allclose(total, limit)
        np.testing.assert_allclose(
            duals.slack_dual(case.coefficients), 0, atol=1e-12 * case.coefficients.cycle
        )
        if not case.coefficients.duplex:
            assert duals.store is duals.load


def test_duals_that_are_no_numbers_are_made_legal() -> None:
    case = Case.of(random_problem(3), MAKESPAN)
    bad = np.full(case.intervals.steps, np.nan)
    duals = Multipliers.legal(case.coefficients, bad, bad, bad)
    assert not duals.spm.any()
    assert not duals.load.any()


def test_the_bound_is_concave_between_duals() -> None:
    for seed, case in enumerate(cases(share(40))):
        one, other = random_duals(case, seed), random_duals(case, seed + 1000)
        ends = case.priced(one).value, case.priced(other).value
        for weight in (0.25, 0.5):
            middle = case.priced(one.mix(other, weight)).value
            chord = (1 - weight) * ends[0] + weight * ends[1]
            assert middle >= chord - 1e-9 * max(case.scale, abs(chord)), seed
