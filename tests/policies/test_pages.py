"""Heads of tensors by pages: rules by hand, legality, and transfers hidden between uses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.assemble.index import resident_bytes
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline, timeline_in_order
from spmopt.policies.belady import belady, distance
from spmopt.policies.belady_size import belady_size, keep_by_bytes
from spmopt.policies.frequency import rarity
from spmopt.policies.hide import spread_transfers
from spmopt.policies.lru import recency
from spmopt.policies.ranked import keep_by_rank
from tests.assemble.small import make_problem, reading, rows_of, stores_of
from tests.brute_force import optimum
from tests.policies.owed import random_problems, residency_plan_of, totals
from tests.thorough import share
from tests.tiny import Op

Keep = Callable[[Problem, Timeline], ResidencyPlan]

KEEPS: dict[str, Keep] = {
    "belady": lambda problem, steps: keep_by_rank(problem, steps, distance(steps), 0, "page"),
    "lru": lambda problem, steps: keep_by_rank(problem, steps, recency(steps), 0, "page"),
    "frequency": lambda problem, steps: keep_by_rank(problem, steps, rarity(steps), 2, "page"),
    "size": lambda problem, steps: keep_by_bytes(problem, steps, distance(steps), 0, "page"),
}
each_keep = pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)


def test_a_victim_is_trimmed_by_what_is_needed() -> None:
    problem = reading("abba", a=6)
    residency_plan = KEEPS["belady"](problem, timeline_in_order(problem))
    # b takes two pages of a; once b has gone, what is missing of a comes back.
    assert rows_of(problem, residency_plan.residency) == [
        ("a", 0, 1, 6),
        ("a", 1, 3, 4),
        ("a", 3, 4, 6),
        ("b", 1, 3, 4),
    ]
    assert totals(problem, residency_plan).traffic_bytes == 6 + 4 + 2


def test_an_operand_is_taken_in_as_far_as_it_may() -> None:
    problem = reading("abab", a=6)
    residency_plan = KEEPS["belady"](problem, timeline_in_order(problem))
    # a comes sooner than b, so that only two free pages are for b until a is done.
    assert rows_of(problem, residency_plan.residency) == [
        ("a", 0, 3, 6),
        ("b", 1, 3, 2),
        ("b", 3, 4, 4),
    ]
    assert totals(problem, residency_plan).traffic_bytes == 6 + 4 + 2


def test_what_is_trimmed_is_written_back_once_and_the_rest_when_it_goes() -> None:
    problem = make_problem(
        {"y": (8, ""), "a": (3, "in"), "b": (7, "in")},
        [
            Op(writes="y"),
            Op(reads="a", required_resident="a"),
            Op(reads="b", required_resident="b"),
            Op(reads="y"),
        ],
        spm=8,
    )
    for name in ("belady", "lru", "size"):
        residency_plan = KEEPS[name](problem, timeline_in_order(problem))
        # Trimmed to 5 for a and to 1 for b: 3 bytes are stored, then 4 (clean in between).
        assert stores_of(problem, residency_plan.stores) == [(0, "y", 3), (1, "y", 4)]
        assert rows_of(problem, residency_plan.residency)[:3] == [
            ("y", 0, 1, 8),
            ("y", 1, 2, 5),
            ("y", 2, 3, 1),
        ]


def test_a_tail_of_less_than_a_page_counts_as_one() -> None:
    problem = make_problem(
        {"a": (9, "in"), "w": (4, "in")},
        [Op(reads="a"), Op(reads="w", required_resident="w"), Op(reads="a")],
        spm=12,
        page=4,
    )
    residency_plan = KEEPS["belady"](problem, timeline_in_order(problem))
    assert rows_of(problem, residency_plan.residency) == [
        ("a", 0, 1, 9),
        ("a", 1, 2, 8),
        ("a", 2, 3, 9),
        ("w", 1, 2, 4),
    ]


@each_keep
def test_plans_and_every_spread_plan_are_legal_and_move_no_more(keep: Keep) -> None:
    faster = 0
    for problem in random_problems(share(70, 8)):
        steps = fitting_timeline(problem)
        plain = keep(problem, steps)
        spread = spread_transfers(problem.machine, steps, plain, "page")
        before, after = totals(problem, plain), totals(problem, spread)
        assert after.traffic_bytes <= before.traffic_bytes
        faster += after.makespan_cycles < before.makespan_cycles
        for residency_plan in (plain, spread):
            held = resident_bytes(residency_plan.residency, steps.step, steps.tensor)
            page = problem.machine.page_bytes
            assert ((held % page == 0) | (held == steps.size_bytes[steps.tensor])).all()
    assert faster >= share(24, 8)


@given(
    st.lists(st.integers(1, 4), min_size=4, max_size=4),
    st.text("abcd", min_size=1, max_size=9),
    st.integers(1, 8),
)
@settings(max_examples=share(40), deadline=None)
def test_by_pages_belady_is_optimal_for_tensors_of_any_size(
    sizes: list[int], trace: str, spm: int
) -> None:
    problem = reading(trace, spm, **dict(zip("abcd", sizes, strict=True)))
    best = optimum(problem, TRAFFIC, residency="page")
    assert best is not None
    for policy in (belady, belady_size):
        residency_plan = residency_plan_of(
            policy(problem, Request(objective=TRAFFIC), granularity="page")
        )
        assert totals(problem, residency_plan).traffic_bytes == best.value
