"""The replay against a naive one: times of legal schedules, contents of corrupted ones too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.verifier import ScheduleArrays, replay
from spmopt.verifier.rules import rule_r0
from spmopt.verifier.runs import Runs
from spmopt.verifier.violation import MAX_PER_CHECK
from tests.thorough import share
from tests.verifier.naive_replay import NaiveReplay
from tests.verifier.random_plans import random_schedule
from tests.verifier.test_mutations import random_change

PAGES = 12


def cases(duplex: bool, count: int, first: int = 0) -> list[tuple[Problem, Schedule]]:
    """Legal schedules, half of them of scattered pages."""
    found = []
    for seed in range(first, first + count):
        problem, residency_plan = random_schedule(
            seed,
            free_order=seed % 3 == 0,
            max_operations=6,
            max_tensors=4,
            max_mappings=2,
            setup=True,
        )
        found.append(
            (replace(problem, machine=replace(problem.machine, duplex=duplex)), residency_plan)
        )
    return found


@pytest.mark.parametrize("duplex", [False, True])
def test_the_same_times(duplex: bool) -> None:
    for problem, residency_plan in cases(duplex, share(250)):
        view = ScheduleArrays.of(problem, residency_plan)
        found, naive = replay(view), NaiveReplay(view)
        commands = [naive.spans[row] for row in range(len(residency_plan.commands))]
        spans = zip(found.command_start.tolist(), found.command_end.tolist(), strict=True)
        assert list(spans) == commands
        spans = zip(found.operation_start.tolist(), found.operation_end.tolist(), strict=True)
        assert list(spans) == naive.operations
        assert naive.wrong == []


@pytest.mark.parametrize("duplex", [False, True])
def test_the_same_wrong_contents(duplex: bool) -> None:
    """Where cells are changed, in any table, as long as the format stays correct."""
    wrong = 0
    for seed, (problem, residency_plan) in enumerate(cases(duplex, share(200, 4), 10_000)):
        generator = np.random.default_rng(seed)
        corrupted = residency_plan
        for _ in range(8):
            changed = random_change(corrupted, generator)
            if not rule_r0(problem, changed) and _addresses_exist(problem, changed):
                corrupted = changed
        view = ScheduleArrays.of(problem, corrupted)
        found = [(v.step, v.tensor) for v in replay(view).violations]
        naive = NaiveReplay(view).wrong
        assert len(naive) < MAX_PER_CHECK
        assert sorted(found, key=str) == sorted(naive, key=str), seed
        wrong += bool(naive)
    assert share(50, 4) < wrong < share(150, 4)


def _addresses_exist(problem: Problem, residency_plan: Schedule) -> bool:
    low, pages = residency_plan.placements.spm_page, residency_plan.placements.pages
    return bool(((low >= 0) & (low <= problem.machine.spm_pages - pages)).all())


@given(
    puts=st.lists(
        st.tuples(st.integers(0, PAGES), st.integers(0, PAGES), st.integers(0, 3)), max_size=30
    )
)
def test_runs_are_an_array(puts: list[tuple[int, int, int]]) -> None:
    runs, array = Runs(PAGES), [0] * PAGES
    for one, other, number in puts:
        begin, end = min(one, other), max(one, other)
        if begin == end:
            continue
        over = [n for low, high, n in runs.over(begin, end) for _ in range(low, high)]
        assert over == array[begin:end]
        for asked in range(4):
            found = runs.follow(asked - 1, [(begin, end, 1)])
            assert found == (end - begin if {*array[begin:end]} == {asked} else -1)
        runs.set(begin, end, number)
        array[begin:end] = [number] * (end - begin)
    assert [n for low, high, n in runs.over(0, PAGES) for _ in range(low, high)] == array
