"""Stalls are shared out in full, and obstacles are those that one finds step by step."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spmopt.analysis.explanation import Explanation
from spmopt.analysis.obstacles import Obstacle
from spmopt.analysis.stalls import Cause, split
from tests.assemble.small import legal_schedule
from tests.explain.naive import Naive
from tests.thorough import some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import rich_schedule

CAPACITY, CHANNEL, DEPENDENCY, AVOIDABLE = Obstacle


@pytest.mark.parametrize("seed", some(range(100)))
def test_every_transfer_by_another_way(seed: int) -> None:
    problem, schedule = rich_schedule(seed, max_operations=8, max_tensors=5)
    found, naive = Explanation.of(problem, schedule), Naive(problem, schedule)
    rows = {row.command: row for row in naive.rows()}
    stall = found.figures.stall_cycles
    assert found.by_obstacle.sum() == found.by_cause.sum() == stall.sum()
    for step in range(stall.size):
        transfers = found.transfers(step)
        assert sum(transfer.stall_cycles for transfer in transfers) == stall[step]
        for transfer in transfers:
            row = rows[transfer.command]
            assert abs(transfer.stall_cycles - row.stall) < 1
            assert sum(transfer.by_obstacle) == transfer.stall_cycles
            amounts = (row.capacity, row.channel, row.dependency, row.avoidable)
            for cycles, amount in zip(transfer.by_obstacle, amounts, strict=True):
                exact = Fraction(transfer.stall_cycles * amount, transfer.size_bytes)
                assert abs(cycles - exact) < 1, (transfer, row)
            assert (transfer.full_step is None) == (row.capacity == 0)
            assert (transfer.busy_step is None) == (row.channel == 0)


def test_split_adds_up() -> None:
    generator = np.random.default_rng(1)
    for _ in range(100):
        count = int(generator.integers(1, 6))
        group = np.sort(generator.integers(0, count, 12))
        weight = generator.integers(0, 5, 12)
        total = generator.integers(0, 50, count)
        parts = split(total, weight, group)
        for number in range(count):
            mine = group == number
            whole = weight[mine].sum()
            assert parts[mine].sum() == (total[number] if whole else 0)
            if whole:
                assert (np.abs(parts[mine] - total[number] * weight[mine] / whole) < 1).all()


def test_split_of_what_overflows() -> None:
    parts = split(np.array([2**60 - 1]), np.array([2**59, 2**58, 2**58]), np.zeros(3, np.int64))
    assert parts.tolist() == [2**59, 2**58, 2**58 - 1]


TENSORS = {"a": (8, "in"), "b": (8, "in"), "y": (8, ""), "z": (8, "keep")}
Planned = tuple[str, int, int, int]


def explained(
    operations: Sequence[Op],
    *rows: Planned,
    stores: Sequence[tuple[int, str, int]] = (),
    spm: int = 16,
    **machine: Any,
) -> Explanation:
    """A byte a cycle; rows are (tensor, begin, end, bytes), stores (step, tensor, bytes)."""
    written = " ".join(op.writes for op in operations).split()
    tensors = {
        name: (size, "" if what == "keep" and name not in written else what)
        for name, (size, what) in TENSORS.items()
    }
    problem = tiny(tensors, operations, spm=spm, **machine)
    return Explanation.of(problem, legal_schedule(problem, rows, stores))


def reasons(found: Explanation, step: int) -> dict[tuple[Cause, str], tuple[int, ...]]:
    """Cycles by obstacle of every transfer of a step."""
    return {(t.cause, t.name): t.by_obstacle for t in found.transfers(step)}


def test_room_for_half_and_time_for_a_quarter() -> None:
    # Step 0 is 10 long, moves 8: 2 spare; 4 bytes are free then. So of 8 cycles 4 are due to
    # capacity, 2 to the channel, 2 to nobody.
    found = explained(
        [Op(reads="b", cycles=10), Op(reads="a")], ("b", 0, 1, 8), ("a", 1, 2, 8), spm=12
    )
    assert reasons(found, 1) == {(Cause.LOAD, "a"): (4, 2, 0, 2)}
    (transfer,) = found.transfers(1)
    assert (transfer.full_step, transfer.busy_step, transfer.later) == (0, 0, False)
    assert [(m.transfer, m.tensor, m.cycles) for m in found.transfers_in(0)] == [("load", "b", 8)]


def test_the_first_step_could_leave_loads_to_later_ones() -> None:
    # Step 1 has 5 idle cycles, step 2, which needs a first, has 1: 6/8 of 6 cycles, rounded.
    operations = [Op(cycles=2), Op(cycles=5), Op(reads="a", cycles=1)]
    found = explained(operations, ("a", 0, 3, 8), spm=8)
    assert reasons(found, 0) == {(Cause.PREFETCH, "a"): (0, 2, 0, 4)}
    (transfer,) = found.transfers(0)
    assert (transfer.later, transfer.busy_step, transfer.needed_step) == (True, 1, 2)
    # A required-resident operand has to be there before the step begins.
    operations[2] = Op(reads="a", required_resident="a", cycles=9)
    found = explained(operations, ("a", 0, 3, 8), spm=8)
    assert found.transfers(0)[0].needed_step == 1
    assert reasons(found, 0) == {(Cause.PREFETCH, "a"): (0, 3, 0, 3)}
    found = explained([operations[0], operations[2]], ("a", 0, 2, 8), spm=8)
    assert reasons(found, 0) == {(Cause.PREFETCH, "a"): (0, 0, 6, 0)}
    assert found.transfers(0)[0].needed_step is None


def test_a_result_need_not_go_if_it_can_be_kept_to_its_last_use() -> None:
    found = explained([Op(writes="y"), Op(reads="y"), Op()], spm=8)
    assert reasons(found, 0) == {(Cause.STREAM_OUT, "y"): (0, 0, 0, 8)}
    assert found.transfers(0)[0].anyway_step == 1
    # Not with b in the way, although y is not used in that step.
    tight = explained(
        [Op(writes="y"), Op(reads="b", cycles=16), Op(reads="y")], ("b", 1, 2, 8), spm=8
    )
    assert reasons(tight, 0) == {(Cause.STREAM_OUT, "y"): (8, 0, 0, 0)}
    assert reasons(tight, 2) == {(Cause.STREAM_IN, "y"): (8, 0, 0, 0)}
    assert (tight.transfers(0)[0].full_step, tight.transfers(2)[0].full_step) == (1, 1)


def test_only_the_busier_channel_of_two_stalls() -> None:
    found = explained([Op(reads="a b", writes="y", cycles=6), Op(reads="y")], spm=4, duplex=True)
    # In 16, out 8: of 16 less 6 half each.
    assert found.figures.stall_cycles[0] == 10
    assert {t.name: t.stall_cycles for t in found.transfers(0)} == {"a": 5, "b": 5}


def test_largest_and_totals() -> None:
    found = explained([Op(reads="a"), Op(reads="a b"), Op(cycles=4)], spm=4)
    assert found.largest(5) == [1, 0]
    assert found.largest(1) == [1]
    assert found.by_cause[Cause.STREAM_IN] == found.by_cause.sum() == 24
    assert found.by_obstacle.sum() == 24
