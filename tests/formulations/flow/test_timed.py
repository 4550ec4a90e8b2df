"""The first plan and duals where time counts: legal, true, and close where transfers last."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.flow.timed import time_start
from spmopt.assemble import assemble
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.objective import TRAFFIC, objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.tiles.fetches import backward
from spmopt.tiles.order import ORDERS
from tests.checked import totals_of
from tests.formulations.flow.cases import pinned_problems
from tests.thorough import share
from tests.tiles.cases import grid, machine

FEATURES = {"max_operations": 9, "max_tensors": 6, "setup": True}


@settings(max_examples=share(150), deadline=None)
@given(pinned_problems(5, **FEATURES), st.sampled_from(["time", "energy"]))
def test_its_plans_are_legal(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    found = time_start(problem, Request(objective=objective))
    if found is None:
        return
    totals = totals_of(problem, assemble(problem, found[0]))
    assert totals.value(objective) == residency_plan_value(problem, found[0], objective)


def test_it_keeps_to_time() -> None:
    cut = grid((4, 4, 4), (2, 2, 2))
    problem = backward(cut, machine(80, 16), ORDERS["sequential"].through(cut))
    assert time_start(problem, Request(objective=TRAFFIC)) is None
