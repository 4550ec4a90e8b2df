"""HiGHS, GLOP and PDLP agree on the fluid optimum, and on its dual values' worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.solver.program import SolverStatus
from spmopt.core.errors import InputError
from spmopt.core.objective import TRAFFIC, Objective, objective_named
from spmopt.core.problem import Problem
from tests.formulations.plain.model import PlainModel, plain_model, read_answer, solve_plain
from tests.formulations.plain.ortools import solve_with_ortools
from tests.strategies import random_problem
from tests.tiny import Op, tiny

Case = tuple[Problem, Objective, PlainModel]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = []
    for seed in range(60):
        problem = random_problem(
            seed, max_operations=20, max_tensors=8, max_mappings=2, duplex=True
        )
        for name in ("traffic", "time", "energy"):
            objective = objective_named(name, problem.machine)
            found.append((problem, objective, plain_model(problem, objective)))
    return found


@pytest.mark.parametrize("solver", ["glop", "pdlp"])
def test_fluid_by_two_solvers(cases: list[Case], solver: str) -> None:
    answers = solve_with_ortools([model.program for _, _, model in cases], solver)
    for (problem, objective, model), answer in zip(cases, answers, strict=True):
        assert answer.status is SolverStatus.OPTIMAL
        ours, theirs = solve_plain(problem, objective).value, read_answer(model, answer).value
        assert ours is not None
        assert theirs is not None
        scale = max(abs(ours), float(model.byte_value))
        assert abs(theirs - ours) <= 1e-6 * scale


def test_an_infeasible_program_is_reported() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x", required_resident="x")], spm=4)
    (answer,) = solve_with_ortools([plain_model(problem, TRAFFIC).program], "glop")
    assert answer.status is SolverStatus.INFEASIBLE
    assert answer.bound == -np.inf
    assert answer.objective is None


def test_what_they_cannot_solve_is_refused() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x")], spm=4)
    program = plain_model(problem, TRAFFIC).program
    with pytest.raises(InputError, match="choose glop or pdlp"):
        solve_with_ortools([program], "simplex")
    with pytest.raises(InputError, match="no integer columns"):
        solve_with_ortools([plain_model(problem, TRAFFIC, pages=True).program], "glop")
    by_columns = replace(program, matrix=replace(program.matrix, by_rows=False))
    with pytest.raises(InputError, match="by rows"):
        solve_with_ortools([by_columns], "glop")
