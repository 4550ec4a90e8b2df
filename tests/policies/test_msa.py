"""Where values go by memory space assignment, by hand: a byte a page, a byte a cycle."""

from __future__ import annotations

import pytest

from spmopt.assemble import derive_commands
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from spmopt.policies.msa import msa
from tests.assemble.small import make_problem, rows_of, stores_of
from tests.assemble.step_cycles import step_cycles
from tests.tiny import Op

Row = tuple[str, int, int, int]


def assigned(problem: Problem, copies: str = "elapsed", late: str = "stream") -> ResidencyPlan:
    residency_plan = msa(problem, Request(), copies=copies, late=late).residency_plan
    assert residency_plan is not None
    return residency_plan


def rows(problem: Problem, copies: str = "elapsed", late: str = "stream") -> list[Row]:
    return rows_of(problem, assigned(problem, copies, late).residency)


def durations(problem: Problem, residency_plan: ResidencyPlan) -> list[int]:
    steps = timeline_in_order(problem)
    found: list[int] = step_cycles(
        problem.machine, steps, derive_commands(steps, residency_plan)
    ).tolist()
    return found


def test_a_prefetch_overlaps_about_one_and_a_half_times_its_copy() -> None:
    problem = make_problem(
        {"w": (4, "in")}, [Op(cycles=10), Op(cycles=5), Op(reads="w", cycles=5)], spm=8
    )
    # Wanted: 6 cycles of overlap. From step 1 there are 5, from step 0 there are 15.
    assert rows(problem) == [("w", 1, 3, 4)]
    assert durations(problem, assigned(problem)) == [10, 5, 5]


def test_a_copy_that_overlaps_too_little_is_not_made() -> None:
    operations = [Op(cycles=3), Op(reads="w", cycles=4)]
    # At least 0.8 of 4 cycles; there are 3, and 4 for the other machine.
    assert rows(make_problem({"w": (4, "in")}, operations, spm=8)) == []
    operations = [Op(cycles=4), Op(reads="w", cycles=4)]
    assert rows(make_problem({"w": (4, "in")}, operations, spm=8)) == [("w", 0, 2, 4)]


def test_what_the_use_saves_makes_up_for_overlap() -> None:
    # On chip the use takes 1 cycle instead of 4: 0.2 cycles of overlap are enough. There is
    # time for the copy in one cycle of step 1 and three of step 0.
    problem = make_problem(
        {"w": (4, "in")}, [Op(cycles=3), Op(cycles=1), Op(reads="w", cycles=1)], spm=8
    )
    assert rows(problem) == [("w", 0, 1, 3), ("w", 1, 3, 4)]
    assert durations(problem, assigned(problem)) == [3, 1, 1]


def test_a_prefetch_waits_for_room() -> None:
    operations = [
        Op(cycles=10),
        Op(cycles=2, scratch=6),
        Op(cycles=4),
        Op(reads="w", cycles=5),
    ]
    # From step 1 on there are just 6 cycles; with 2 free pages there it must be step 2.
    assert rows(make_problem({"w": (4, "in")}, operations, spm=10)) == [
        ("w", 1, 2, 2),
        ("w", 2, 4, 4),
    ]
    assert rows(make_problem({"w": (4, "in")}, operations, spm=8)) == [("w", 2, 4, 4)]
    del operations[2]
    assert rows(make_problem({"w": (4, "in")}, operations, spm=8)) == []


def test_a_value_defined_on_chip_stays_until_its_last_use() -> None:
    problem = make_problem(
        {"y": (4, "")},
        [Op(writes="y", cycles=1), Op(cycles=5), Op(reads="y"), Op(cycles=1), Op(reads="y")],
        spm=4,
    )
    residency_plan = assigned(problem)
    assert rows_of(problem, residency_plan.residency) == [("y", 0, 5, 4)]
    assert stores_of(problem, residency_plan.stores) == []


def test_no_value_waits_longer_than_ten_copies_of_the_scratchpad() -> None:
    def waiting(cycles: int) -> list[Row]:
        operations = [Op(writes="y"), Op(cycles=cycles), Op(reads="y")]
        return rows(make_problem({"y": (4, "")}, operations, spm=4))

    assert waiting(40) == [("y", 0, 3, 4)]
    assert waiting(41) == []


