"""What values are worth to memory space assignment, by hand: a byte a page, a byte a cycle."""

from __future__ import annotations

from spmopt.core.timeline import listed_timeline
from spmopt.policies.msa.costs import boundedness, by_boundedness, costs, live_ranges
from tests.assemble.small import Op, data, made, problem


def test_benefits_add_up_where_operations_wait_and_are_divided_by_the_root_of_the_size() -> None:
    instance = problem(
        {"x": data(9), "y": made(4), "z": made(16, keep=True)},
        [
            Op(reads=["x"], writes=["y"], cycles=3),  # 13 cycles of transfers: waits
            Op(reads=["x", "y"], cycles=1),  # 13: waits
            Op(reads=["y"], writes=["z"], cycles=30),  # 20: does not, by 10
            Op(reads=["z"], cycles=18),  # 16: does not, by 2
        ],
    )
    steps = listed_timeline(instance)
    found = live_ranges(steps)
    benefit = costs(instance.machine, steps).benefit
    assert benefit.tolist() == [9, 4, 9, 4, -10, -10, -2]
    assert boundedness(steps, found, benefit).tolist() == [(9 + 9) / 3, (4 + 4) / 2, -2 / 4]
    assert by_boundedness(steps, found, benefit).tolist() == [0, 1, 2]


def test_a_stationary_operand_delays_even_a_long_operation() -> None:
    instance = problem({"w": data(5)}, [Op(reads=["w"], cycles=50, stationary=["w"])])
    cost = costs(instance.machine, listed_timeline(instance))
    assert (cost.elapsed.tolist(), cost.saved.tolist(), cost.benefit.tolist()) == ([55], [5], [5])


def test_passes_and_directions_count_in_elapsed_time() -> None:
    operations = [Op(reads=["x"], writes=["y"], cycles=7, passes={"x": 2, "y": 2})]
    tensors = {"x": data(3), "y": made(5, keep=True)}
    shared = problem(tensors, operations, setup=1)
    # x in: 1 + 6. y: partial sums in 1 + 5, out 1 + 10.
    assert costs(shared.machine, listed_timeline(shared)).elapsed.tolist() == [7 + 6 + 11]
    duplex = problem(tensors, operations, setup=1, duplex=True)
    assert costs(duplex.machine, listed_timeline(duplex)).elapsed.tolist() == [13]
    assert costs(duplex.machine, listed_timeline(duplex)).saved.tolist() == [2, 6]


def test_a_blind_write_begins_a_value() -> None:
    instance = problem(
        {"t": data(4)},
        [Op(reads=["t"]), Op(reads=["t"], writes=["t"]), Op(writes=["t"]), Op(reads=["t"])],
    )
    found = live_ranges(listed_timeline(instance))
    assert (found.access.tolist(), found.first.tolist()) == ([0, 1, 2, 3], [0, 2, 4])
