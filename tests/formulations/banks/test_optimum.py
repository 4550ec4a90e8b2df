"""Scheduler ``banks`` and its bound against every legal schedule of small problems."""

from __future__ import annotations

from typing import Any

import pytest

from formulations.residency.banks import relaxation
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests import brute_force
from tests.banked import alone
from tests.checked import need
from tests.formulations.banks.brute_force import optimum
from tests.formulations.banks.cases import campaign_case
from tests.formulations.banks.references import compute, references
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
SEEDS = range(1000)


def scheduled(problem: Problem, objective: Objective) -> Result:
    return solve(problem, "banks", Request(objective=objective, threads=1))


def test_references_are_what_every_schedule_tried_gives() -> None:
    """And no random legal schedule is below them, nor below what its plan takes."""
    compared = 0
    for seed in some(range(120), 16):
        found = compute(seed, often=10, most_tries=1000)
        if found.optimum is not None:
            assert found.optimum == references()[seed].optimum, seed
            assert found.optimum <= found.random, seed
            compared += 1
    assert compared > share(40, 16)


@pytest.mark.parametrize("all_cells", [True, False])
def test_bound_optimum_and_schedule_are_in_this_order(
    all_cells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not all_cells:
        monkeypatch.setattr(relaxation, "ALL_CELLS", -1)
        monkeypatch.setattr(relaxation, "_NEAREST", 1)
    known = optimal = 0
    for seed in some(SEEDS, 180):
        problem, objective = campaign_case(seed)
        reference, found = references()[seed], scheduled(problem, objective)
        assert need(found.value) <= reference.random, seed
        assert need(found.bound) <= (reference.optimum or reference.random), seed
        if reference.optimum is not None:
            assert reference.optimum <= need(found.value), seed
            known, optimal = known + 1, optimal + (found.value == reference.optimum)
    assert optimal >= 0.98 * known > 3


@pytest.mark.parametrize("name", ["traffic", "energy"])
def test_with_one_bank_it_is_the_optimum_of_a_uniform_scratchpad(name: str) -> None:
    """As another brute force finds it, and as the scheduler ``page`` does or misses it."""
    for seed in some(range(16)):
        uniform, one = alone(random_problem(seed, **TINY))
        objective = objective_named(name, one.machine)
        best = need(brute_force.optimum(uniform, objective_named(name, uniform.machine)))
        assert need(optimum(one, objective)).value == best.value, seed
        found = scheduled(one, objective)
        assert need(found.bound) <= best.value <= need(found.value)
