"""Rules that count accesses: the static choice, and least frequently used."""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.timeline import timeline_in_order
from spmopt.policies.frequency import (
    HALF_LIFE,
    accesses_in_all,
    fading,
    fading_accesses,
    rarity,
    residency_plan_residency,
)
from spmopt.policies.ranked import keep_by_rank
from spmopt.policies.static import bytes_saved, choose, keep_all, nothing_kept
from tests.assemble.small import make_problem, reading, rows_of
from tests.policies.owed import totals
from tests.strategies import random_problem
from tests.tiny import Op


def traffic(problem: Problem, residency_plan: ResidencyPlan) -> int:
    return totals(problem, residency_plan).traffic_bytes


def static_choice(problem: Problem, pages: int | None = None) -> list[str]:
    machine = problem.machine
    room = machine.spm_pages if pages is None else pages
    keep = choose(timeline_in_order(problem), machine.page_bytes, room)
    return [name for name, kept in zip(problem.tensor_names, keep, strict=True) if kept]


def static_residency_plan(problem: Problem) -> ResidencyPlan:
    steps = timeline_in_order(problem)
    machine = problem.machine
    return keep_all(steps, choose(steps, machine.page_bytes, machine.spm_pages))


def test_static_keeps_the_most_saved_bytes_for_a_byte() -> None:
    problem = reading("abcabcab" + "a", b=6, c=2)
    # Saved per byte: 3 for a, 2 for b, 1 for c; b does not fit beside a.
    assert static_choice(problem) == ["a", "c"]
    residency_plan = static_residency_plan(problem)
    assert rows_of(problem, residency_plan.residency) == [("a", 0, 9, 4), ("c", 2, 6, 2)]
    assert traffic(problem, residency_plan) == 4 + 3 * 6 + 2


def test_static_leaves_room_for_scratch_and_other_required_resident_operands() -> None:
    problem = make_problem(
        {"a": (4, "in"), "w": (5, "in"), "v": (2, "in")},
        [
            Op(reads="a w", required_resident="w"),
            Op(reads="a v", scratch=1),
            Op(reads="v"),
        ],
        spm=9,
    )
    # w passes through in step 0 and saves nothing by staying; v no longer fits beside both.
    assert static_choice(problem) == ["a"]
    assert rows_of(problem, static_residency_plan(problem).residency) == [
        ("a", 0, 2, 4),
        ("w", 0, 1, 5),
    ]
    assert static_choice(problem, pages=8) == ["v"]


def test_a_chosen_required_resident_operand_needs_no_second_room() -> None:
    read = Op(reads="w a", required_resident="w")
    problem = make_problem({"w": (5, "in"), "a": (3, "in")}, [read, Op(), read], spm=8)
    assert static_choice(problem) == ["w", "a"]
    assert traffic(problem, static_residency_plan(problem)) == 5 + 3


def test_static_saves_what_it_says_it_does() -> None:
    for seed in range(60):
        problem = random_problem(
            seed, max_operations=15, max_tensors=8, max_operands=4, required_resident=False
        )
        steps = timeline_in_order(problem)
        keep = choose(steps, problem.machine.page_bytes, problem.machine.spm_pages)
        saved = traffic(problem, nothing_kept(steps)) - traffic(problem, keep_all(steps, keep))
        assert saved == bytes_saved(steps)[keep].sum()


def test_frequency_evicts_the_least_often_used_even_if_it_was_used_last() -> None:
    problem = reading("aabcba")
    steps = timeline_in_order(problem)
    # c displaces b (once) and not a (twice), though a is older; b then displaces nothing: c is
    # done.
    assert rows_of(problem, keep_by_rank(problem, steps, rarity(steps)).residency) == [
        ("a", 0, 6, 4),
        ("b", 2, 3, 4),
        ("b", 4, 5, 4),
        ("c", 3, 4, 4),
    ]


def test_accesses_fade() -> None:
    """Against the sum that the logarithm stands for, at every step from the access on."""
    for seed in range(20):
        steps = timeline_in_order(random_problem(seed, max_operations=30, max_tensors=6))
        found = fading_accesses(steps)
        for access, step in enumerate(steps.step.tolist()):
            same = (steps.tensor == steps.tensor[access]) & (steps.step <= step)
            ages = step - steps.step[same]
            assert np.isclose(
                2 ** (found[access] - step / HALF_LIFE), (0.5 ** (ages / HALF_LIFE)).sum()
            )


def test_what_was_used_often_long_ago_goes_first_where_accesses_fade() -> None:
    late = 4 * HALF_LIFE
    trace = "aaa" + "." * late + "bcab"
    problem = reading(trace)
    steps = timeline_in_order(problem)
    # c takes the room of b, used once, or of a, whose three accesses are worth 3 / 16 by then.
    last = len(trace) - 1
    by_count = keep_by_rank(problem, steps, rarity(steps)).residency
    assert ("a", 0, last, 4) in rows_of(problem, by_count)
    faded = rows_of(problem, keep_by_rank(problem, steps, fading(steps)).residency)
    assert ("b", 3 + late, last + 1, 4) in faded
    assert ("a", 0, 4 + late, 4) in faded


def test_what_is_used_more_often_in_all_is_not_displaced() -> None:
    problem = reading("abcabab" + "c")
    steps = timeline_in_order(problem)
    assert accesses_in_all(steps).tolist() == [3, 3, 2, 3, 3, 3, 3, 2]
    # c, used twice, waits until a has had its last use; a and b, used as often, do not displace.
    assert rows_of(
        problem, keep_by_rank(problem, steps, residency_plan_residency(steps)).residency
    ) == [
        ("a", 0, 6, 4),
        ("b", 1, 7, 4),
        ("c", 7, 8, 4),
    ]
    rare = reading("cabababc")
    steps = timeline_in_order(rare)
    # c goes as soon as what is used more often needs its room.
    assert rows_of(rare, keep_by_rank(rare, steps, residency_plan_residency(steps)).residency) == [
        ("a", 1, 6, 4),
        ("b", 2, 7, 4),
        ("c", 0, 2, 4),
        ("c", 7, 8, 4),
    ]
