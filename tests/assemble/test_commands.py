"""Commands against rules R2 to R5 and R10, each on a problem written by hand."""

from __future__ import annotations

import pytest

from spmopt.assemble import assemble, derive_commands
from spmopt.core.errors import ScheduleError
from tests.assemble.small import arrays, listed, make_problem, residency_plan
from tests.tiny import Op


def test_growth_loads_what_is_new_and_reader_streams_the_rest() -> None:
    problem = make_problem(
        {"x": (10, "in"), "y": (3, "in")}, [Op(reads="y"), Op(reads="x", writes="")]
    )
    chosen = residency_plan(problem, [("x", 0, 1, 4), ("x", 1, 2, 7)])
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (0, "load", "x", 0, 4, 1),
        (0, "stream_in", "y", 0, 3, 1),
        (1, "load", "x", 4, 7, 1),
        (1, "stream_in", "x", 7, 10, 1),
    ]


def test_shrinking_and_equal_rows_move_nothing_and_a_gap_loads_again() -> None:
    problem = make_problem({"x": (10, "in")}, [Op(reads="x")] + [Op()] * 4)
    chosen = residency_plan(
        problem, [("x", 0, 1, 10), ("x", 1, 2, 6), ("x", 2, 3, 6), ("x", 4, 5, 2)]
    )
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (0, "load", "x", 0, 10, 1),
        (4, "load", "x", 0, 2, 1),
    ]


def test_blind_write_sets_residency_freely_and_update_loads_what_grows() -> None:
    problem = make_problem(
        {"x": (10, "in keep"), "y": (8, "in keep")},
        [Op(writes="x"), Op(reads="y", writes="y")],
    )
    chosen = residency_plan(problem, [("x", 0, 1, 6), ("y", 1, 2, 5)], [(0, "x", 6), (1, "y", 5)])
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (0, "stream_out", "x", 6, 10, 1),
        (0, "store", "x", 0, 6, 1),
        (1, "load", "y", 0, 5, 1),
        (1, "stream_in", "y", 5, 8, 1),
        (1, "stream_out", "y", 5, 8, 1),
        (1, "store", "y", 0, 5, 1),
    ]


def test_passes_of_readers_results_and_updates() -> None:
    three = {"x": 3, "y": 3, "z": 3}
    problem = make_problem(
        {"x": (4, "in"), "y": (5, "keep"), "z": (6, "in keep")},
        [Op(reads="x z", writes="y z", fetches=three)],
    )
    chosen = residency_plan(problem)
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (0, "stream_in", "x", 0, 4, 3),
        (0, "stream_in", "y", 0, 5, 2),
        (0, "stream_in", "z", 0, 6, 3),
        (0, "stream_out", "y", 0, 5, 3),
        (0, "stream_out", "z", 0, 6, 3),
    ]


def test_dead_results_are_not_streamed_out() -> None:
    twice = {"y": 2, "z": 2}
    problem = make_problem(
        {"y": (5, ""), "z": (6, "in")}, [Op(reads="z", writes="y z", fetches=twice)]
    )
    chosen = residency_plan(problem)
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (0, "stream_in", "z", 0, 6, 2)
    ]


def test_result_overwritten_before_it_is_read_is_dead() -> None:
    problem = make_problem({"y": (5, "keep")}, [Op(writes="y"), Op(writes="y")])
    chosen = residency_plan(problem)
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (1, "stream_out", "y", 0, 5, 1)
    ]


def test_stores_extend_the_valid_suffix_downwards_from_the_streamed_part() -> None:
    problem = make_problem({"y": (10, "keep")}, [Op(writes="y")] + [Op()] * 3)
    chosen = residency_plan(problem, [("y", 0, 4, 8)], [(0, "y", 2), (1, "y", 1), (3, "y", 5)])
    assert listed(problem, derive_commands(arrays(problem, chosen), chosen)) == [
        (0, "stream_out", "y", 8, 10, 1),
        (0, "store", "y", 6, 8, 1),
        (1, "store", "y", 5, 6, 1),
        (3, "store", "y", 0, 5, 1),
    ]


def test_write_starts_a_new_version_with_nothing_stored() -> None:
    problem = make_problem(
        {"x": (4, "in"), "y": (6, "in keep")},
        [Op(reads="y", writes="y"), Op(reads="x"), Op(reads="y", writes="y")],
    )
    chosen = residency_plan(problem, [("y", 0, 3, 6)], [(1, "y", 6), (2, "y", 6)])
    stores = [
        row for row in listed(problem, assemble(problem, chosen).commands) if row[1] == "store"
    ]
    assert stores == [(1, "store", "y", 0, 6, 1), (2, "store", "y", 0, 6, 1)]


def test_queue_order_within_a_step() -> None:
    problem = make_problem(
        {
            "old": (1, "keep"),
            "weight": (2, "in"),
            "own": (3, "in"),
            "next": (4, "in"),
            "streamed": (5, "in"),
            "result": (6, "keep"),
            "sums": (7, "keep"),
        },
        [
            Op(writes="old"),
            Op(
                reads="weight own streamed",
                writes="result sums",
                required_resident="weight sums",
            ),
            Op(reads="next"),
        ],
    )
    chosen = residency_plan(
        problem,
        [
            ("old", 0, 2, 1),
            ("weight", 1, 2, 2),
            ("own", 1, 2, 3),
            ("next", 1, 3, 4),
            ("result", 1, 2, 6),
            ("sums", 1, 2, 7),
        ],
        [(1, "old", 1), (1, "result", 6), (1, "sums", 7)],
    )
    queue = [row[1:3] for row in listed(problem, assemble(problem, chosen).commands)]
    assert queue == [
        ("load", "weight"),
        ("load", "own"),
        ("load", "next"),
        ("store", "old"),
        ("stream_in", "streamed"),
        ("store", "result"),
        ("store", "sums"),
    ]


def test_store_of_more_than_dram_lacks_cannot_be_expressed() -> None:
    problem = make_problem({"y": (5, "keep")}, [Op(writes="y"), Op()])
    chosen = residency_plan(problem, [("y", 0, 2, 5)], [(0, "y", 3), (1, "y", 3)])
    with pytest.raises(ScheduleError, match=r"more bytes than DRAM lacks.*row 1"):
        assemble(problem, chosen)
