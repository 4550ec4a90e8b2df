"""The replay: never later than the makespan, free of hazards, and it sees wrong contents."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.verifier import Replay, ScheduleArrays, replay, verify
from tests.banked import banked
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.verifier.changes import with_cell
from tests.verifier.hand_made import all_cases, run_ahead, two_layers
from tests.verifier.random_plans import random_residency_plan, random_schedule

FEATURES: dict[str, Any] = {"max_operations": 7, "max_tensors": 5, "max_mappings": 2, "setup": True}


def run(problem: Problem, residency_plan: Schedule) -> Replay:
    """The replay alone, whatever the rules say."""
    return replay(ScheduleArrays.of(problem, residency_plan))


@pytest.mark.parametrize("duplex", [False, True])
def test_never_later_than_the_makespan(duplex: bool) -> None:
    """``verify`` reports it if it is; and on some the replay is indeed earlier."""
    earlier = 0
    for seed in some(range(1000)):
        problem, residency_plan = random_schedule(seed, free_order=seed % 3 == 0, **FEATURES)
        problem = replace(problem, machine=replace(problem.machine, duplex=duplex))
        report = verify(problem, residency_plan)
        assert report.legal, (seed, [str(v) for v in report.violations])
        earlier += need(report.totals).replay_cycles < need(report.totals).makespan_cycles
    assert earlier > share(50)


@pytest.mark.parametrize("banks", [0, 2])
def test_memory_follows_what_is_used_and_not_the_scratchpad(banks: int) -> None:
    """A scratchpad of 100 TB in pages of a byte: no array of the program has an entry a page."""
    problem = banked(3, banks=banks, **FEATURES) if banks else random_problem(3, **FEATURES)
    size, page = 10**14, 1
    sizes = [size - (banks - 1), *[1] * (banks - 1)] if banks else []
    machine = replace(
        problem.machine,
        spm_bytes=size,
        page_bytes=page,
        banks=tuple(
            replace(bank, spm_bytes=own)
            for bank, own in zip(problem.machine.banks, sizes, strict=True)
        ),
    )
    large = replace(problem, machine=machine)
    residency_plan = assemble(large, random_residency_plan(large, np.random.default_rng(0), False))
    tracemalloc.start()
    report = verify(large, residency_plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.legal, [str(v) for v in report.violations]
    assert peak < 4 * 2**20


def test_loads_run_ahead_but_not_into_pages_in_use() -> None:
    case = run_ahead()
    free = run(case.problem, case.schedule)
    assert free.command_start.tolist() == [0, 2]
    # With scratch in one of the pages during step 0, the load waits for its end.
    first, second = case.problem.operations
    busy = replace(first, mappings=(replace(first.mappings[0], scratch_bytes=1),))
    problem = replace(case.problem, operations=(busy, second))
    rows = case.schedule.placements
    scratch = {"tensor": -1, "tensor_page": 0, "pages": 1, "spm_page": 2, "begin": 0, "end": 1}
    table = replace(
        rows, **{name: np.append(getattr(rows, name), value) for name, value in scratch.items()}
    )
    waits = verify(problem, replace(case.schedule, placements=table))
    assert waits.legal
    assert need(waits.replay).command_start.tolist() == [0, 10]
    assert need(waits.replay).cycles == 20


def test_the_cases_have_right_contents() -> None:
    for case in all_cases().values():
        assert run(case.problem, case.schedule).violations == ()


def test_an_address_outside_the_spm_is_refused() -> None:
    case = two_layers()
    for page in (-1, 3, 2**50):
        wrong = with_cell(case.schedule, "placements", "spm_page", 1, page)
        assert "outside the SPM" in run(case.problem, wrong).violations[0].message
