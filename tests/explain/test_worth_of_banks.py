"""What each bank is worth: slopes of the certified bound that no better one crosses, and stalls."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from formulations.residency import fluid
from spmopt.analysis.shadow_prices import ShadowPrices, little_bandwidth
from spmopt.analysis.stalls import Cause
from spmopt.analysis.steps import StepFigures, step_figures
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.solution import Solution
from spmopt.reporting.explanation import duals_parts, duals_record
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from spmopt.reporting.tables import plain_text
from spmopt.solving import solve
from spmopt.verifier import ScheduleArrays, bound
from tests.banked import banked
from tests.formulations.banks.cases import campaign_case

CASES = [campaign_case(seed) for seed in range(9, 19)]


def priced(problem: Problem, objective: Objective) -> Certificate:
    request = Request(objective=objective, tolerance=1e-7, threads=1)
    certificate = fluid.schedule(problem, request).certificate
    assert certificate is not None
    return certificate


@cache
def priced_cases() -> list[tuple[Problem, Objective, ShadowPrices]]:
    """Cases with what their best dual values say."""
    return [(case, goal, ShadowPrices.of(case, priced(case, goal))) for case, goal in CASES]


def with_bank(problem: Problem, index: int, pages: int) -> Problem:
    """More pages of a bank."""
    machine = problem.machine
    bank, more = machine.banks[index], pages * machine.page_bytes
    banks = list(machine.banks)
    banks[index] = replace(bank, spm_bytes=bank.spm_bytes + more)
    machine = replace(machine, banks=tuple(banks), spm_bytes=machine.spm_bytes + more)
    return replace(problem, machine=machine)


def test_the_line_is_what_the_duals_prove_of_more_pages() -> None:
    different = 0
    for problem, _, worth in priced_cases():
        assert len(worth.banks) == len(problem.machine.banks)
        for index, bank in enumerate(worth.banks):
            for pages in (1, 3):
                more = bound(with_bank(problem, index, pages), worth.certificate)
                size = pages * problem.machine.page_bytes
                assert more == worth.bound - size * bank.per_byte
            assert bank.per_byte >= worth.spm.per_byte
        different += len({bank.per_byte for bank in worth.banks}) > 1
    assert different >= 3


def test_no_better_bound_is_below_what_pages_save_at_most() -> None:
    for problem, objective, worth in priced_cases():
        slack = float(worth.bound) * 1e-5 + 1e-9
        for index, bank in enumerate(worth.banks):
            larger = with_bank(problem, index, 1)
            least = worth.bound - problem.machine.page_bytes * bank.per_byte
            assert float(bound(larger, priced(larger, objective))) >= float(least) - slack


def test_no_better_bound_is_below_what_bandwidth_saves_at_most() -> None:
    compared = 0
    for problem, objective, worth in priced_cases():
        machine, rate = problem.machine, problem.machine.dram_bytes_per_s
        more = little_bandwidth(machine)
        faster = replace(problem, machine=replace(machine, dram_bytes_per_s=rate + more))
        least = float(worth.bound - more * worth.per_byte_per_s)
        if any(bank.has_rates for bank in machine.banks) and objective.cycle:
            assert float(bound(faster, priced(faster, objective))) >= least * (1 - 1e-5) - 1e-9
            compared += worth.per_byte_per_s > 0
    assert compared >= 1


def policies(problem: Problem) -> StepFigures:
    result = solve(problem, "belady", Request(objective=objective_named("time", problem.machine)))
    assert result.schedule is not None
    return step_figures(ScheduleArrays.of(problem, result.schedule))


def test_stalls_by_cause_are_all_stalls_and_ports_those_that_they_make() -> None:
    bound_by_port = 0
    for seed in range(16):
        problem = banked(seed, ports=True, max_operations=8, duplex=seed % 2 == 0, setup=True)
        figures = policies(problem)
        by_cause = figures.stalls.by_cause
        assert (by_cause >= 0).all()
        assert (by_cause.sum(axis=0) == figures.stall_cycles).all()
        # With ports that are never slow the step would be shorter by what is the port's.
        banks = tuple(
            replace(bank, read_bytes_per_s=None, write_bytes_per_s=None)
            for bank in problem.machine.banks
        )
        free = replace(problem, machine=replace(problem.machine, banks=banks))
        without = step_figures(ScheduleArrays.of(free, figures.view.schedule)).cycles
        port = by_cause[Cause.PORT]
        assert (port >= figures.cycles - without).all()
        most = figures.port_cycles.max(axis=1) - figures.compute_cycles
        assert (port <= np.maximum(0, most)).all()
        bound_by_port += bool(port.any())
    assert bound_by_port >= 4


def solved() -> Solution:
    problem = banked(5, ports=True, max_operations=8)
    request = Request(objective=objective_named("time", problem.machine), threads=1)
    return Solution(problem=problem, result=solve(problem, "banks", request))


def test_text_and_record_tell_banks_apart() -> None:
    stored = solved()
    worth = ShadowPrices.of_result(stored.problem, stored.result)
    assert worth is not None
    text = plain_text(duals_parts(stored.problem.machine, worth))
    for index in range(len(stored.problem.machine.banks)):
        assert f"bank {index} " in text
    assert "extra bytes of a bank" in text
    record: Any = duals_record(stored.problem.machine, worth)
    assert [bank["per_spm_kb"] for bank in record["banks"]] == pytest.approx(
        [float(bank.per_byte * 1000) for bank in worth.banks]
    )


@pytest.mark.parametrize("timing", TIMINGS)
def test_views_have_ports_and_duals_of_each_bank(timing: str) -> None:
    view = ScheduleView.of(solved(), timing=timing)
    assert view.dual is None
    duals = {each.label: each.value for each in view.figures if "shadow price" in each.label}
    banks = range(len(view.problem.machine.banks))
    assert {f"Bank {bank} shadow price" for bank in banks} < {*duals}
    assert view.duals is not None
    expected, _ = view.in_unit(view.duals.banks[0].per_byte * Fraction(view.little_bytes))
    assert duals["Bank 0 shadow price"] == pytest.approx(expected)
    port = view.times.stall_by_cause[Cause.PORT]
    assert (port <= view.analysis.steps.operation_cycles).all()
