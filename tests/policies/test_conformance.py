"""What every policy owes on any problem: legality, exact figures, nothing lost by hiding."""

from __future__ import annotations

import pytest

from spmopt.assemble import derive_commands
from spmopt.core.objective import MAKESPAN, TRAFFIC, energy_objective
from spmopt.core.scheduler import Request, Scheduler
from spmopt.core.timeline import timeline
from spmopt.policies.belady import belady
from spmopt.policies.belady_size import belady_size
from spmopt.policies.frequency import frequency
from spmopt.policies.hide import hide_transfers, spread_transfers
from spmopt.policies.lru import lru
from spmopt.policies.static import static, stream
from tests.assemble.step_cycles import step_cycles
from tests.policies.owed import (
    random_problems,
    residency_plan_of,
    totals,
)
from tests.thorough import share

POLICIES: tuple[Scheduler, ...] = (stream, lru, belady, belady_size, frequency, static)
HIDING = "spmopt.policies.policy.hide_transfers"
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)


@each_policy
def test_hiding_is_legal_moves_no_more_and_never_costs_time(
    policy: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = 0
    for problem in random_problems(share(60)):
        monkeypatch.setattr(
            HIDING, lambda machine, steps, residency_plan, granularity: residency_plan
        )
        plain = totals(problem, residency_plan_of(policy(problem, Request(objective=TRAFFIC))))
        monkeypatch.setattr(HIDING, hide_transfers)
        hidden = totals(problem, residency_plan_of(policy(problem, Request(objective=TRAFFIC))))
        assert hidden.makespan_cycles <= plain.makespan_cycles
        assert hidden.traffic_bytes <= plain.traffic_bytes
        faster += hidden.makespan_cycles < plain.makespan_cycles
    # What is chosen once for the whole run is loaded once: little is left to hide.
    assert faster >= share(12 if policy is static else 20) - 1


@each_policy
def test_every_spread_plan_is_legal_even_where_it_is_not_taken(
    policy: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HIDING, spread_transfers)
    for problem in random_problems(share(60)):
        totals(problem, residency_plan_of(policy(problem, Request())))


@each_policy
def test_the_reserve_never_costs_the_objective(policy: Scheduler) -> None:
    for problem in random_problems(share(30)):
        for objective in (MAKESPAN, energy_objective(problem.machine)):
            free = residency_plan_of(policy(problem, Request(objective=objective)))
            stopped = residency_plan_of(
                policy(problem, Request(objective=objective, stop=lambda: True))
            )
            found, first = totals(problem, free), totals(problem, stopped)
            assert found.value(objective) <= first.value(objective)


@each_policy
def test_step_times_are_the_verifiers(policy: Scheduler) -> None:
    for problem in random_problems(share(30)):
        residency_plan = residency_plan_of(policy(problem, Request()))
        steps = timeline(problem, residency_plan.steps)
        mine = step_cycles(problem.machine, steps, derive_commands(steps, residency_plan))
        assert int(mine.sum()) == totals(problem, residency_plan).makespan_cycles
