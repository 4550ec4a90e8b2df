"""Moves at uses or whole under one operation: by hand, and on any problem."""

from __future__ import annotations

import numpy as np
import pytest

from spmopt.assemble import derive_commands
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.policies.autotm import autotm
from tests.policies.owed import (
    beats_no_optimum,
    is_whole,
    random_problems,
    residency_plan_of,
    totals,
)
from tests.tiny import Op, tiny


def moves(problem: Problem) -> list[tuple[int, str, str, int]]:
    """Step, kind, tensor and bytes of all loads and stores."""
    residency_plan = residency_plan_of(autotm(problem, Request()))
    commands = derive_commands(timeline(problem, residency_plan.steps), residency_plan)
    return [
        (step, Command(kind).name.lower(), problem.tensors[tensor].name, end - begin)
        for step, kind, tensor, begin, end in zip(
            commands.step.tolist(),
            commands.kind.tolist(),
            commands.tensor.tolist(),
            commands.begin.tolist(),
            commands.end.tolist(),
            strict=True,
        )
    ]


def time(problem: Problem) -> int:
    return totals(problem, residency_plan_of(autotm(problem, Request()))).makespan_cycles


@pytest.mark.parametrize(
    ("cycles", "step", "taken"),
    [
        ([8, 3, 7], 0, 8 + 3 + 7 + 1),  # only the first operation covers all 8 bytes
        ([9, 8, 7], 1, 9 + 8 + 7 + 1),  # the nearest one that does
        ([7, 7, 7], 3, 7 + 7 + 7 + 8),  # none does, although all three together would
    ],
)
def test_a_load_hides_whole_under_one_operation_or_moves_at_its_use(
    cycles: list[int], step: int, taken: int
) -> None:
    idle = [Op(cycles=count) for count in cycles]
    problem = tiny({"w": (8, "in")}, [*idle, Op(reads="w", cycles=1)], spm=16)
    assert moves(problem) == [(step, "load", "w", 8)]
    assert time(problem) == taken


def test_a_load_needs_room_from_there_on() -> None:
    problem = tiny(
        {"w": (8, "in"), "a": (12, "in")},
        [Op(cycles=20), Op(reads="a", cycles=1), Op(cycles=3), Op(reads="w", cycles=1)],
        spm=16,
    )
    # Step 0 has the time for both, but w has no room beside a.
    assert moves(problem) == [(0, "load", "a", 12), (3, "load", "w", 8)]
    assert time(problem) == 20 + 1 + 3 + 8


@pytest.mark.parametrize(
    ("cycles", "step", "taken"),
    [([8, 9], 1, 1 + 8 + 9), ([7, 9], 2, 1 + 7 + 9), ([7, 7], 0, 8 + 7 + 7)],
)
def test_a_store_hides_whole_under_one_operation_or_moves_at_its_use(
    cycles: list[int], step: int, taken: int
) -> None:
    later = [Op(cycles=count) for count in cycles]
    problem = tiny({"y": (8, "keep")}, [Op(writes="y", cycles=1), *later], spm=16)
    assert moves(problem) == [(step, "store", "y", 8)]
    assert time(problem) == taken


def test_two_loads_share_the_time_of_an_operation() -> None:
    problem = tiny(
        {"v": (4, "in"), "w": (4, "in")},
        [Op(cycles=4), Op(cycles=5), Op(reads="v w", cycles=1)],
        spm=16,
    )
    assert moves(problem) == [(0, "load", "w", 4), (1, "load", "v", 4)]
    assert time(problem) == 4 + 5 + 1


def test_schedules_are_legal_and_whole_and_each_move_is_one() -> None:
    for problem in random_problems(90):
        residency_plan = residency_plan_of(autotm(problem, Request()))
        totals(problem, residency_plan)
        steps = timeline(problem, residency_plan.steps)
        assert is_whole(problem, residency_plan)
        commands = derive_commands(steps, residency_plan)
        moved = commands.take(np.isin(commands.kind, [Command.LOAD, Command.STORE]))
        assert np.array_equal(moved.end - moved.begin, steps.size_bytes[moved.tensor])


def test_no_schedule_beats_the_optimum() -> None:
    beats_no_optimum(autotm, 30)
