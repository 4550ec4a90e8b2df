"""Random schedules executed, in the order of the list and as engines take turns; planted errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from results.shared.bench import Figures, timed
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.execution.commands import Program, Releases, machine_program
from spmopt.execution.waits import waits
from spmopt.verifier import require_legal
from tests.banked import banked
from tests.execution.executed import executed
from tests.execution.interleaving import interleaved
from tests.execution.planted import PLANTS, reordered
from tests.verifier.random_banks import random_banked
from tests.verifier.random_plans import rich_schedule

_MOST_SEEDS = 2_000


def random_schedules(first: int, end: int) -> Figures:
    """Execute the random schedules of some seeds: of two mappings, in free orders, with moves."""
    counts, taken = timed(lambda: _executed(first, end))
    return {**counts, **taken}


def _executed(first: int, end: int) -> Counter[str]:
    found = Counter[str](schedules=end - first)
    for seed in range(first, end):
        problem, schedule = random_case(seed)
        totals = require_legal(problem, schedule).totals
        program = machine_program(problem, schedule)
        seen = executed(program, schedule.steps.operation, totals)
        found["operations"] += len(problem.operations)
        found["commands"] += len(program.commands)
        found["moves"] += len(schedule.moves)
        found["compared"] += seen.tensors
        found["differing"] += not seen.same
        found["turns"] += 1
        found["turns_differing"] += not _in_turns(program, schedule, seed)
    return found


def random_case(seed: int) -> tuple[Problem, Schedule]:
    """A random schedule; every fourth of a scratchpad with banks."""
    if seed % 4:
        return rich_schedule(seed)
    problem = banked(seed, max_operations=8, max_tensors=6)
    return problem, random_banked(problem, np.random.default_rng(seed))


def _in_turns(program: Program, schedule: Schedule, seed: int) -> bool:
    """Whether results are the same in a random order that waits leave open."""
    free = replace(program, releases=Releases.empty())
    order = interleaved(free, waits(free), np.random.default_rng(seed))
    return executed(reordered(free, order), schedule.steps.operation).same


def planted(kind: str, wanted: int) -> Figures:
    """Plant an error of a kind into so many random schedules, and count those that are found."""
    counts, taken = timed(lambda: _planted(kind, wanted))
    return {**counts, **taken}


def _planted(kind: str, wanted: int) -> Counter[str]:
    plant: Callable[[Program, np.random.Generator], Program | None] = PLANTS[kind]
    found = Counter[str]()
    for seed in range(_MOST_SEEDS):
        problem, schedule = rich_schedule(seed, max_operations=12)
        program = machine_program(problem, schedule)
        wrong = plant(program, np.random.default_rng(seed))
        if wrong is None:
            continue
        found["schedules"] += 1
        found["operations"] += len(problem.operations)
        found["commands"] += len(wrong.commands)
        seen = executed(wrong, schedule.steps.operation)
        found["compared"] += seen.tensors
        found["missed"] += seen.same
        if found["schedules"] == wanted:
            break
    return found
