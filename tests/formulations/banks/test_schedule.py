"""Scheduler ``banks`` as a whole: moves that pay, choices of residency plans, limits, errors."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.residency.banks import assign as assigning
from formulations.residency.banks.assign import assign
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.layout import bank_rows
from formulations.residency.banks.schedule import schedule
from formulations.residency.banks.segments import PageSegments
from formulations.solver.highs import solve_within
from formulations.solver.program import Program, SolverResult
from spmopt.assemble import assemble
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.errors import InputError
from spmopt.core.objective import energy_objective, objective_named
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.solving import compare, solve
from spmopt.verifier import require_legal
from tests.banked import banked
from tests.banks_by_hand import ENERGY_PJ, problem
from tests.formulations.banks.brute_force import optimum
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_residency_plan


def test_a_tensor_moves_where_that_is_the_optimum() -> None:
    case = problem()
    objective = energy_objective(case.machine)
    best = optimum(case, objective)
    assert best is not None
    assert best.value == Fraction(ENERGY_PJ, 10**12)
    found = solve(case, "banks", Request(objective=objective, tolerance=1e-6))
    assert found.value == best.value
    assert found.status is Status.OPTIMAL
    assert found.totals is not None
    assert found.totals.moved_bytes == 4


@pytest.mark.parametrize("seed", range(25))
def test_a_plan_with_its_banks_costs_what_the_program_says(seed: int) -> None:
    case = banked(seed, banks=3, ports=seed % 2 == 0, duplex=True, aligned=seed % 3 == 0)
    objective = objective_named("energy", case.machine)
    residency_plan = random_residency_plan(case, np.random.default_rng(seed), False)
    line = timeline(case, residency_plan.steps)
    facts = BankCoefficients(case, line, objective, relaxed=False)
    cost = residency_plan_cost(case.machine, line, residency_plan)
    chosen = assign(facts, residency_plan, cost, Request(objective=objective))
    assert chosen is not None
    totals = require_legal(
        case, assemble(case, replace(residency_plan, banks=bank_rows(chosen)))
    ).totals
    assert totals is not None
    value = chosen.value + facts.constant - _twice(facts)
    value += facts.in_byte * cost.dram_in_bytes + facts.out_byte * cost.dram_out_bytes
    exact = float(totals.value(objective))
    # Ports round up to whole cycles; stores of a part of some pages are spread over them.
    assert exact >= value * (1 - 1e-9)
    assert exact == pytest.approx(value, rel=0.2)
    if seed % 6 == 3:  # no ports, whole pages
        assert exact == pytest.approx(value)


def _twice(facts: BankCoefficients) -> float:
    """What no operand accounts for is in the program's value, and in the constant."""
    return float(
        facts.read_byte[0] * facts.loose_read.sum() + facts.write_byte[0] * facts.loose_write.sum()
    )


@pytest.mark.parametrize("seed", range(20))
def test_stays_cover_the_residency(seed: int) -> None:
    case = banked(seed, max_operations=6)
    residency_plan = random_residency_plan(case, np.random.default_rng(seed), False)
    line = timeline(case, residency_plan.steps)
    objective = objective_named("energy", case.machine)
    found = PageSegments(BankCoefficients(case, line, objective, relaxed=False), residency_plan)
    page = case.machine.page_bytes
    wanted = np.zeros((len(case.tensors), line.steps, 4), np.int64)
    rows = residency_plan.residency
    for tensor, begin, end, size in zip(
        rows.tensor, rows.begin, rows.end, rows.size_bytes, strict=True
    ):
        wanted[tensor, begin:end, : -(-int(size) // page)] += 1
    have = np.zeros_like(wanted)
    for stay, begin, end in zip(found.interval, found.begin, found.end, strict=True):
        first, pages = int(found.first[stay]), int(found.pages[stay])
        have[found.tensor[stay], begin:end, first : first + pages] += 1
    assert np.array_equal(have, wanted)


def test_never_worse_than_its_starts_even_without_time() -> None:
    for seed in range(4):
        case = banked(seed, ports=True)
        objective = objective_named("energy", case.machine)
        request = Request(objective=objective, time_limit_s=0.0)
        *others, own = compare(case, ["belady", "stream", "banks"], request)
        assert own.value is not None
        assert own.bound is not None
        assert all(other.value is None or own.value <= other.value for other in others)


def test_banks_are_chosen_for_plans_of_all_banks_of_each_and_of_the_relaxation() -> None:
    told: list[str] = []
    objective = energy_objective(problem().machine)
    request = Request(objective=objective, report=lambda message, _: told.append(message))
    assert schedule(problem(), request).residency_plan is not None
    assert [line for line in told if "plan" in line] == [
        f"banks of residency plan {number} of 4" for number in range(1, 5)
    ]


def test_several_modes_run_in_the_first_that_fits() -> None:
    for seed in range(4):
        case = banked(seed, max_mappings=3)
        found = solve(case, "banks", Request(objective=objective_named("time", case.machine)))
        assert found.verified
        assert found.bound is not None


def test_the_bound_alone_is_that_of_the_schedule() -> None:
    case = banked(3)
    request = Request(objective=objective_named("energy", case.machine))
    fluid, own = compare(case, ["fluid", "banks"], request)
    assert fluid.schedule is None
    assert fluid.bound == own.bound
    assert fluid.bound is not None


def test_other_schedulers_say_who_knows_banks() -> None:
    case = banked(1)
    for name in ("residency", "whole", "contiguous"):
        with pytest.raises(InputError, match="knows no banks; use banks, fluid"):
            solve(case, name, Request())
    uniform = tiny({"a": (4, "in")}, [Op(reads="a")], spm=8)
    with pytest.raises(InputError, match="the machine has no banks; give some by --bank"):
        solve(uniform, "banks", Request())


def test_what_does_not_fit_is_infeasible() -> None:
    case = tiny({"a": (40, "in")}, [Op(reads="a", required_resident="a")], spm=8)
    bank = problem().machine.banks
    small = replace(case, machine=replace(case.machine, banks=bank))
    found = solve(small, "banks", Request())
    assert found.status is Status.INFEASIBLE


def test_a_solution_that_breaks_rows_gives_no_banks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is out of time may leave one."""

    def late(program: Program, request: Request, **more: Any) -> SolverResult:
        found = solve_within(program, request, **more)
        return replace(found, feasible=program.integer is None)

    case = problem()
    objective = energy_objective(case.machine)
    request = Request(objective=objective)
    residency_plan = random_residency_plan(case, np.random.default_rng(0), False)
    line = timeline(case, residency_plan.steps)
    facts = BankCoefficients(case, line, objective, relaxed=False)
    cost = residency_plan_cost(case.machine, line, residency_plan)
    assert assign(facts, residency_plan, cost, request) is not None
    monkeypatch.setattr(assigning, "solve_within", late)
    assert assign(facts, residency_plan, cost, request) is None
