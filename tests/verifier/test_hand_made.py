"""Hand-made legal schedules: the recomputed figures are those worked out by hand."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from spmopt.core.errors import ScheduleError
from spmopt.core.machine import Energy
from spmopt.core.objective import MAKESPAN, TRAFFIC, energy_objective
from spmopt.core.result import Totals
from spmopt.verifier import require_legal, verify
from tests.checked import need
from tests.verifier.hand_made import Case, all_cases, reuse, two_layers

CASES = all_cases()


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def test_totals_are_those_computed_by_hand(case: Case) -> None:
    report = verify(case.problem, case.schedule)
    assert report.violations == ()
    assert report.totals == case.totals
    assert need(report.step_cycles).tolist() == list(case.step_cycles)


def test_a_wrong_claim_is_found(case: Case) -> None:
    assert verify(case.problem, case.schedule, case.totals).legal
    names = [field.name for field in fields(Totals) if not field.name.startswith("bank_")]
    for name, error in product(names, (-1, 1)):
        claim = replace(case.totals, **{name: getattr(case.totals, name) + error})
        report = verify(case.problem, case.schedule, claim)
        assert [violation.rule for violation in report.violations] == ["R6"], name
        assert name in report.violations[0].message


def test_transfers_that_an_older_file_did_not_count_are_not_compared(case: Case) -> None:
    claim = replace(case.totals, dma_commands=None, dma_descriptors=None)
    report = verify(case.problem, case.schedule, claim)
    assert report.legal
    assert report.totals == case.totals


def test_the_replay_of_reuse_is_the_one_worked_out_by_hand() -> None:
    case = reuse()
    run = need(verify(case.problem, case.schedule).replay)
    assert run.operation_start.tolist() == [0, 9, 17, 24]
    assert run.operation_end.tolist() == [9, 15, 24, 33]
    assert run.command_start.tolist() == [0, 9, 13, 17, 21, 29, 33]
    assert run.command_end.tolist() == [4, 13, 17, 21, 29, 33, 41]


def test_energy_counts_every_event_once() -> None:
    case = two_layers()
    duals = Energy(
        dram_pj_per_byte=100, spm_read_pj_per_byte=1, spm_write_pj_per_byte=2, mac_pj=4, leakage_w=5
    )
    machine = replace(case.problem.machine, energy=duals)
    totals = need(verify(replace(case.problem, machine=machine), case.schedule).totals)
    assert totals.value(MAKESPAN) == 15
    assert totals.value(TRAFFIC) == 24
    pico = Fraction(1, 10**12)
    in_and_out = 16 * (100 + 2) + 8 * (100 + 1)
    mappings = 6 * 1 + 10 * 2 + 4 * 4
    assert totals.value(energy_objective(machine)) == (in_and_out + mappings) * pico + 15 * 5


def test_require_legal_names_the_first_violations_in_one_line() -> None:
    case = two_layers()
    assert require_legal(case.problem, case.schedule, case.totals).totals == case.totals
    small = replace(case.problem, machine=replace(case.problem.machine, spm_bytes=12))
    with pytest.raises(
        ScheduleError, match="R1 step 0: 4 pages are in use, the SPM has 3"
    ) as error:
        require_legal(small, case.schedule)
    assert "\n" not in str(error.value)
    assert "R8 step 0" in str(error.value)


def test_times_are_exact_where_64_bits_overflow() -> None:
    """1e12 bytes times a clock of 1.545e9 is beyond 2**63."""
    case = two_layers()
    size = 10**12
    machine = replace(
        case.problem.machine,
        spm_bytes=4 * size,
        page_bytes=size,
        dram_bytes_per_s=616 * 10**9 + 1,
        clock_hz=1_545_000_000,
    )
    tensors = tuple(replace(tensor, size_bytes=2 * size) for tensor in case.problem.tensors)
    schedule = replace(
        case.schedule,
        residency=replace(case.schedule.residency, size_bytes=np.full(2, 2 * size)),
        commands=replace(case.schedule.commands, end=np.full(3, 2 * size)),
    )
    problem = replace(case.problem, machine=machine, tensors=tensors)
    totals = need(verify(problem, schedule).totals)
    one = 1 - (-2 * size * 1_545_000_000 // (616 * 10**9 + 1))
    assert totals.dma_cycles == 3 * one
    assert totals.makespan_cycles == 3 * one
