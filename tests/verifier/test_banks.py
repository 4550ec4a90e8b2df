"""Schedules of a scratchpad with banks: what is legal, what each bank does, its cost."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.assemble import assemble
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, energy_objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import Moves, Schedule
from spmopt.verifier import ScheduleArrays, replay, require_legal, verify
from tests.banked import alone, banked
from tests.banks_by_hand import BANKS, ENERGY_PJ, LITTLE, MUCH, A, B, moves, moving, problem
from tests.checked import need, totals_of
from tests.strategies import random_problem
from tests.thorough import share
from tests.verifier.random_banks import shuffled
from tests.verifier.random_plans import random_residency_plan


def rules(case: Problem, schedule: Schedule) -> list[str]:
    return sorted({violation.rule for violation in verify(case, schedule).violations})


def test_a_move_is_legal_and_every_touch_of_a_bank_counts() -> None:
    case = problem()
    totals = totals_of(case, moving())
    assert list(totals.bank_read_bytes) == [Fraction(3 * MUCH + 4), Fraction(LITTLE)]
    assert list(totals.bank_write_bytes) == [Fraction(4 + 4), Fraction(4)]
    assert totals.moved_bytes == 4
    assert (totals.makespan_cycles, totals.traffic_bytes) == (18, 8)
    assert totals.value(energy_objective(case.machine)) == Fraction(ENERGY_PJ, 10**12)


def test_an_address_changes_by_a_move_only() -> None:
    report = verify(problem(), moving(moved=False))
    assert [str(each) for each in report.violations] == [
        "R8 step 1: page 0 of a gets another address without a move"
    ]


@pytest.mark.parametrize(
    ("rows", "broken"),
    [
        ([(1, A, 0, 4), (2, A, 0, 4)], "R8"),  # stays where it is
        ([(1, A, 0, 4), (1, B, 0, 4)], "R8"),  # was nowhere
        ([(2, A, 0, 4)], "R8"),  # at another time
        ([(1, B, 0, 4), (1, A, 0, 4)], "R0"),  # not sorted
        ([(1, A, 0, 4), (1, A, 0, 4)], "R0"),  # twice
        ([(0, A, 0, 4)], "R0"),  # nothing was there before
        ([(4, A, 0, 4)], "R0"),
        ([(1, 2, 0, 4)], "R0"),
        ([(1, A, 0, 5)], "R0"),
        ([(1, A, 2, 4)], "R0"),  # no whole page
        ([(1, A, 0, 2)], "R0"),
    ],
)
def test_moves_that_say_what_is_not_so(rows: list[tuple[int, int, int, int]], broken: str) -> None:
    assert rules(problem(), replace(moving(), moves=moves(*rows))) == [broken]


def test_a_machine_without_banks_moves_nothing() -> None:
    case = problem()
    uniform = replace(case, machine=replace(case.machine, banks=()))
    assert rules(uniform, moving()) == ["R0"]
    assert rules(uniform, moving(moved=False)) == ["R8"]


def test_a_bank_too_full_is_found() -> None:
    facts = moving()
    placed = facts.placements
    both = replace(placed, spm_page=np.where(placed.begin == 0, 0, 1))
    assert "R8" in rules(problem(), replace(facts, placements=both))
    beyond = replace(placed, spm_page=np.where(placed.begin == 0, 0, placed.spm_page + 1))
    assert rules(problem(), replace(facts, placements=beyond)) == ["R8"]


def test_the_replay_carries_contents_along() -> None:
    case = problem()
    assert replay(ScheduleArrays.of(case, moving())).violations == ()
    found = replay(ScheduleArrays.of(case, moving(moved=False))).violations
    assert [violation.step for violation in found] == [3]
    assert "other contents" in found[0].message


def test_what_fills_the_old_page_waits_for_the_move() -> None:
    """The channel is free from cycle 4 on, but a is read until cycle 6 and leaves only then."""
    run = replay(ScheduleArrays.of(problem(), moving()))
    assert run.command_start.tolist() == [0, 6]
    assert run.operation_start.tolist() == [0, 6, 10, 14]


@pytest.mark.parametrize(
    ("read", "write", "cycles"),
    [
        (None, None, [6, 4, 4, 4]),
        (100, None, [6, 5, 4, 4]),
        (50, None, [8, 9, 8, 4]),
        (400, 1, [6, 6, 4, 4]),
    ],
)
def test_a_step_lasts_as_long_as_the_busiest_port(
    read: int | None, write: int | None, cycles: list[int]
) -> None:
    """Bank 0 reads 400 and writes 4 in step 0; in step 1 it reads 404 and writes 4."""
    case = problem()
    port = replace(BANKS[0], read_bytes_per_s=read, write_bytes_per_s=write)
    slow = replace(case, machine=replace(case.machine, banks=(port, BANKS[1])))
    report = require_legal(slow, moving())
    assert need(report.step_cycles).tolist() == cycles
    assert need(report.totals).value(MAKESPAN) == sum(cycles)


def test_an_objective_of_other_banks_is_refused() -> None:
    case = problem()
    totals = totals_of(case, moving())
    other = energy_objective(replace(case.machine, spm_bytes=4, banks=BANKS[:1]))
    with pytest.raises(InputError, match="weights of 1 banks, the schedule is for 2"):
        totals.value(other)


@settings(max_examples=share(80), deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_random_moves_are_legal_and_none_is_superfluous(seed: int, ports: bool) -> None:
    case = banked(seed, ports=ports, duplex=True, setup=True, max_operations=6)
    generator = np.random.default_rng(seed)
    residency_plan = random_residency_plan(case, generator, False)
    schedule = shuffled(case, assemble(case, residency_plan), generator)
    report = require_legal(case, schedule)
    assert report.totals is not None
    told = schedule.moves
    assert report.totals.moved_bytes == int((told.end - told.begin).sum())
    assert report.totals.replay_cycles <= report.totals.makespan_cycles
    for row in range(len(told)):
        silent = replace(schedule, moves=told.take(np.arange(len(told)) != row))
        assert "R8" in rules(case, silent)


@pytest.mark.parametrize("seed", range(30))
def test_one_bank_costs_what_a_uniform_scratchpad_does(seed: int) -> None:
    uniform, one = alone(random_problem(seed, duplex=True))
    residency_plan = random_residency_plan(uniform, np.random.default_rng(seed), False)
    schedule = assemble(uniform, residency_plan)
    plain, own = (require_legal(case, schedule).totals for case in (uniform, one))
    assert need(own).value(energy_objective(one.machine)) == need(plain).value(
        energy_objective(uniform.machine)
    )
    assert need(own).makespan_cycles == need(plain).makespan_cycles


def test_no_moves_are_an_empty_table() -> None:
    assert moving(moved=False).moves == Moves.empty()
