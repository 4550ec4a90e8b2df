"""What values are worth to memory space assignment, by hand: a byte a page, a byte a cycle."""

from __future__ import annotations

from spmopt.core.timeline import timeline_in_order
from spmopt.policies.msa.costs import boundedness, by_boundedness, costs, live_ranges
from tests.assemble.small import make_problem
from tests.tiny import Op


def test_benefits_add_up_where_operations_wait_and_are_divided_by_the_root_of_the_size() -> None:
    problem = make_problem(
        {"x": (9, "in"), "y": (4, ""), "z": (16, "keep")},
        [
            Op(reads="x", writes="y", cycles=3),  # 13 cycles of transfers: waits
            Op(reads="x y", cycles=1),  # 13: waits
            Op(reads="y", writes="z", cycles=30),  # 20: does not, by 10
            Op(reads="z", cycles=18),  # 16: does not, by 2
        ],
    )
    steps = timeline_in_order(problem)
    found = live_ranges(steps)
    benefit = costs(problem.machine, steps).benefit
    assert benefit.tolist() == [9, 4, 9, 4, -10, -10, -2]
    assert boundedness(steps, found, benefit).tolist() == [(9 + 9) / 3, (4 + 4) / 2, -2 / 4]
    assert by_boundedness(steps, found, benefit).tolist() == [0, 1, 2]


def test_a_required_resident_operand_delays_even_a_long_operation() -> None:
    problem = make_problem({"w": (5, "in")}, [Op(reads="w", cycles=50, required_resident="w")])
    cost = costs(problem.machine, timeline_in_order(problem))
    assert (cost.elapsed.tolist(), cost.saved.tolist(), cost.benefit.tolist()) == ([55], [5], [5])


def test_passes_and_directions_count_in_elapsed_time() -> None:
    operations = [Op(reads="x", writes="y", cycles=7, fetches={"x": 2, "y": 2})]
    tensors = {"x": (3, "in"), "y": (5, "keep")}
    shared = make_problem(tensors, operations, dma_setup_cycles=1)
    # x in: 1 + 6. y: partial sums in 1 + 5, out 1 + 10.
    assert costs(shared.machine, timeline_in_order(shared)).elapsed.tolist() == [7 + 6 + 11]
    duplex = make_problem(tensors, operations, dma_setup_cycles=1, duplex=True)
    assert costs(duplex.machine, timeline_in_order(duplex)).elapsed.tolist() == [13]
    assert costs(duplex.machine, timeline_in_order(duplex)).saved.tolist() == [2, 6]


def test_a_blind_write_begins_a_value() -> None:
    problem = make_problem(
        {"t": (4, "in")},
        [Op(reads="t"), Op(reads="t", writes="t"), Op(writes="t"), Op(reads="t")],
    )
    found = live_ranges(timeline_in_order(problem))
    assert (found.access.tolist(), found.first.tolist()) == ([0, 1, 2, 3], [0, 2, 4])
