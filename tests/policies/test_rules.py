"""Each rule on traces worked out by hand, before transfers are hidden."""

from __future__ import annotations

from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.timeline import timeline_in_order
from spmopt.policies.belady import distance
from spmopt.policies.lru import recency
from spmopt.policies.ranked import keep_by_rank
from spmopt.policies.static import nothing_kept
from tests.assemble.small import make_problem, reading, rows_of, stores_of
from tests.tiny import Op


def by_lru(problem: Problem, reserve: int = 0) -> ResidencyPlan:
    steps = timeline_in_order(problem)
    return keep_by_rank(problem, steps, recency(steps), reserve)


def by_belady(problem: Problem, reserve: int = 0) -> ResidencyPlan:
    steps = timeline_in_order(problem)
    return keep_by_rank(problem, steps, distance(steps), reserve)


def test_stream_holds_required_resident_operands_for_their_step_only() -> None:
    problem = make_problem(
        {"w": (4, "in"), "x": (6, "in"), "y": (5, "keep"), "dead": (3, "")},
        [
            Op(reads="w x", writes="y dead", required_resident="w y dead"),
            Op(reads="x y"),
            Op(reads="w", required_resident="w"),
        ],
    )
    residency_plan = nothing_kept(timeline_in_order(problem))
    assert rows_of(problem, residency_plan.residency) == [
        ("w", 0, 1, 4),
        ("w", 2, 3, 4),
        ("y", 0, 1, 5),
        ("dead", 0, 1, 3),
    ]
    assert stores_of(problem, residency_plan.stores) == [(0, "y", 5)]


def test_lru_evicts_the_longest_unused() -> None:
    problem = reading("abacbab", spm=8)
    # c takes the place of b, used before a; b comes back into that of c, which is done.
    assert rows_of(problem, by_lru(problem).residency) == [
        ("a", 0, 6, 4),
        ("b", 1, 3, 4),
        ("b", 4, 7, 4),
        ("c", 3, 4, 4),
    ]


def test_belady_streams_what_is_needed_later_than_all_that_is_kept() -> None:
    problem = reading("abacbab", spm=8)
    assert rows_of(problem, by_belady(problem).residency) == [("a", 0, 6, 4), ("b", 1, 7, 4)]


def test_belady_evicts_the_farthest_next_use() -> None:
    problem = reading("abcbcab", spm=8)
    # At the first c: b comes back before a.
    assert rows_of(problem, by_belady(problem).residency) == [
        ("a", 0, 2, 4),
        ("a", 5, 6, 4),
        ("b", 1, 7, 4),
        ("c", 2, 5, 4),
    ]


def test_a_dirty_victim_is_stored_before_it_goes_and_a_dead_one_is_not() -> None:
    problem = make_problem(
        {"y": (4, ""), "dead": (2, ""), "a": (6, "in"), "b": (8, "in")},
        [
            Op(writes="y dead"),
            Op(reads="dead"),
            Op(reads="a"),
            Op(reads="b"),
            Op(reads="a y"),
        ],
        spm=10,
    )
    residency_plan = by_lru(problem)
    assert rows_of(problem, residency_plan.residency) == [
        ("y", 0, 3, 4),
        ("y", 4, 5, 4),
        ("dead", 0, 2, 2),
        ("a", 2, 3, 6),
        ("a", 4, 5, 6),
        ("b", 3, 4, 8),
    ]
    assert stores_of(problem, residency_plan.stores) == [(2, "y", 4)]


def test_a_clean_victim_is_not_stored_again() -> None:
    problem = make_problem(
        {"x": (4, "in keep"), "a": (8, "in")},
        [Op(reads="x", writes="x")] + [Op(reads=name) for name in "axax"],
        spm=8,
    )
    residency_plan = by_lru(problem)
    assert stores_of(problem, residency_plan.stores) == [(0, "x", 4)]


def test_a_final_result_is_stored_while_it_is_still_there() -> None:
    problem = make_problem({"y": (4, "keep")}, [Op(writes="y"), Op(), Op()], spm=8)
    for residency_plan in (by_lru(problem), by_belady(problem)):
        assert rows_of(problem, residency_plan.residency) == [("y", 0, 3, 4)]
        assert stores_of(problem, residency_plan.stores) == [(2, "y", 4)]


def test_a_result_overwritten_before_it_is_read_is_not_kept() -> None:
    problem = make_problem({"y": (4, "keep")}, [Op(writes="y"), Op(writes="y")], spm=8)
    for residency_plan in (by_lru(problem), by_belady(problem)):
        assert rows_of(problem, residency_plan.residency) == [("y", 1, 2, 4)]


def test_required_resident_operands_displace_even_operands_of_the_same_step() -> None:
    problem = make_problem(
        {"x": (6, ""), "w": (7, "in"), "v": (3, "in")},
        [Op(writes="x"), Op(reads="x w v", required_resident="w"), Op(reads="x")],
        spm=10,
    )
    for residency_plan in (by_lru(problem), by_belady(problem)):
        # x is stored and streamed; v then takes what w leaves; x returns when w has gone.
        assert rows_of(problem, residency_plan.residency) == [
            ("x", 0, 1, 6),
            ("x", 2, 3, 6),
            ("w", 1, 2, 7),
            ("v", 1, 2, 3),
        ]
        assert stores_of(problem, residency_plan.stores) == [(0, "x", 6)]


def test_scratch_takes_room_like_a_required_resident_operand() -> None:
    problem = make_problem({"x": (6, "in")}, [Op(reads="x"), Op(scratch=5), Op(reads="x")], spm=10)
    assert rows_of(problem, by_belady(problem).residency) == [("x", 0, 1, 6), ("x", 2, 3, 6)]


def test_an_operand_larger_than_the_scratchpad_is_streamed() -> None:
    problem = make_problem({"x": (11, "in"), "y": (3, "in")}, [Op(reads="x y")] * 2, spm=10)
    for residency_plan in (by_lru(problem), by_belady(problem)):
        assert rows_of(problem, residency_plan.residency) == [("y", 0, 2, 3)]


def test_pages_are_rounded_up_and_the_scratchpad_down() -> None:
    problem = make_problem({"x": (5, "in"), "y": (5, "in")}, [Op(reads="x y")] * 2, spm=15, page=4)
    assert rows_of(problem, by_belady(problem).residency) == [("x", 0, 2, 5)]


def test_belady_takes_in_an_operand_of_several_passes_though_others_come_sooner() -> None:
    tensors = {"a": (6, "in"), "b": (6, "in")}
    once = reading("abab", size=6)
    assert rows_of(once, by_belady(once).residency) == [("a", 0, 3, 6), ("b", 3, 4, 6)]
    twice = make_problem(
        tensors,
        [Op(reads="a"), Op(reads="b", fetches={"b": 2}), Op(reads="a"), Op(reads="b")],
        spm=8,
    )
    assert rows_of(twice, by_belady(twice).residency) == [
        ("a", 0, 1, 6),
        ("b", 1, 4, 6),
    ]


def test_the_reserve_stays_free_but_for_required_resident_operands() -> None:
    problem = make_problem(
        {"x": (4, "in"), "w": (9, "in"), "y": (4, "in")},
        [Op(reads="x"), Op(reads="x y"), Op(reads="x w", required_resident="w")],
        spm=10,
    )
    assert rows_of(problem, by_belady(problem, reserve=3).residency) == [
        ("x", 0, 2, 4),
        ("w", 2, 3, 9),
    ]
