"""Scheduler ``banks`` as a whole: moves that pay, choices of residency plans, limits, errors."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.residency.banks import labels
from formulations.residency.banks.labels import label, optimum
from formulations.residency.banks.schedule import first_fit, schedule
from formulations.residency.banks.value import residency_plan_value
from formulations.solver.highs import solve_within
from formulations.solver.program import Program, SolverResult
from spmopt.core.objective import energy_objective, objective_named
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.solving import compare, solve
from tests.banked import banked
from tests.banks_by_hand import ENERGY_PJ, problem
from tests.checked import need, totals_of
from tests.formulations.banks import brute_force
from tests.thorough import some
from tests.verifier.random_plans import random_residency_plan


def test_a_tensor_moves_where_that_is_the_optimum() -> None:
    case = problem()
    objective = energy_objective(case.machine)
    best = need(brute_force.optimum(case, objective))
    assert best.value == Fraction(ENERGY_PJ, 10**12)
    found = solve(case, "banks", Request(objective=objective, tolerance=1e-6))
    assert found.value == best.value
    assert found.status is Status.OPTIMAL
    assert need(found.totals).moved_bytes == 4


@pytest.mark.parametrize("seed", some(range(24), 2))
def test_labels_of_a_plan_are_legal_and_no_dearer_than_without_moves(seed: int) -> None:
    case = banked(seed, banks=3, ports=seed % 2 == 0, duplex=True, aligned=seed % 3 == 0)
    objective = objective_named("energy", case.machine)
    plan = random_residency_plan(case, np.random.default_rng(seed), False)
    found = need(label(case, Request(objective=objective, threads=1), plan))
    value = totals_of(case, found).value(objective)
    assert value == residency_plan_value(case, found, objective)
    plain = replace(plan, banks=first_fit(case, plan))
    # Of pages that are stored in part the model does not know which bank's go: a little is lost.
    assert value <= totals_of(case, plain).value(objective) * Fraction(21, 20)


@pytest.mark.parametrize("seed", some(range(20)))
def test_only_as_many_pages_move_as_have_to(seed: int) -> None:
    """By rows of counts: pages that leave a bank are as many as it has fewer afterwards."""
    generator = np.random.default_rng(seed)
    chosen = generator.multinomial(7, np.full(3, 1 / 3), size=5)
    runs, rows = list[Any](), list[Any]()
    for now, wanted in enumerate(chosen):
        runs, ended = labels._rearrange(runs, wanted, 2, now)
        rows += [(*run, now) for run in ended]
        where = np.zeros(9, np.int64)
        for page, pages, bank, _ in runs:
            where[page : page + pages] += 1 + bank
        assert np.bincount(where[2:] - 1, minlength=3).tolist() == wanted.tolist()
    fewer = np.maximum(chosen[:-1] - chosen[1:], 0).sum()
    assert sum(pages for _, pages, *_ in rows) == fewer


def test_never_worse_than_its_starts_even_without_time() -> None:
    for seed in range(4):
        case = banked(seed, ports=True)
        objective = objective_named("energy", case.machine)
        request = Request(objective=objective, time_limit_s=0.0)
        *others, own = compare(case, ["belady", "stream", "banks"], request)
        assert own.bound is not None
        assert all(other.value is None or need(own.value) <= other.value for other in others)


def test_banks_are_chosen_for_the_plans_of_the_relaxation_and_of_one_bank() -> None:
    told: list[str] = []
    objective = energy_objective(problem().machine)
    request = Request(objective=objective, report=lambda message, _: told.append(message))
    assert schedule(problem(), request).residency_plan is not None
    assert [line for line in told if "plan" in line] == [
        f"banks of residency plan {number} of 2" for number in range(1, 3)
    ]


def test_several_modes_run_in_the_first_that_fits() -> None:
    for seed in some(range(8)):
        case = banked(seed, max_mappings=3)
        found = solve(case, "banks", Request(objective=objective_named("time", case.machine)))
        assert found.verified
        assert found.bound is not None


def test_the_bound_alone_is_that_of_the_schedule() -> None:
    case = banked(3)
    request = Request(objective=objective_named("energy", case.machine))
    fluid, own = compare(case, ["lp-bound", "banks"], request)
    assert fluid.schedule is None
    assert fluid.bound == own.bound
    assert fluid.bound is not None


def test_a_solution_that_breaks_rows_gives_no_banks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is out of time may leave one."""

    def late(program: Program, request: Request, **more: Any) -> SolverResult:
        found = solve_within(program, request, **more)
        return replace(found, feasible=program.integer is None)

    case = problem()
    request = Request(objective=energy_objective(case.machine))
    plan = random_residency_plan(case, np.random.default_rng(0), False)
    assert label(case, request, plan) is not None
    assert optimum(case, request, timeline(case, plan.steps)) is not None
    monkeypatch.setattr(labels, "solve_within", late)
    assert label(case, request, plan) is None
    assert optimum(case, request, timeline(case, plan.steps)) is None
