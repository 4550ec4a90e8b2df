"""An optimizer that decides some problems without a residency plan to start from."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, sleep

import pytest

from spmopt.core.errors import InfeasibleError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.schedulers import registry
from spmopt.schedulers.registry import SCHEDULERS, find
from spmopt.solving import compare, solve
from tests.formulations.flow.cases import random_pinned
from tests.solving.fakes import Answer, install
from tests.strategies import random_problem

PINNED = random_pinned(5, 2, max_operations=12, max_tensors=8)
FREE = random_problem(32, max_operations=8, max_tensors=6, required_resident=False)
_SLEPT_S = 0.02

asked: list[Request] = []


def nowhere(problem: Problem, request: Request) -> Result:
    raise InfeasibleError("none")


def slowly_without(problem: Problem, request: Request) -> Result:
    assert request.start is None
    sleep(_SLEPT_S)
    return Result(residency_plan=None)


def its_start(problem: Problem, request: Request) -> Result:
    asked.append(request)
    return Result(residency_plan=request.start)


def without_policies(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Request]]:
    answers: dict[str, Answer] = {"belady": nowhere, "stream": nowhere}
    page = replace(SCHEDULERS["residency"], starts=tuple(answers))
    own = {**SCHEDULERS, "residency": page}
    monkeypatch.setattr(registry, "SCHEDULERS", replace(SCHEDULERS, own=own))
    return install(monkeypatch, **answers).requests


def test_where_a_flow_decides_no_policy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    best = compare(PINNED, [*find("residency").starts, "residency"], Request(objective=TRAFFIC))[-1]
    asked_for = without_policies(monkeypatch)
    result = solve(PINNED, "residency", Request(objective=TRAFFIC))
    assert not asked_for
    assert result.verified
    assert (result.value, result.bound, result.status) == (best.value, best.bound, Status.OPTIMAL)


@pytest.mark.parametrize(("problem", "objective"), [(PINNED, MAKESPAN), (FREE, TRAFFIC)])
def test_elsewhere_they_do(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, objective: Objective
) -> None:
    asked_for = without_policies(monkeypatch)
    assert solve(problem, "residency", Request(objective=objective)).verified
    assert set(asked_for) == {"belady", "stream"}


def test_where_a_flow_has_no_time_they_do() -> None:
    result = solve(PINNED, "residency", Request(objective=TRAFFIC, time_limit_s=0.0))
    starts = compare(PINNED, find("residency").starts, Request(objective=TRAFFIC))
    assert result.value == min(start.value for start in starts if start.value is not None)


def test_a_vain_try_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(
        SCHEDULERS["residency"],
        target=f"{__name__}:{its_start.__name__}",
        alone=f"{__name__}:{slowly_without.__name__}",
    )
    own = {**SCHEDULERS, "residency": entry}
    monkeypatch.setattr(registry, "SCHEDULERS", replace(SCHEDULERS, own=own))
    asked.clear()
    result = solve(PINNED, "residency", Request(objective=TRAFFIC, time_limit_s=9.0))
    (request,) = asked
    assert request.start is not None
    assert request.started + _SLEPT_S <= monotonic()
    assert request.remaining_s() <= 9.0 - _SLEPT_S
    assert result.solve_s >= _SLEPT_S
    assert result.value is not None
