"""The conformance suite finds what is wrong with a policy, each check its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from spmopt.core.mappings import fitting_mappings
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.policies.static import stream
from spmopt.testing import CHECKS, check_policy
from spmopt.testing import policies as suite
from spmopt.testing.policies import KnownOptimum
from tests.policies.optima import OPTIMA, entries

_RUNS = count()


def keeps_all(problem: Problem) -> list[tuple[int, int, int]]:
    return [(tensor, 0, len(problem.operations)) for tensor in range(len(problem.tensors))]


def forgets_stores(problem: Problem, request: Request) -> Result:
    found = belady(problem, request)
    assert found.residency_plan is not None
    return replace(found, residency_plan=replace(found.residency_plan, stores=Stores.empty()))


def wavers(problem: Problem, request: Request) -> Result:
    return (belady if next(_RUNS) % 2 else stream)(problem, request)


def does_not_look_at_room(problem: Problem) -> ResidencyPlan:
    count = len(problem.operations)
    mappings = np.zeros(count, np.int64)
    nothing = Residency.empty(), Stores.empty()
    return ResidencyPlan(steps=Steps.listed(mappings), residency=nothing[0], stores=nothing[1])


def knows_time_only(problem: Problem, request: Request) -> Result:
    return (
        belady(problem, request)
        if request.objective.unit == "cycles"
        else Result(residency_plan=None)
    )


def proves_too_much(problem: Problem, request: Request) -> Result:
    zero = np.zeros(len(problem.operations), np.int64)
    wrong = Certificate(
        objective=request.objective, bits=4, spm=zero - 1, dram_in=zero, dram_out=zero
    )
    return replace(stream(problem, request), certificate=wrong)


def gives_up_when_stopped(problem: Problem, request: Request) -> Result:
    return Result(residency_plan=None) if request.stop() else belady(problem, request)


@pytest.mark.parametrize(
    ("policy", "fails"),
    [
        (keeps_all, suite.check_legal),
        (forgets_stores, suite.check_legal),
        (forgets_stores, suite.check_edges),
        (wavers, suite.check_deterministic),
        (does_not_look_at_room, suite.check_infeasible),
        (knows_time_only, suite.check_objectives),
        (proves_too_much, suite.check_bound),
        (gives_up_when_stopped, suite.check_stopped),
    ],
)
def test_what_is_wrong_is_found(
    policy: Callable[..., Any], fails: Callable[[Callable[..., Any]], None]
) -> None:
    with pytest.raises(AssertionError):
        fails(policy)


def test_every_check_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    checks = tuple(lambda policy, check=check: ran.append((policy, check)) for check in CHECKS)
    monkeypatch.setattr(suite, "CHECKS", checks)
    check_policy(belady)
    assert ran == [(belady, check) for check in CHECKS]


def test_a_schedule_that_is_too_good_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    too_much = [replace(known, makespan=known.makespan + 10**6) for known in suite._look_up()[:3]]
    monkeypatch.setattr(suite, "_look_up", lambda: tuple(too_much))
    with pytest.raises(AssertionError, match="is less than the optimum"):
        suite.check_optimum(belady)


def test_optima_are_those_of_all_schedules() -> None:
    known = suite._look_up()
    assert len(known) == 30
    assert OPTIMA.is_file()
    again = entries(8)
    assert [(str(each.makespan), str(each.traffic)) for each in known[: len(again)]] == [
        (entry["makespan"], entry["traffic"]) for entry in again
    ]
    assert all(isinstance(each, KnownOptimum) for each in known)
    assert any(each.makespan != each.traffic for each in known)


def test_edges_are_edges() -> None:
    edges = list(suite._edges())
    assert len(edges) == 10
    full = [
        each for each in edges if fitting_mappings(each)[0] == 0 and each.machine.spm_bytes == 16
    ]
    assert full
    assert len(CHECKS) == len({check.__name__ for check in CHECKS}) == 8
