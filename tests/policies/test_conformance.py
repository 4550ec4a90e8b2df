"""What every policy owes on any instance: legality, exact figures, nothing lost by hiding."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from spmopt.assemble import derive_commands, step_cycles
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC, energy_objective
from spmopt.core.scheduler import Request, Scheduler
from spmopt.core.timeline import timeline
from spmopt.policies import belady, belady_size, frequency, lru, static, stream
from spmopt.policies.transfers.hide import hide_transfers, spread_transfers
from tests.policies.owed import beats_no_optimum, is_whole, plan_of, random_instances, totals
from tests.strategies import instances
from tests.thorough import share

POLICIES: tuple[Scheduler, ...] = (stream, lru, belady, belady_size, frequency, static)
HIDING = "spmopt.policies.outcome.hide_transfers"
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)


@each_policy
def test_tensors_are_kept_whole(policy: Scheduler) -> None:
    for instance in random_instances(share(30)):
        assert is_whole(instance, plan_of(policy(instance, Request())))


@each_policy
@settings(max_examples=share(40), deadline=None)
@given(instance=instances(max_operations=8, max_tensors=6, max_modes=2, duplex=True, setup=True))
def test_schedules_of_shrinking_instances_are_legal(policy: Scheduler, instance: Instance) -> None:
    totals(instance, plan_of(policy(instance, Request())))


@each_policy
def test_hiding_is_legal_moves_no_more_and_never_costs_time(
    policy: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = 0
    for instance in random_instances(share(60)):
        monkeypatch.setattr(HIDING, lambda machine, steps, plan, granularity: plan)
        plain = totals(instance, plan_of(policy(instance, Request(objective=TRAFFIC))))
        monkeypatch.setattr(HIDING, hide_transfers)
        hidden = totals(instance, plan_of(policy(instance, Request(objective=TRAFFIC))))
        assert hidden.makespan_cycles <= plain.makespan_cycles
        assert hidden.traffic_bytes <= plain.traffic_bytes
        faster += hidden.makespan_cycles < plain.makespan_cycles
    # What is chosen once for the whole run is loaded once: little is left to hide.
    assert faster > share(12 if policy is static else 20)


@each_policy
def test_every_spread_plan_is_legal_even_where_it_is_not_taken(
    policy: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HIDING, spread_transfers)
    for instance in random_instances(share(60)):
        totals(instance, plan_of(policy(instance, Request())))


@each_policy
def test_the_reserve_never_costs_the_objective(policy: Scheduler) -> None:
    for instance in random_instances(share(30)):
        for objective in (MAKESPAN, energy_objective(instance.machine)):
            free = plan_of(policy(instance, Request(objective=objective)))
            stopped = plan_of(policy(instance, Request(objective=objective, stop=lambda: True)))
            found, first = totals(instance, free), totals(instance, stopped)
            assert found.value(objective) <= first.value(objective)


@each_policy
def test_no_policy_beats_the_optimum(policy: Scheduler) -> None:
    beats_no_optimum(policy, share(40))


@each_policy
def test_step_times_are_the_verifiers(policy: Scheduler) -> None:
    for instance in random_instances(share(30)):
        plan = plan_of(policy(instance, Request()))
        steps = timeline(instance, plan.steps)
        mine = step_cycles(instance.machine, steps, derive_commands(steps, plan))
        assert int(mine.sum()) == totals(instance, plan).makespan_cycles
