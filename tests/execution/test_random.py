"""Random schedules, of everything that the format knows: executed they do what they should."""

import numpy as np
import pytest

from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.execution.commands import Kind, machine_program
from spmopt.verifier import require_legal
from tests.banked import banked
from tests.execution.executed import executed
from tests.execution.planted import MOVED, PLANTS, Plant
from tests.thorough import share, some
from tests.verifier.random_banks import random_banked
from tests.verifier.random_plans import rich_schedule

MANY = share(200, 3)


def _executes(problem: Problem, schedule: Schedule) -> None:
    totals = require_legal(problem, schedule).totals
    assert totals is not None
    program = machine_program(problem, schedule)
    found = executed(program, schedule.steps.operation, totals)
    assert found.same, found
    dma = [k for kind, k in found.counts.items() if kind < Kind.COMPUTE]
    assert sum(dma) == totals.dma_commands
    kinds = program.commands.kind
    descriptors = np.isin(kinds[program.segments.command], (Kind.LOAD, Kind.STORE)).sum()
    streams = np.isin(kinds, (Kind.STREAM_IN, Kind.STREAM_OUT)).sum()
    assert descriptors + streams == totals.dma_descriptors


def test_random_schedules_do_what_plain_execution_does() -> None:
    for seed in range(MANY):
        _executes(*rich_schedule(seed))


def test_random_moves_between_banks_keep_all_contents() -> None:
    moves = 0
    for seed in range(MANY // 3):
        problem = banked(seed, max_operations=8, max_tensors=6)
        schedule = random_banked(problem, np.random.default_rng(seed))
        _executes(problem, schedule)
        moves += len(schedule.moves)
    assert moves > share(50, 3)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_every_planted_error_is_found(plant: Plant) -> None:
    found = 0
    for seed in some(range(40), 3):
        problem, schedule = rich_schedule(seed, max_operations=12)
        program = machine_program(problem, schedule)
        wrong = plant(program, np.random.default_rng(seed))
        if wrong is not None:
            assert not executed(wrong, schedule.steps.operation).same, seed
            found += 1
    assert found >= share(20, 3)


@pytest.mark.parametrize("plant", MOVED.values(), ids=MOVED)
def test_every_error_planted_between_banks_is_found(plant: Plant) -> None:
    found = 0
    for seed in range(60):
        problem = banked(seed, max_operations=8, max_tensors=6)
        schedule = random_banked(problem, np.random.default_rng(seed))
        wrong = plant(machine_program(problem, schedule), np.random.default_rng(seed))
        if wrong is not None:
            assert not executed(wrong, schedule.steps.operation).same, seed
            found += 1
    assert found >= share(20, 3)
