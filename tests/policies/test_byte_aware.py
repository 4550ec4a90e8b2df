"""Byte-aware Belady on traces worked out by hand, and against the optimum of small traces."""

from __future__ import annotations

from random import Random

from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from spmopt.policies.belady import belady, distance
from spmopt.policies.belady_size import belady_size, keep_by_bytes
from spmopt.policies.ranked import keep_by_rank
from tests.assemble.small import make_problem, reading, rows_of, stores_of
from tests.brute_force import optimum
from tests.policies.owed import residency_plan_of, totals
from tests.thorough import some
from tests.tiny import Op


def by_bytes(problem: Problem, reserve: int = 0, *, partial: bool = False) -> ResidencyPlan:
    steps = timeline_in_order(problem)
    return keep_by_bytes(problem, steps, distance(steps), reserve, "page" if partial else "whole")


def by_distance(problem: Problem) -> ResidencyPlan:
    steps = timeline_in_order(problem)
    return keep_by_rank(problem, steps, distance(steps))


def traffic(problem: Problem, residency_plan: ResidencyPlan) -> int:
    return totals(problem, residency_plan).traffic_bytes


def test_a_small_victim_stays_when_a_large_one_makes_it_needless() -> None:
    problem = reading("smnnms", 6, s=1, m=5)
    # The farthest, s, is one byte and not enough; m alone is.
    assert traffic(problem, by_distance(problem)) == (1 + 5 + 4) + (5 + 1)
    residency_plan = by_bytes(problem)
    assert rows_of(problem, residency_plan.residency) == [
        ("m", 1, 2, 5),
        ("m", 4, 5, 5),
        ("n", 2, 4, 4),
        ("s", 0, 6, 1),
    ]
    assert traffic(problem, residency_plan) == (1 + 5 + 4) + 5


def test_a_small_operand_does_not_displace_a_large_one() -> None:
    problem = reading("lssl", l=8, s=1)
    # Belady takes s in, one step before l, and loads 8 again to save 1.
    assert traffic(problem, by_distance(problem)) == 8 + 1 + 8
    assert rows_of(problem, by_bytes(problem).residency) == [("l", 0, 4, 8)]
    assert traffic(problem, by_bytes(problem)) == 8 + 1 + 1


def test_a_write_back_counts_unless_it_is_due_anyway() -> None:
    due = make_problem(
        {"x": (4, "in"), "y": (4, "keep"), "w": (4, "in")},
        [
            Op(writes="y"),
            Op(reads="x"),
            Op(reads="w", required_resident="w"),
            Op(reads="x"),
            Op(reads="y"),
        ],
        spm=8,
    )
    # For w goes x, at 4 bytes in one step, or y, at 4 in two: it is stored in any case.
    assert stores_of(due, by_bytes(due).stores) == [(1, "y", 4)]
    assert traffic(due, by_bytes(due)) == 4 + 4 + 4 + 4
    closer = make_problem(
        {"x": (4, "in"), "y": (4, ""), "w": (4, "in")},
        [
            Op(writes="y"),
            Op(reads="x"),
            Op(reads="w", required_resident="w"),
            Op(),
            Op(reads="x"),
            Op(reads="y"),
        ],
        spm=8,
    )
    assert stores_of(closer, by_distance(closer).stores) == [(1, "y", 4)]
    assert traffic(closer, by_distance(closer)) == 4 + 4 + 4 + 4
    # x at 4 / 2 a step goes before y at 8 / 3.
    assert not stores_of(closer, by_bytes(closer).stores)
    assert traffic(closer, by_bytes(closer)) == 4 + 4 + 4
    assert traffic(closer, by_bytes(closer, partial=True)) == 4 + 4 + 4


def test_the_reserve_stays_free() -> None:
    problem = make_problem({"x": (4, "in"), "y": (4, "in")}, [Op(reads="x y")] * 2, spm=10)
    assert rows_of(problem, by_bytes(problem, 3).residency) == [("x", 0, 2, 4)]
    assert rows_of(problem, by_bytes(problem, 3, partial=True).residency) == [
        ("x", 0, 2, 4),
        ("y", 0, 2, 3),
    ]


def random_trace(random: Random) -> Problem:
    """Reads of three to five tensors of 1 to 6 bytes; room for a part of them."""
    names = "abcde"[: random.randint(3, 5)]
    sizes = {name: random.randint(1, 6) for name in names}
    trace = [random.choice(names) for _ in range(random.randint(6, 12))]
    most = max(2, 2 * sum(sizes.values()) // 3)
    return make_problem(
        {name: (size, "in") for name, size in sizes.items()},
        [Op(reads=name) for name in trace],
        spm=random.randint(min(sizes.values()), most),
    )


def test_it_is_nearer_to_the_optimum_than_belady_is() -> None:
    random, over = Random(5), {belady: [0.0, 0.0], belady_size: [0.0, 0.0]}
    for _ in some(range(120)):
        problem = random_trace(random)
        best = optimum(problem, TRAFFIC, residency="whole")
        assert best is not None
        for policy, (worse, excess) in over.items():
            residency_plan = residency_plan_of(policy(problem, Request(objective=TRAFFIC)))
            ratio = float(traffic(problem, residency_plan) / best.value)
            assert ratio >= 1
            over[policy] = [worse + (ratio > 1), excess + ratio - 1]
    assert over[belady_size][0] < over[belady][0]
    assert over[belady_size][1] < 0.7 * over[belady][1]
