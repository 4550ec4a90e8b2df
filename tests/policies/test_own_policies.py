"""Policies from outside: whatever they return becomes a verified schedule, or one clear line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import Residency, ResidencyPlan
from spmopt.core.scheduler import Policy, Request
from spmopt.core.timeline import fitting_timeline
from spmopt.policies.belady import belady
from spmopt.policies.policy import complete
from spmopt.policies.static import stream
from spmopt.schedulers.registry import SchedulerEntry, find, kind_of
from spmopt.solving import compare, solve
from tests.policies.owed import random_problems, residency_plan_of, totals
from tests.solving.fakes import bounds_only, install
from tests.thorough import share

Stays = list[tuple[int, int, int]]


def nothing(problem: Problem) -> Stays:
    """Keep nothing."""
    return []


def first_tensor(problem: Problem) -> list[tuple[str, int, int]]:
    return [(problem.tensors[0].name, 0, len(problem.operations))]


def outcome(problem: Problem, request: Request) -> Result:
    return belady(problem, request)


def residency_plan(problem: Problem, request: Request) -> ResidencyPlan:
    return residency_plan_of(belady(problem, request))


def residency(problem: Problem, request: Request) -> Residency:
    return residency_plan_of(belady(problem, request, granularity="page")).residency


def with_seed(problem: Problem, seed: int = 3) -> Stays:
    assert seed == 3
    return []


def test_a_policy_takes_part_in_a_comparison_under_its_name() -> None:
    problem = next(random_problems(1))
    own, known = compare(problem, [nothing, "stream"], Request(objective=TRAFFIC))
    assert (own.scheduler, known.scheduler) == ("nothing", "stream")
    assert own.verified
    assert own.value == known.value
    assert own.bound == known.bound
    assert kind_of("nothing") == "policy"


@pytest.mark.parametrize("policy", [nothing, outcome, residency_plan, residency, with_seed])
def test_every_kind_of_decision_is_taken(
    policy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    for problem in random_problems(share(25, 4)):
        assert solve(problem, policy, Request()).verified


def test_what_must_be_stored_is_worked_out() -> None:
    """A plan of a policy without its stores gets stores that are legal and move no more bytes."""
    for granularity in ("tensor", "page"):
        for problem in random_problems(share(60, 4)):
            request = Request(objective=TRAFFIC, stop=lambda: True)
            known = residency_plan_of(belady(problem, request, granularity=granularity))
            arrays = fitting_timeline(problem)
            again = complete(arrays, known.residency)
            assert totals(problem, again).traffic_bytes <= totals(problem, known).traffic_bytes


def test_required_resident_operands_come_by_themselves() -> None:
    for problem in random_problems(share(20, 2)):
        arrays = fitting_timeline(problem)
        found = totals(problem, complete(arrays, Residency.empty()))
        streamed = totals(problem, residency_plan_of(stream(problem, Request(objective=TRAFFIC))))
        assert found.traffic_bytes == streamed.traffic_bytes


def test_stays_may_overlap_and_name_tensors() -> None:
    problem = next(random_problems(1))
    steps = len(problem.operations)
    keeps = [(0, 1, steps - 2), (0, 0, 4), (0, 3, steps)]
    try:
        by_name = solve(problem, first_tensor, Request()).value
    except ScheduleError:
        by_name = None
    try:
        by_index = solve(problem, lambda _: keeps, Request()).value
    except ScheduleError:
        by_index = None
    assert by_name == by_index


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (None, "a policy returned NoneType; return"),
        ([("nowhere", 0, 1)], "give .tensor, first step, end"),
        ([(0, 1)], "give .tensor, first step, end"),
        ([(0, 2, 2)], "there are 4 tensors and 10 steps"),
        ([(99, 0, 1)], "there are"),
    ],
)
def test_a_decision_that_is_none_is_one_line(decision: object, said: str) -> None:
    problem = next(random_problems(1))
    said = said.replace("4 tensors", f"{len(problem.tensors)} tensors")
    said = said.replace("10 steps", f"{len(problem.operations)} steps")

    def policy(problem: Problem) -> Any:
        return decision

    with pytest.raises(InputError, match=said) as raised:
        solve(problem, policy, Request())
    assert "\n" not in str(raised.value)


def test_names_of_policies_do_not_hide_schedulers() -> None:
    def belady(problem: Problem) -> Stays:
        return []

    entry = find(belady)
    assert entry.name == "tests.policies.test_own_policies.belady"
    assert find(lambda problem: []).name == "lambda"
    assert find(SchedulerEntry(name="mine", target=nothing)).name == "mine"
    problem = next(random_problems(1))
    all_kept: list[Policy] = [lambda _: [], lambda _: Residency.empty()]
    one, other = compare(problem, all_kept, Request())
    assert one.scheduler == other.scheduler == "lambda"
    assert one.schedule is not other.schedule
