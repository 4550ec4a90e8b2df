"""The plain model: each family where it binds, and against the brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.solver.program import SolverStatus
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.problem import Problem
from tests.checked import need
from tests.formulations.plain.model import solve_plain
from tests.formulations.small import small_optimum
from tests.strategies import problems
from tests.thorough import share
from tests.tiny import Op, tiny

READ = Op(reads="x", cycles=5)
OBJECTIVES = ("traffic", "time", "energy")
SMALL = {"max_operations": 5, "max_tensors": 3, "page_bytes": 2, "duplex": True}


def fluid(problem: Problem, objective: Objective = TRAFFIC) -> float:
    answer = solve_plain(problem, objective)
    assert answer.answer.status is SolverStatus.OPTIMAL
    return need(answer.value)


def scale_of(value: float, objective: Objective) -> float:
    """What a relative tolerance refers to; energies here are picojoules."""
    return max(abs(value), 1e-12 if objective.unit == "joules" else 1.0)


def brute(problem: Problem, objective: Objective, residency: str = "page") -> float:
    return float(small_optimum(problem, objective, residency).value)


def test_an_problem_without_anything_to_decide() -> None:
    problem = tiny({"x": (4, "in keep")}, [Op(cycles=3), Op(cycles=4)], spm=4)
    assert fluid(problem, MAKESPAN) == pytest.approx(7)
    assert fluid(problem) == 0


def test_required_resident_operands_that_do_not_fit() -> None:
    problem = tiny({"x": (8, "in")}, [replace(READ, required_resident="x")], spm=7)
    answer = solve_plain(problem, TRAFFIC)
    assert answer.answer.status is SolverStatus.INFEASIBLE
    assert answer.answer.bound == -np.inf


@settings(max_examples=share(150), deadline=None)
@given(problems(**SMALL, max_mappings=2, setup=True), st.sampled_from(OBJECTIVES))
def test_fluid_bounds_page_bounds_whole(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    page, whole = brute(problem, objective), brute(problem, objective, "whole")
    assert fluid(problem, objective) <= page + 1e-7 * scale_of(page, objective)
    assert page <= whole


@settings(max_examples=share(150), deadline=None)
@given(problems(**SMALL, whole_cycles=True), st.sampled_from(OBJECTIVES))
def test_whole_pages_are_the_brute_force_optimum(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    expected = brute(problem, objective)
    answer = solve_plain(problem, objective, pages=True)
    assert abs(need(answer.value) - expected) <= 1e-6 * scale_of(expected, objective)
