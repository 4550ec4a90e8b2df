"""Scheduler ``banks`` and its bound against every legal schedule of tiny problems."""

from typing import Any

import pytest

from spmopt.assemble import assemble
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.verifier import require_legal
from tests import brute_force
from tests.banked import alone, banked
from tests.formulations.banks.brute_force import optimum
from tests.strategies import random_problem
from tests.thorough import share, some

TINY: dict[str, Any] = {
    "max_operations": 3,
    "max_tensors": 3,
    "max_operands": 2,
    "max_tensor_pages": 2,
    "aligned": True,
    "page_bytes": 2,
}


def case(seed: int, name: str, *, ports: bool) -> tuple[Problem, Objective]:
    problem = banked(seed, ports=ports, duplex=True, **TINY)
    return problem, objective_named(name, problem.machine)


@pytest.mark.parametrize(("name", "ports"), [("energy", False), ("energy", True), ("time", True)])
def test_bound_optimum_and_schedule_are_in_this_order(name: str, ports: bool) -> None:
    hit = 0
    for seed in some(range(12)):
        problem, objective = case(seed, name, ports=ports)
        best = optimum(problem, objective)
        assert best is not None, seed
        totals = require_legal(problem, assemble(problem, best.residency_plan)).totals
        assert totals is not None
        assert totals.value(objective) == best.value, seed
        found = solve(problem, "banks", Request(objective=objective, threads=1))
        assert found.value is not None
        assert found.bound is not None
        assert found.bound <= best.value <= found.value, seed
        hit += found.value == best.value
    assert hit >= share(11)


@pytest.mark.parametrize("name", ["traffic", "energy"])
def test_with_one_bank_it_is_the_optimum_of_a_uniform_scratchpad(name: str) -> None:
    """As another brute force finds it, and as the scheduler ``page`` does or misses it."""
    for seed in range(8):
        uniform, one = alone(random_problem(seed, **TINY))
        objective = objective_named(name, one.machine)
        best = brute_force.optimum(uniform, objective_named(name, uniform.machine))
        own = optimum(one, objective)
        assert best is not None
        assert own is not None
        assert own.value == best.value, seed
        found = solve(one, "banks", Request(objective=objective, threads=1))
        assert found.value is not None
        assert found.bound is not None
        assert found.bound <= best.value <= found.value