def test_an_evicted_value_is_copied_after_its_last_use() -> None:
    problem = make_problem(
        {"y": (4, "")},
        [
            Op(writes="y", cycles=4),
            Op(reads="y", cycles=4),
            Op(cycles=3),
            Op(cycles=8),
            Op(cycles=10, scratch=6),
            Op(reads="y", cycles=2),
        ],
        spm=6,
    )
    residency_plan = assigned(problem)
    # 3 bytes move in step 2, the last in step 3. The scratch leaves no room to come back.
    assert rows_of(problem, residency_plan.residency) == [("y", 0, 4, 4)]
    assert stores_of(problem, residency_plan.stores) == [(2, "y", 3), (3, "y", 1)]
    assert durations(problem, residency_plan) == [4, 4, 3, 8, 10, 4]


@pytest.mark.parametrize("copies", ["elapsed", "idle"])
def test_without_time_after_its_last_use_it_is_copied_where_it_is_written(copies: str) -> None:
    problem = make_problem(
        {"y": (4, "")},
        [Op(writes="y"), Op(reads="y"), Op(scratch=6), Op(reads="y")],
        spm=6,
    )
    residency_plan = assigned(problem, copies)
    assert rows_of(problem, residency_plan.residency) == [("y", 0, 2, 4)]
    assert stores_of(problem, residency_plan.stores) == [(0, "y", 4)]
    assert durations(problem, residency_plan) == [4, 0, 0, 4]


def test_a_required_resident_result_is_not_copied_while_it_is_written() -> None:
    problem = make_problem(
        {"y": (4, "")},
        [
            Op(writes="y", cycles=4, required_resident="y"),
            Op(reads="y", cycles=4),
            Op(scratch=6),
            Op(reads="y"),
        ],
        spm=6,
    )
    assert stores_of(problem, assigned(problem).stores) == [(1, "y", 4)]


def test_a_required_resident_operand_may_stay_from_its_use_on() -> None:
    step = Op(reads="w", cycles=5, required_resident="w")
    assert rows(make_problem({"w": (4, "in")}, [step, Op(cycles=1), step], spm=4)) == [
        ("w", 0, 3, 4)
    ]


def test_idle_copies_keep_out_of_the_way_of_streams() -> None:
    problem = make_problem(
        {"x": (8, "in"), "w": (4, "in")},
        [Op(reads="x", cycles=5), Op(reads="w", cycles=1)],
        spm=8,
    )
    published, idle = assigned(problem), assigned(problem, "idle")
    assert durations(problem, published) == [12, 1]
    assert rows_of(problem, idle.residency) == []
    assert durations(problem, idle) == [8, 4]


def test_late_operands_are_loaded_where_they_are_used_again() -> None:
    problem = make_problem({"w": (4, "in")}, [Op(reads="w"), Op(reads="w")], spm=4)
    assert rows(problem) == []
    assert rows(problem, late="load") == [("w", 0, 2, 4)]
    assert durations(problem, assigned(problem, late="load")) == [4, 0]


def test_the_value_that_operations_wait_for_gets_the_room() -> None:
    problem = make_problem(
        {"b": (4, ""), "a": (4, "")},
        [Op(writes="b a", cycles=20), Op(reads="b", cycles=20), Op(reads="a")],
        spm=4,
    )
    assert rows(problem) == [("a", 0, 3, 4)]


def test_the_largest_sizes_are_placed_like_small_ones() -> None:
    def residency_plan(unit: int) -> tuple[list[Row], list[tuple[int, str, int]]]:
        problem = make_problem(
            {"a": (unit, "in"), "y": (unit, ""), "z": (unit - 3, "keep")},
            [
                Op(cycles=unit),
                Op(reads="a", writes="y", cycles=unit),
                Op(reads="a y", writes="z", cycles=unit),
                Op(reads="z", cycles=3),
                Op(cycles=unit),
            ],
            spm=3 * unit,
        )
        found = assigned(problem)
        return rows_of(problem, found.residency), stores_of(problem, found.stores)

    for unit in (2**4, 2**54):
        rows, stores = residency_plan(unit)
        assert rows == [("a", 0, 3, unit), ("y", 1, 3, unit), ("z", 2, 5, unit - 3)]
        assert stores == [(4, "z", unit - 3)]
