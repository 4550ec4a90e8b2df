"""Searches from dual values of a neighbor: as good, and as true, in fewer steps."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import column_generation, subgradient
from formulations.residency.bound.duals import CostCoefficients, certificate, multipliers
from formulations.residency.page import schedule
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline
from spmopt.verifier import bound
from tests.checked import need
from tests.formulations.small import relax
from tests.strategies import problems, random_problem
from tests.thorough import share

TOLERANCE = 1e-3


def wider(problem: Problem) -> Problem:
    machine = problem.machine
    return replace(
        problem, machine=replace(machine, spm_bytes=machine.spm_bytes + 2 * machine.page_bytes)
    )


def coefficients(problem: Problem) -> CostCoefficients:
    return CostCoefficients(problem, relax_timeline(problem), MAKESPAN)


@settings(max_examples=share(15), deadline=None)
@given(problem=problems())
def test_the_optimum_is_the_same_from_any_duals(problem: Problem) -> None:
    duals = relax(wider(problem), Request(tolerance=TOLERANCE)).certificate
    assert bound(problem, need(duals)) <= _enclosed(problem, None)[1]
    cold, warm = _enclosed(problem, None), _enclosed(problem, need(duals))
    assert cold[0] <= warm[1]
    assert warm[0] <= cold[1]


def _enclosed(problem: Problem, duals: Certificate | None) -> tuple[Fraction, Fraction]:
    search = relax(problem, Request(tolerance=TOLERANCE, duals=duals))
    return bound(problem, need(search.certificate)), need(search.value)


def test_few_steps_from_given_duals(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(3)
    counts: list[tuple[int, bool]] = []

    def counted(*arguments: Any, **options: Any) -> object:
        counts.append((arguments[2], options["start"] is not None))
        return subgradient.ascend(*arguments, **options)

    monkeypatch.setattr(column_generation, "ascend", counted)
    duals = schedule(wider(problem), Request()).certificate
    schedule(problem, Request(duals=duals))
    first, later = counts[0], counts[-1]
    assert not first[1]
    assert later[1]
    assert later[0] < first[0] / 4


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
