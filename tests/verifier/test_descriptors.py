"""DMA descriptors: by hand, and against a count page by page."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.schedule import Command, Schedule
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.verifier import descriptors, verify
from tests.strategies import random_problem
from tests.verifier.builders import IN, LOAD, OUT, STORE, Rows, schedule
from tests.verifier.random_plans import random_schedule

PAGE = 4


def counted(commands: Rows, placements: Rows) -> list[int]:
    """Commands as (step, kind, tensor, begin, end); placements as in the table."""
    rows = [(*command, 1) for command in commands]
    residency_plan = schedule(1, [], rows, placements)
    return [
        int(count)
        for count in descriptors(PAGE, residency_plan.commands, residency_plan.placements)
    ]


def page_by_page(residency_plan: Schedule, page_bytes: int) -> list[int]:
    """One more wherever the next page of a load or store is not the next one of the SPM."""
    placed, commands = residency_plan.placements, residency_plan.commands
    address: dict[tuple[int, int, int], int] = {}
    for row in range(len(placed)):
        for step in range(placed.begin[row], placed.end[row]):
            for k in range(placed.pages[row]):
                page = int(placed.tensor_page[row]) + k
                address[step, int(placed.tensor[row]), page] = int(placed.spm_page[row]) + k
    found = []
    for row in range(len(commands)):
        many = 1
        if commands.kind[row] in (Command.LOAD, Command.STORE):
            step, tensor = int(commands.step[row]), int(commands.tensor[row])
            first = int(commands.begin[row]) // page_bytes
            last = -(-int(commands.end[row]) // page_bytes)
            pages = [address[step, tensor, page] for page in range(first, last)]
            many += sum(b != a + 1 for a, b in pairwise(pages))
        found.append(many)
    return found


def test_one_run_or_two_of_them() -> None:
    command = (0, LOAD, 0, 0, 16)
    assert counted([command], [(0, 0, 4, 3, 0, 1)]) == [1]
    assert counted([command], [(0, 0, 2, 3, 0, 1), (0, 2, 2, 9, 0, 1)]) == [2]
    # Pages in the wrong order are no run, though they fill a range.
    assert counted([command], [(0, 0, 2, 5, 0, 1), (0, 2, 2, 3, 0, 1)]) == [2]


def test_only_the_pages_that_a_command_touches_count() -> None:
    micro_batches = [(0, 0, 1, 0, 0, 1), (0, 1, 1, 5, 0, 1), (0, 2, 2, 8, 0, 1), (0, 4, 1, 2, 0, 1)]
    commands = [(0, STORE, 0, begin, 20) for begin in (0, 3, 4, 7, 8, 12, 15, 16, 19)]
    assert counted(commands, micro_batches) == [4, 4, 3, 3, 2, 2, 2, 1, 1]
    commands = [(0, LOAD, 0, 0, end) for end in (1, 4, 5, 8, 9, 13, 16, 17)]
    assert counted(commands, micro_batches) == [1, 1, 2, 2, 3, 3, 3, 4]


def test_runs_that_adjoin_by_accident_are_one() -> None:
    # Tensor 1 ends where tensor 0 begins, which is no matter; both parts of 0 adjoin.
    rows = [(1, 0, 2, 1, 0, 1), (0, 0, 2, 3, 0, 1), (0, 2, 1, 5, 0, 1), (0, 3, 2, 6, 0, 1)]
    assert counted([(0, LOAD, 0, 0, 20), (0, LOAD, 1, 0, 8)], rows) == [1, 1]


def test_streams_count_once_whatever_is_resident() -> None:
    micro_batches = [(0, 0, 1, 0, 0, 1), (0, 1, 1, 5, 0, 1)]
    assert (
        counted([(0, IN, 0, 8, 40), (0, OUT, 0, 8, 40), (0, IN, 1, 0, 40)], micro_batches)
        == [1] * 3
    )


def test_addresses_are_those_of_the_step() -> None:
    # Pages 2 and 3 lie apart from the first two in steps 0 and 1, are gone in step 2, and come
    # back behind them in step 3; from step 4 on two more lie apart.
    rows = [(0, 0, 2, 4, 0, 6), (0, 2, 2, 9, 0, 2), (0, 2, 2, 6, 3, 6), (0, 4, 2, 1, 4, 6)]
    commands = [
        (0, LOAD, 0, 0, 16),
        (1, STORE, 0, 8, 16),
        (1, STORE, 0, 4, 12),
        (2, STORE, 0, 0, 8),
        (3, LOAD, 0, 8, 16),
        (3, STORE, 0, 0, 16),
        (4, LOAD, 0, 16, 24),
        (5, STORE, 0, 0, 24),
    ]
    assert counted(commands, rows) == [2, 1, 2, 1, 1, 1, 1, 2]


def test_rows_that_are_split_in_time_are_the_same_place() -> None:
    # Pages 0 and 1 as two rows, one after the other; 2 and 3 lie elsewhere throughout, 4 and 5
    # elsewhere from the step on in which the second row begins, when 2 and 3 begin anew too.
    rows = [
        *((0, 0, 2, 4, 0, 3), (0, 0, 2, 4, 3, 6)),
        *((0, 2, 2, 9, 0, 3), (0, 2, 2, 9, 3, 6)),
        (0, 4, 2, 1, 3, 6),
    ]
    commands = [(step, STORE, 0, 0, 16) for step in range(6)]
    assert counted(commands, rows) == [2] * 6
    assert counted([(step, STORE, 0, 0, 24) for step in (3, 4, 5)], rows) == [3] * 3
    whole = [*rows[:2], (0, 2, 2, 9, 0, 6)]
    assert counted(commands, whole) == [2] * 6
    assert counted(commands, [(0, 0, 2, 4, 0, 6), *rows[2:]]) == [2] * 6


def test_nothing_to_move_and_nothing_resident() -> None:
    assert counted([], []) == []
    assert counted([], [(0, 0, 2, 4, 0, 1), (0, 2, 1, 0, 0, 1)]) == []
    assert counted([(0, IN, 3, 0, 8)], []) == [1]


@given(st.integers(0, 2**31), st.booleans())
def test_equal_to_a_count_page_by_page(seed: int, long: bool) -> None:
    most = {"max_operations": 14 if long else 4, "max_tensor_pages": 9 if long else 3}
    problem, residency_plan = random_schedule(seed, free_order=False, max_tensors=6, **most)
    expected = page_by_page(residency_plan, problem.machine.page_bytes)
    found = descriptors(
        problem.machine.page_bytes, residency_plan.commands, residency_plan.placements
    )
    assert found.tolist() == expected
    totals = verify(problem, residency_plan).totals
    assert totals is not None
    assert totals.dma_commands == len(expected)
    assert totals.dma_descriptors == sum(expected)


def test_random_schedules_lie_in_pieces() -> None:
    """Otherwise the test above says little."""
    most = []
    for seed in range(60):
        problem, residency_plan = random_schedule(seed, max_operations=14, max_tensor_pages=9)
        most.append(max(page_by_page(residency_plan, problem.machine.page_bytes), default=0))
    assert sum(many > 2 for many in most) > 10


@pytest.mark.parametrize("seed", range(3))
def test_contiguous_tensors_take_one_a_command(seed: int) -> None:
    problem = random_problem(seed, max_operations=8, max_tensors=6, max_tensor_pages=6)
    totals = solve(problem, "contiguous", Request(threads=1)).totals
    assert totals is not None
    assert totals.dma_commands
    assert totals.dma_descriptors == totals.dma_commands
