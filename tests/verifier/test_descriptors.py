"""DMA descriptors: by hand, and against a count page by page."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.schedule import Command, Schedule
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.verifier import descriptors, verify
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.verifier.builders import IN, Rows, schedule
from tests.verifier.random_plans import random_schedule
from tests.verifier.test_retention import fused

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


def test_nothing_to_move_and_nothing_resident() -> None:
    assert counted([], []) == []
    assert counted([], [(0, 0, 2, 4, 0, 1), (0, 2, 1, 0, 0, 1)]) == []
    assert counted([(0, IN, 3, 0, 8)], []) == [1]


@settings(max_examples=share(200), deadline=None)
@given(st.integers(0, 2**31), st.booleans())
def test_equal_to_a_count_page_by_page(seed: int, long: bool) -> None:
    most = {"max_operations": 14 if long else 4, "max_tensor_pages": 9 if long else 3}
    problem, residency_plan = random_schedule(seed, free_order=False, max_tensors=6, **most)
    residency_plan = fused(residency_plan, np.random.default_rng(seed))
    expected = page_by_page(residency_plan, problem.machine.page_bytes)
    found = descriptors(
        problem.machine.page_bytes, residency_plan.commands, residency_plan.placements
    )
    assert found.tolist() == expected
    totals = need(verify(problem, residency_plan).totals)
    assert totals.dma_commands == len(expected)
    assert totals.dma_descriptors == sum(expected)


def test_random_schedules_lie_in_pieces() -> None:
    """Otherwise the test above says little."""
    most = []
    for seed in some(range(60), 4):
        problem, residency_plan = random_schedule(seed, max_operations=14, max_tensor_pages=9)
        most.append(max(page_by_page(residency_plan, problem.machine.page_bytes), default=0))
    assert sum(many > 2 for many in most) > share(10, 4)


@pytest.mark.parametrize("seed", range(3))
def test_contiguous_tensors_take_one_a_command(seed: int) -> None:
    problem = random_problem(seed, max_operations=8, max_tensors=6, max_tensor_pages=6)
    totals = need(solve(problem, "contiguous", Request(threads=1, time_limit_s=0.2)).totals)
    assert totals.dma_commands
    assert totals.dma_descriptors == totals.dma_commands
