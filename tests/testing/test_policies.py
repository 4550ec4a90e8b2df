"""The conformance suite finds what is wrong with a policy, each check its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from spmopt.core.instance import Instance
from spmopt.core.modes import fitting_modes
from spmopt.core.result import Certificate, Outcome
from spmopt.core.schedule import Plan, Residency, Steps, Stores
from spmopt.core.scheduler import Request
from spmopt.policies import belady, stream
from spmopt.testing import CHECKS, check_policy
from spmopt.testing import policies as suite
from spmopt.testing.policies import KnownOptimum
from tests.policies.optima import OPTIMA, entries

_RUNS = count()


def keeps_all(instance: Instance) -> list[tuple[int, int, int]]:
    return [(tensor, 0, len(instance.operations)) for tensor in range(len(instance.tensors))]


def forgets_stores(instance: Instance, request: Request) -> Outcome:
    found = belady(instance, request)
    assert found.plan is not None
    return replace(found, plan=replace(found.plan, stores=Stores.empty()))


def wavers(instance: Instance, request: Request) -> Outcome:
    return (belady if next(_RUNS) % 2 else stream)(instance, request)


def does_not_look_at_room(instance: Instance) -> Plan:
    count = len(instance.operations)
    modes = np.zeros(count, np.int64)
    nothing = Residency.empty(), Stores.empty()
    return Plan(steps=Steps.listed(modes), residency=nothing[0], stores=nothing[1])


def knows_time_only(instance: Instance, request: Request) -> Outcome:
    return belady(instance, request) if request.objective.unit == "cycles" else Outcome(plan=None)


def proves_too_much(instance: Instance, request: Request) -> Outcome:
    zero = np.zeros(len(instance.operations), np.int64)
    wrong = Certificate(
        objective=request.objective, bits=4, spm=zero - 1, dram_in=zero, dram_out=zero
    )
    return replace(stream(instance, request), certificate=wrong)


def gives_up_when_stopped(instance: Instance, request: Request) -> Outcome:
    return Outcome(plan=None) if request.stop() else belady(instance, request)


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
    with pytest.raises(AssertionError):
        check_policy(policy)


def test_a_schedule_that_is_too_good_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    too_much = [replace(known, makespan=known.makespan + 10**6) for known in suite._known()[:3]]
    monkeypatch.setattr(suite, "_known", lambda: tuple(too_much))
    with pytest.raises(AssertionError, match="is less than the optimum"):
        suite.check_optimum(belady)


def test_optima_are_those_of_all_schedules() -> None:
    known = suite._known()
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
    full = [each for each in edges if fitting_modes(each)[0] == 0 and each.machine.spm_bytes == 16]
    assert full
    assert len(CHECKS) == len({check.__name__ for check in CHECKS}) == 8
