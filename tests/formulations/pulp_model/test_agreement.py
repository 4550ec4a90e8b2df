"""The two models of whole tensors have one optimum."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from formulations.pulp_model import timed
from spmopt.core.objective import MAKESPAN, TRAFFIC, energy_objective, objective_named
from spmopt.core.problem import Problem
from tests.formulations.pulp_model.models import first, second
from tests.instances import golden
from tests.strategies import problems
from tests.thorough import THOROUGH, share, some

INDEX = golden.read_index()
# Their programs take seconds to minutes; formulations/README.md says the measurements.
LONG = {("time", name) for name in ("gnmt-small", "lenet5", "lstm", "resnet50-small")}
LONG |= {("time", "transformer-small"), ("traffic", "gnmt-small"), ("traffic", "resnet50-small")}
CASES = [
    (name, objective)
    for name, entry in INDEX.items()
    for objective in entry.objectives
    if (objective, name) not in LONG
]


@pytest.mark.parametrize(
    ("name", "objective_name"),
    [case for case in CASES if THOROUGH or case[0] != "transformer-small"],
)
def test_same_optimum_on_golden_problems(name: str, objective_name: str) -> None:
    problem = golden.problem(name)
    objective = objective_named(objective_name, problem.machine)
    optimum = first(problem, objective)
    for solver in ("HiGHS", *(["PULP_CBC_CMD"] if THOROUGH or objective.cycle == 0 else [])):
        found = second(problem, objective, solver=solver, spread=True)
        assert found.value == pytest.approx(optimum, rel=1e-6, abs=1e-18)


@pytest.mark.parametrize("name", some(["lenet5", "lstm", "transformer-small"], 3))
def test_same_relaxation_on_larger_ones(name: str) -> None:
    problem = golden.problem(name)
    optimum = first(problem, MAKESPAN, relaxed=True)
    found = second(problem, MAKESPAN, spread=True, relaxed=True)
    assert found.value == pytest.approx(optimum, rel=1e-6)


def test_every_golden_problem_is_compared() -> None:
    objectives = {(o, name) for name, entry in INDEX.items() for o in entry.objectives}
    assert objectives >= LONG
    assert len(CASES) == len(objectives) - len(LONG) >= 40


@settings(max_examples=share(40), deadline=None)
@given(problems(max_operations=6, max_tensors=4, duplex=True, setup=True, max_mappings=2))
def test_same_optimum_on_random_problems(problem: Problem) -> None:
    # The first model lets a fusion tile come back before it left.
    both = [family for family in timed.TimedPulpModel.families if family is not timed.one_copy]
    for objective in (TRAFFIC, MAKESPAN, energy_objective(problem.machine)):
        optimum = pytest.approx(first(problem, objective), rel=1e-6, abs=1e-18)
        families = None if objective.cycle == 0 else both
        found = second(problem, objective, spread=True, families=families)
        assert found.value == optimum
