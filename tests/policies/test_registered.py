"""Every registered policy, in every choice of its options: legal, steady, no better than can be."""

from __future__ import annotations

import numpy as np
import pytest

from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import SCHEDULERS, Kind, find
from tests.policies.owed import beats_no_optimum, plan_of, random_instances, totals

NAMES = [
    name
    for entry in SCHEDULERS.values()
    if entry.kind is Kind.POLICY
    for name in (
        entry.name,
        *(f"{entry.name}:{key}={to}" for key, known in entry.options.items() for to in known),
    )
]
each_name = pytest.mark.parametrize("name", NAMES)


@each_name
def test_schedules_are_legal_and_the_same_again(name: str) -> None:
    scheduler = find(name).load()
    for instance in random_instances(20):
        first, second = (plan_of(scheduler(instance, Request())) for _ in range(2))
        totals(instance, first)
        assert np.array_equal(first.operation, second.operation)
        assert first.residency == second.residency
        assert first.stores == second.stores


@each_name
def test_the_first_choice_is_the_default(name: str) -> None:
    entry = find(name)
    first = ":".join(
        (
            name.split(":", maxsplit=1)[0],
            *(
                f"{key}={entry.chosen.get(key, next(iter(known)))}"
                for key, known in entry.options.items()
            ),
        )
    )
    for instance in random_instances(8):
        plan, same = (plan_of(find(chosen).load()(instance, Request())) for chosen in (name, first))
        assert np.array_equal(plan.operation, same.operation)
        assert plan.residency == same.residency
        assert plan.stores == same.stores


@each_name
def test_no_schedule_beats_the_optimum_of_its_order(name: str) -> None:
    entry = find(name)
    beats_no_optimum(entry.load(), 12, entry.granularity)
