"""Whatever engines are how fast: in every order that waits leave open results are the same."""

from dataclasses import replace

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.execution.commands import Kind, Program, Releases, machine_program
from spmopt.execution.waits import Waits, waits
from tests.banked import banked
from tests.execution.executed import executed
from tests.execution.interleaving import interleaved
from tests.execution.planted import reordered
from tests.execution.test_commands import PROBLEM, RESIDENCY_PLAN
from tests.thorough import share, some
from tests.verifier.random_banks import random_banked
from tests.verifier.random_plans import rich_schedule


def _without_poison(problem: Problem, schedule: Schedule) -> Program:
    program = machine_program(problem, schedule)
    return replace(program, releases=Releases.empty())


def test_engines_at_any_speed_leave_the_same_results() -> None:
    generator, other = np.random.default_rng(0), 0
    for seed in some(range(100), 3):
        if seed % 4:
            problem, schedule = rich_schedule(seed)
        else:
            problem = banked(seed, max_operations=8, max_tensors=6)
            schedule = random_banked(problem, generator)
        program = _without_poison(problem, schedule)
        rows = waits(program)
        for _ in range(3):
            order = interleaved(program, rows, generator)
            other += order != sorted(order)
            moved = reordered(program, order)
            assert executed(moved, schedule.steps.operation).same, seed
    assert other > share(150, 3)


def test_without_waits_results_are_others() -> None:
    generator, wrong = np.random.default_rng(0), 0
    for seed in range(40):
        problem, schedule = rich_schedule(seed)
        program = _without_poison(problem, schedule)
        order = interleaved(program, Waits.empty(), generator)
        wrong += not executed(reordered(program, order), schedule.steps.operation).same
    assert wrong > 25


def test_waits_by_hand() -> None:
    program = machine_program(PROBLEM, assemble(PROBLEM, RESIDENCY_PLAN))
    named = [Kind(kind).name for kind in program.commands.kind]
    assert named == ["LOAD", "COMPUTE", "STREAM_OUT", "STREAM_IN", "COMPUTE", "STREAM_OUT"]
    assert waits(program).rows() == [(1, 0), (2, 1), (4, 3), (5, 4)]
    duplex = replace(PROBLEM, machine=replace(PROBLEM.machine, duplex=True))
    program = machine_program(duplex, assemble(duplex, RESIDENCY_PLAN))
    # The stream in now waits for the one out, which another channel moves.
    assert waits(program).rows() == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]
