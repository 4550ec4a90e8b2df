"""Many operations: one attempt of one policy to start from, and time left to check the result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.core.errors import InfeasibleError
from spmopt.core.objective import MAKESPAN
from spmopt.core.params import SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.policies.static import stream
from spmopt.solving import compare, solve
from tests.checked import need
from tests.solving.fakes import bounds_only, install
from tests.strategies import random_problem

PROBLEM = random_problem(32, max_operations=8, max_tensors=6, required_resident=False)


MANY = SolveParams(all_policies_operations=0, finish_s=2.0 / len(PROBLEM.operations))
ASKED = Request(objective=MAKESPAN, time_limit_s=8.0, params=MANY)


def its_start(problem: Problem, request: Request) -> Result:
    return Result(residency_plan=request.start)


def nowhere(problem: Problem, request: Request) -> Result:
    raise InfeasibleError("none")


def test_one_attempt_is_the_start_and_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, whole=its_start, lp_bound=bounds_only, **{"belady-size": belady})
    result = solve(PROBLEM, "residency:granularity=tensor", ASKED)
    (attempt,), (search,) = (
        fakes.requests["belady-size"],
        fakes.requests["residency:granularity=tensor"],
    )
    assert attempt.remaining_s() == 0
    assert search.time_limit_s == 6.0
    assert result.verified
    assert result.value == solve(PROBLEM, "belady", ASKED).value


def test_half_of_a_short_limit_is_for_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, whole=its_start, lp_bound=bounds_only)
    solve(PROBLEM, "residency:granularity=tensor", replace(ASKED, time_limit_s=3.0))
    assert fakes.requests["residency:granularity=tensor"][0].time_limit_s == 1.5


def test_without_a_plan_to_start_from(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, whole=stream, lp_bound=bounds_only, **{"belady-size": nowhere})
    assert solve(PROBLEM, "residency:granularity=tensor", ASKED).verified
    assert fakes.requests["residency:granularity=tensor"][0].start is None


def test_an_attempt_in_another_order_is_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def backwards(problem: Problem, request: Request) -> Result:
        residency_plan = need(stream(problem, request).residency_plan)
        steps = replace(residency_plan.steps, operation=residency_plan.steps.operation[::-1].copy())
        return Result(residency_plan=replace(residency_plan, steps=steps))

    fakes = install(monkeypatch, whole=stream, lp_bound=bounds_only, **{"belady-size": backwards})
    assert solve(PROBLEM, "residency:granularity=tensor", ASKED).verified
    assert fakes.requests["residency:granularity=tensor"][0].start is None


def test_policies_that_ran_before_are_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(monkeypatch, whole=its_start, lp_bound=bounds_only, **{"belady-size": nowhere})
    kept, found = compare(PROBLEM, ["belady", "residency:granularity=tensor"], ASKED)
    assert found.value == kept.value
    assert "belady-size" not in fakes.requests
