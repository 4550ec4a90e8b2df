"""The brute force itself: cases worked out by hand, its claims, and its plans as schedules."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from tests.brute_force import optimum
from tests.checked import need
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import problems
from tests.thorough import share
from tests.tiny import Op, tiny

READ = Op(reads="x", cycles=5)
OBJECTIVES = ("traffic", "time", "energy")


def value(problem: Problem, objective: Objective, residency: str = "page") -> Fraction:
    found = need(optimum(problem, objective, residency=residency))
    return found.value


def test_a_stream_hides_behind_the_computation() -> None:
    problem = tiny({"x": (8, "in")}, [READ], spm=4)
    assert value(problem, MAKESPAN) == 8
    assert value(problem, TRAFFIC) == 8


def test_a_required_resident_operand_does_not() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x", cycles=5, required_resident="x")], spm=8)
    assert value(problem, MAKESPAN) == 8 + 5


@pytest.mark.parametrize(
    ("residency", "spm", "traffic"),
    [
        ("page", 8, 8),
        ("page", 7, 12),
        ("whole", 8, 8),
        ("whole", 7, 16),
    ],
)
def test_what_fits_is_read_once(residency: str, spm: int, traffic: int) -> None:
    problem = tiny({"x": (8, "in")}, [READ, READ], spm=spm)
    assert value(problem, TRAFFIC, residency) == traffic


def test_the_last_page_may_be_cut() -> None:
    problem = tiny(
        {"x": (5, "in"), "y": (4, "in")}, [READ, Op(reads="y", required_resident="y"), READ], spm=8
    )
    # One page of x stays beside y; the other, of one byte, is read twice.
    assert value(problem, TRAFFIC) == 5 + 4 + 1


def test_loads_run_ahead_of_their_use() -> None:
    # x arrives while the first operation computes.
    problem = tiny({"x": (8, "in"), "y": (1, "keep")}, [Op(writes="y", cycles=9), READ], spm=12)
    assert value(problem, MAKESPAN) == 9 + 5


def test_passes_cross_the_boundary_each_time() -> None:
    fetches = {"x": 3, "y": 2, "z": 2}
    operation = Op(reads="x z", writes="y z", fetches=fetches)
    tensors = {"x": (4, "in"), "y": (4, "keep"), "z": (8, "in keep")}
    # With one page: x in three times, y out twice and in once, z twice each way. x resident saves
    # 8, y resident 8, one page of z 16 - 8.
    assert value(tiny(tensors, [operation], spm=4), TRAFFIC) == 12 + 12 + 32 - 8
    assert value(tiny(tensors, [operation], spm=16), TRAFFIC) == 4 + 4 + 16


def test_dead_results_cost_nothing_and_dead_contents_need_no_store() -> None:
    write = Op(writes="y", cycles=1)
    problem = tiny({"y": (8, "")}, [write, write], spm=4)
    assert value(problem, TRAFFIC) == 0
    kept = tiny({"y": (8, "keep")}, [write, write], spm=4)
    assert value(kept, TRAFFIC) == 8


def test_a_dirty_tensor_is_stored_before_it_leaves() -> None:
    between = Op(reads="x", required_resident="x")
    operations = [Op(writes="y"), between, Op(reads="y")]
    problem = tiny({"x": (8, "in"), "y": (8, "")}, operations, spm=8)
    assert value(problem, TRAFFIC) == 8 + 8 + 8
    assert value(tiny({"x": (8, "in"), "y": (8, "")}, operations, spm=16), TRAFFIC) == 8


def test_a_required_resident_result_is_stored_after_the_computation() -> None:
    operation = Op(reads="x", writes="y", cycles=5, required_resident="y")
    tensors = {"x": (8, "in"), "y": (8, "keep")}
    assert value(tiny(tensors, [operation], spm=8), MAKESPAN) == 16
    long = Op(reads="x", writes="y", cycles=50, required_resident="y")
    assert value(tiny(tensors, [long], spm=8), MAKESPAN) == 50 + 8


def test_duplex_moves_both_ways_at_once() -> None:
    operation = Op(reads="x", writes="y", cycles=5)
    tensors = {"x": (8, "in"), "y": (6, "keep")}
    assert value(tiny(tensors, [operation], spm=4), MAKESPAN) == 14
    assert value(tiny(tensors, [operation], spm=4, duplex=True), MAKESPAN) == 8


def test_duplex_keeps_the_order_of_required_resident_operands() -> None:
    operation = Op(reads="x", writes="x", cycles=5, required_resident="x")
    problem = tiny({"x": (8, "in keep")}, [operation], spm=8, duplex=True)
    assert value(problem, MAKESPAN) == 8 + 5 + 8


def test_a_command_costs_its_set_up_and_whole_cycles() -> None:
    machine = {"dma_setup_cycles": 10, "dram_bytes_per_s": 3}
    problem = tiny({"x": (8, "in")}, [Op(reads="x", fetches={"x": 2})], spm=4, **machine)
    # 16 bytes as one command, or 8 as two: half loaded and kept costs a second set-up.
    assert value(problem, MAKESPAN) == 10 + 6
    roomy = tiny({"x": (8, "in")}, [Op(reads="x", fetches={"x": 2})], spm=8, **machine)
    assert value(roomy, MAKESPAN) == 10 + 3


def test_the_best_mode_is_taken() -> None:
    mappings = [Op(reads="x", cycles=20), Op(reads="x", cycles=1, required_resident="x")]
    assert value(tiny({"x": (8, "in")}, [mappings], spm=8), MAKESPAN) == 9
    assert value(tiny({"x": (8, "in")}, [mappings], spm=4), MAKESPAN) == 20


def test_scratch_takes_whole_pages() -> None:
    operation = Op(reads="x", cycles=5, scratch=1)
    assert value(tiny({"x": (8, "in")}, [operation, READ], spm=8), TRAFFIC) == 12


def test_no_legal_schedule() -> None:
    operation = Op(reads="x", required_resident="x")
    assert optimum(tiny({"x": (8, "in")}, [operation], spm=7), TRAFFIC) is None


def test_stores_by_pages_are_not_exact_for_time() -> None:
    # Two idle bytes of time in each of two steps take a page of y out, two bytes a step.
    operations = [
        Op(writes="y", cycles=2),
        Op(reads="y", cycles=2),
        Op(reads="x", required_resident="x"),
    ]
    problem = tiny({"y": (4, "keep"), "x": (4, "in")}, operations, spm=4)
    by_pages = need(optimum(problem, MAKESPAN, store_bytes=4))
    assert by_pages.value == 10
    assert value(problem, MAKESPAN) == 8


def test_an_problem_that_is_too_large_is_refused() -> None:
    tensors = dict.fromkeys("abcdef", (40, "in keep"))
    operation = Op(reads="a b c d e f", writes="a b c d e f")
    with pytest.raises(ValueError, match="smaller problem"):
        optimum(tiny(tensors, [operation, operation], spm=400), MAKESPAN)


@settings(max_examples=share(100), deadline=None)
@given(problems(**SMALL))
def test_page_stores_are_exact_for_traffic(problem: Problem) -> None:
    by_pages = small_optimum(problem, TRAFFIC)
    by_bytes = small_optimum(problem, TRAFFIC, store_bytes=1)
    assert by_pages.value == by_bytes.value
