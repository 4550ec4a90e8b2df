"""Every registered policy, in every choice of its options: legal, steady, no better than can be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import SCHEDULERS, Kind, find
from spmopt.testing import policies
from spmopt.testing.policies import (
    CHECKS,
    check_bound,
    check_edges,
    check_objectives,
    check_optimum,
    random_problems,
)
from tests.policies.owed import beats_no_optimum, is_whole, residency_plan_of, totals
from tests.thorough import THOROUGH, share, some

# One that rewrites the problem takes training networks alone: tests/policies/test_interleaved.py.
ENTRIES = [entry for entry in SCHEDULERS.values() if not entry.rewrite]
NAMES = [
    name
    for entry in ENTRIES
    if entry.kind is Kind.POLICY
    for name in (
        entry.name,
        *(f"{entry.name}:{key}={to}" for key, known in entry.options.items() for to in known),
    )
]
DEFAULTS = [
    f"{entry.name}:{key}={next(iter(known))}"
    for entry in ENTRIES
    for key, known in entry.options.items()
]
optima = policies._look_up
each_name = pytest.mark.parametrize("name", NAMES)
# The first choice is the default, which a test below proves: nothing else is run for it.
each_variant = pytest.mark.parametrize("name", [name for name in NAMES if name not in DEFAULTS])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@each_variant
def test_conformance(
    name: str, check: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if ":" in name and check is check_edges and not THOROUGH:
        return
    if ":" in name and check in (check_objectives, check_optimum):
        return  # options change neither; the optimum of their class is below
    if name not in ("belady", "tsai") and check is check_bound:
        return  # one in the listed order, one in another
    monkeypatch.setattr(
        policies, "random_problems", lambda count: random_problems(share(count, 12))
    )
    monkeypatch.setattr(policies, "_look_up", lambda: some(optima(), 6))
    check(name)


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
    for problem in random_problems(share(8, 4)):
        residency_plan, same = (
            residency_plan_of(find(chosen).load()(problem, Request())) for chosen in (name, first)
        )
        assert np.array_equal(residency_plan.steps.operation, same.steps.operation)
        assert residency_plan.residency == same.residency
        assert residency_plan.stores == same.stores


@each_variant
def test_no_schedule_beats_the_optimum_of_its_order(name: str) -> None:
    entry = find(name)
    beats_no_optimum(entry.load(), share(12), entry.granularity)


@each_variant
def test_tensors_are_kept_whole_where_the_choice_is_of_tensors(name: str) -> None:
    entry = find(name)
    for problem in random_problems(share(24)):
        residency_plan = residency_plan_of(entry.load()(problem, Request()))
        totals(problem, residency_plan)
        assert entry.granularity == "page" or is_whole(problem, residency_plan)
