"""Policies from outside: whatever they return becomes a verified schedule, or one clear line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import TRAFFIC
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan, Residency
from spmopt.core.scheduler import Policy, Request
from spmopt.core.timeline import fitting_timeline
from spmopt.policies import belady, stream
from spmopt.policies.policy import completed
from spmopt.schedulers.registry import SchedulerEntry, find, kind_of
from spmopt.solving import compare, solve
from tests.policies.owed import plan_of, random_instances, totals
from tests.solving.fakes import bounds_only, install

Stays = list[tuple[int, int, int]]


def nothing(instance: Instance) -> Stays:
    """Keep nothing."""
    return []


def first_tensor(instance: Instance) -> list[tuple[str, int, int]]:
    return [(instance.tensors[0].name, 0, len(instance.operations))]


def outcome(instance: Instance, request: Request) -> Outcome:
    return belady(instance, request)


def plan(instance: Instance, request: Request) -> Plan:
    return plan_of(belady(instance, request))


def residency(instance: Instance, request: Request) -> Residency:
    return plan_of(belady(instance, request, granularity="page")).residency


def with_seed(instance: Instance, seed: int = 3) -> Stays:
    assert seed == 3
    return []


def test_a_policy_takes_part_in_a_comparison_under_its_name() -> None:
    instance = next(random_instances(1))
    own, known = compare(instance, [nothing, "stream"], Request(objective=TRAFFIC))
    assert (own.scheduler, known.scheduler) == ("nothing", "stream")
    assert own.verified
    assert own.value == known.value
    assert own.bound == known.bound
    assert kind_of("nothing") == "policy"


@pytest.mark.parametrize("policy", [nothing, outcome, plan, residency, with_seed])
def test_every_kind_of_decision_is_taken(
    policy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, fluid=bounds_only)
    for instance in random_instances(25):
        assert solve(instance, policy, Request()).verified


def test_what_must_be_stored_is_worked_out() -> None:
    """A plan of a policy without its stores gets stores that are legal and move no more bytes."""
    for granularity in ("whole", "page"):
        for instance in random_instances(60):
            request = Request(objective=TRAFFIC, stop=lambda: True)
            known = plan_of(belady(instance, request, granularity=granularity))
            arrays = fitting_timeline(instance)
            again = completed(arrays, known.residency)
            assert totals(instance, again).traffic_bytes <= totals(instance, known).traffic_bytes


def test_stationary_operands_come_by_themselves() -> None:
    for instance in random_instances(20):
        arrays = fitting_timeline(instance)
        found = totals(instance, completed(arrays, Residency.empty()))
        streamed = totals(instance, plan_of(stream(instance, Request(objective=TRAFFIC))))
        assert found.traffic_bytes == streamed.traffic_bytes


def test_stays_may_overlap_and_name_tensors() -> None:
    instance = next(random_instances(1))
    steps = len(instance.operations)
    keeps = [(0, 1, steps - 2), (0, 0, 4), (0, 3, steps)]
    try:
        by_name = solve(instance, first_tensor, Request()).value
    except ScheduleError:
        by_name = None
    try:
        by_index = solve(instance, lambda _: keeps, Request()).value
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
    instance = next(random_instances(1))
    said = said.replace("4 tensors", f"{len(instance.tensors)} tensors")
    said = said.replace("10 steps", f"{len(instance.operations)} steps")

    def policy(instance: Instance) -> Any:
        return decision

    with pytest.raises(InputError, match=said) as raised:
        solve(instance, policy, Request())
    assert "\n" not in str(raised.value)


def test_names_of_policies_do_not_hide_schedulers() -> None:
    def page(instance: Instance) -> Stays:
        return []

    entry = find(page)
    assert entry.name == "tests.policies.test_own_policies.page"
    assert find(lambda instance: []).name == "lambda"
    assert find(SchedulerEntry(name="mine", target=nothing)).name == "mine"
    instance = next(random_instances(1))
    all_kept: list[Policy] = [lambda _: [], lambda _: Residency.empty()]
    one, other = compare(instance, all_kept, Request())
    assert one.scheduler == other.scheduler == "lambda"
    assert one.schedule is not other.schedule
