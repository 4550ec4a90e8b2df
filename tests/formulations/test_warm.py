"""Searches from dual values of a neighbor: as good, and as true, in fewer steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.bound.duals import CostCoefficients, certificate, multipliers
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline
from spmopt.verifier import bound
from tests.checked import need
from tests.formulations.small import relax
from tests.strategies import random_problem
from tests.thorough import share

TOLERANCE = 1e-3


def coefficients(problem: Problem) -> CostCoefficients:
    return CostCoefficients(problem, relax_timeline(problem), MAKESPAN)


@given(st.integers(0, 30))
@settings(max_examples=share(10), deadline=None)
def test_duals_return_from_a_certificate(seed: int) -> None:
    problem = random_problem(seed)
    found = need(relax(problem, Request(tolerance=TOLERANCE)).certificate)
    own = coefficients(problem)
    duals = need(multipliers(found, own))
    again = certificate(problem, MAKESPAN, own, duals)
    assert float(bound(problem, again)) == pytest.approx(float(bound(problem, found)), rel=1e-9)


def test_duals_of_other_problems_are_not_used() -> None:
    problem = random_problem(1)
    steps = len(problem.operations)
    zero = np.zeros(steps + 1, np.int64)
    other = Certificate(objective=MAKESPAN, bits=3, spm=zero, dram_in=zero, dram_out=zero)
    assert multipliers(other, coefficients(problem)) is None
    zero = zero[1:]
    turned = Certificate(
        objective=MAKESPAN,
        bits=3,
        spm=zero,
        dram_in=zero,
        dram_out=zero,
        order=np.arange(steps)[::-1].copy(),
    )
    assert multipliers(turned, coefficients(problem)) is None
