"""Where hidden transfers go, on cases worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.assemble import derive_commands
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.policies.hide import hide_transfers, spread_transfers
from tests.assemble.small import arrays, make_problem, residency_plan, rows_of, stores_of
from tests.assemble.step_cycles import step_cycles
from tests.tiny import Op

Rows = Sequence[tuple[str, int, int, int]]


def makespan(problem: Problem, chosen: ResidencyPlan) -> int:
    steps = arrays(problem, chosen)
    return int(step_cycles(problem.machine, steps, derive_commands(steps, chosen)).sum())


def hidden(problem: Problem, chosen: ResidencyPlan) -> ResidencyPlan:
    return hide_transfers(problem.machine, arrays(problem, chosen), chosen)


def weights_after(cycles: Sequence[int], weight: int, page: int = 1, setup: int = 0) -> Problem:
    """Operations that only compute, then one that needs ``w`` required-resident."""
    idle = [Op(cycles=c) for c in cycles]
    last = Op(reads="w", cycles=1, required_resident="w")
    return make_problem({"w": (weight, "in")}, [*idle, last], page=page, dma_setup_cycles=setup)


def test_a_load_hides_under_the_compute_before() -> None:
    problem = weights_after([10], 6)
    before = residency_plan(problem, [("w", 1, 2, 6)])
    after = hidden(problem, before)
    assert (makespan(problem, before), makespan(problem, after)) == (10 + 6 + 1, 10 + 1)
    assert rows_of(problem, after.residency) == [("w", 0, 2, 6)]


def test_a_load_spreads_over_several_steps_nearest_first() -> None:
    problem = weights_after([5, 0, 2], 9)
    after = hidden(problem, residency_plan(problem, [("w", 3, 4, 9)]))
    # Two bytes in step 2, five in step 0, two at the use.
    assert rows_of(problem, after.residency) == [("w", 0, 2, 5), ("w", 2, 3, 7), ("w", 3, 4, 9)]
    assert makespan(problem, after) == 5 + 0 + 2 + (2 + 1)


def test_every_piece_pays_the_setup() -> None:
    problem = weights_after([5, 5], 6, setup=3)
    after = hidden(problem, residency_plan(problem, [("w", 2, 3, 6)]))
    assert rows_of(problem, after.residency) == [("w", 0, 1, 2), ("w", 1, 2, 4), ("w", 2, 3, 6)]
    assert makespan(problem, after) == 5 + 5 + (3 + 2 + 1)


def test_room_limits_what_is_loaded_ahead() -> None:
    problem = make_problem(
        {"a": (7, "in"), "w": (6, "in")},
        [
            Op(cycles=20),
            Op(reads="a", cycles=9, required_resident="a"),
            Op(reads="w", cycles=1, required_resident="w"),
        ],
        spm=10,
    )
    after = hidden(problem, residency_plan(problem, [("a", 1, 2, 7), ("w", 2, 3, 6)]))
    assert rows_of(problem, after.residency) == [
        ("a", 0, 2, 7),
        ("w", 1, 2, 3),
        ("w", 2, 3, 6),
    ]
    assert makespan(problem, after) == 20 + 9 + (3 + 1)


def test_a_load_does_not_start_before_its_bytes_are_in_dram() -> None:
    problem = make_problem(
        {"y": (6, "")},
        [
            Op(cycles=20),
            Op(writes="y", cycles=20),
            Op(cycles=2),
            Op(reads="y", required_resident="y"),
        ],
    )
    after = hidden(problem, residency_plan(problem, [("y", 3, 4, 6)]))
    assert rows_of(problem, after.residency) == [("y", 2, 3, 2), ("y", 3, 4, 6)]


def test_idle_residency_gives_way_to_a_load() -> None:
    problem = make_problem(
        {"a": (8, "in"), "w": (8, "in")},
        [
            Op(reads="a", cycles=20),
            Op(cycles=10),
            Op(reads="w", cycles=1, required_resident="w"),
        ],
        spm=8,
    )
    before = residency_plan(problem, [("a", 0, 2, 8), ("w", 2, 3, 8)])
    assert rows_of(problem, hidden(problem, before).residency) == [("a", 0, 1, 8), ("w", 1, 3, 8)]


def test_an_ordinary_load_moves_only_what_its_own_step_cannot_hide() -> None:
    problem = make_problem({"x": (9, "in")}, [Op(cycles=10), Op(reads="x", cycles=6)])
    after = hidden(problem, residency_plan(problem, [("x", 1, 2, 9)]))
    assert rows_of(problem, after.residency) == [("x", 0, 1, 3), ("x", 1, 2, 9)]
    assert makespan(problem, after) == 10 + 6


def test_streams_leave_less_idle_time() -> None:
    problem = make_problem(
        {"x": (7, "in"), "w": (6, "in")},
        [Op(reads="x", cycles=10), Op(reads="w", required_resident="w")],
    )
    after = hidden(problem, residency_plan(problem, [("w", 1, 2, 6)]))
    assert rows_of(problem, after.residency) == [("w", 0, 1, 3), ("w", 1, 2, 6)]


def test_duplex_streams_out_do_not_delay_loads() -> None:
    problem = make_problem(
        {"y": (9, "keep"), "w": (6, "in")},
        [Op(writes="y", cycles=10), Op(reads="w", required_resident="w")],
        duplex=True,
    )
    after = hidden(problem, residency_plan(problem, [("w", 1, 2, 6)]))
    assert rows_of(problem, after.residency) == [("w", 0, 2, 6)]


def test_a_required_resident_result_is_stored_later_and_shrinks() -> None:
    problem = make_problem(
        {"y": (7, "keep")},
        [Op(writes="y", cycles=1, required_resident="y"), Op(cycles=3), Op(cycles=2), Op()],
    )
    before = residency_plan(problem, [("y", 0, 4, 7)], [(3, "y", 7)])
    after = hidden(problem, before)
    assert stores_of(problem, after.stores) == [(0, "y", 2), (1, "y", 3), (2, "y", 2)]
    assert rows_of(problem, after.residency) == [("y", 0, 1, 7), ("y", 1, 2, 5), ("y", 2, 3, 2)]
    assert makespan(problem, after) == (1 + 2) + 3 + 2


def test_a_dirty_tensor_is_stored_while_it_is_still_read() -> None:
    problem = make_problem(
        {"y": (6, "keep")},
        [Op(writes="y", cycles=1), Op(cycles=4), Op(reads="y", cycles=4), Op(cycles=9)],
    )
    after = hidden(problem, residency_plan(problem, [("y", 0, 3, 6)], [(2, "y", 6)]))
    assert stores_of(problem, after.stores) == [(0, "y", 1), (1, "y", 4), (2, "y", 1)]
    assert makespan(problem, after) == 1 + 4 + 4 + 9


def test_a_store_does_not_outlast_the_eviction() -> None:
    problem = make_problem(
        {"y": (6, "keep")},
        [Op(writes="y", required_resident="y"), Op(cycles=4), Op(cycles=9)],
    )
    before = residency_plan(problem, [("y", 0, 2, 6)], [(1, "y", 6)])
    steps = arrays(problem, before)
    after = spread_transfers(problem.machine, steps, before)
    assert stores_of(problem, after.stores) == [(0, "y", 2), (1, "y", 4)]
    assert makespan(problem, after) == makespan(problem, before) == 6 + 9
    assert hidden(problem, before) is before


def test_the_most_urgent_transfer_goes_first() -> None:
    # y can be loaded from step 2 on only, so w leaves that time to y and uses step 0.
    problem = make_problem(
        {"w": (4, "in"), "y": (3, "")},
        [
            Op(cycles=4),
            Op(writes="y", cycles=3),
            Op(cycles=3),
            Op(reads="w y", required_resident="w y"),
        ],
    )
    after = hidden(problem, residency_plan(problem, [("w", 3, 4, 4), ("y", 3, 4, 3)]))
    assert rows_of(problem, after.residency) == [("w", 0, 4, 4), ("y", 2, 4, 3)]
    assert makespan(problem, after) == 4 + 3 + 3


def test_without_idle_time_the_plan_stays_as_it_is() -> None:
    problem = weights_after([0, 0], 6)
    before = residency_plan(problem, [("w", 2, 3, 6)])
    assert hidden(problem, before) is before
