"""The scheduler ``page``: legal, its bound below the optimum, never worse than its start."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import page
from formulations.residency.plain import search as plain
from formulations.residency.plain.columns import Families
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.mappings import fitting_mappings, in_mappings
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline
from spmopt.policies.belady import belady
from spmopt.verifier import bound
from tests.checked import need, totals_of
from tests.formulations.priced import OBJECTIVES
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import problems, random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny

LARGER: dict[str, Any] = {"max_operations": 14, "max_tensors": 8, "duplex": True, "setup": True}


def scheduled(problem: Problem, objective: Objective, **request: Any) -> Result:
    return page.schedule(problem, Request(objective=objective, threads=1, **request))


def rounded(problem: Problem, objective: Objective, **request: Any) -> Result:
    """What dual values alone find."""
    return page.round_values(problem, Request(objective=objective, threads=1, **request))


def verified(
    problem: Problem, objective: Objective, residency_plan: ResidencyPlan | None
) -> Fraction:
    """The verifier's value of a residency plan, which must be the formulation's own too."""
    totals = totals_of(problem, residency_plan)
    value = totals.value(objective)
    assert residency_plan_value(problem, need(residency_plan), objective) == value
    return value


def proved(problem: Problem, outcome: Result) -> Fraction:
    return bound(problem, need(outcome.certificate))


def proved_in_bytes(problem: Problem, outcome: Result) -> Fraction:
    """Return the bound on any bytes: of two that are equal, one may be worth more in pages."""
    machine = replace(problem.machine, page_bytes=1)
    return proved(replace(problem, machine=machine), outcome)


@settings(max_examples=share(12, 2), deadline=None)
@given(problems(**SMALL), st.sampled_from(OBJECTIVES), st.sampled_from(["page", "whole"]))
def test_never_worse_than_an_optimal_start(problem: Problem, name: str, residency: str) -> None:
    objective = objective_named(name, problem.machine)
    start = small_optimum(problem, objective, residency)
    outcome = scheduled(problem, objective, start=start.residency_plan)
    value = verified(problem, objective, outcome.residency_plan)
    assert value == start.value if residency == "page" else value <= start.value


@pytest.mark.parametrize("limit_s", [0.0, 1e-3])
def test_no_search_that_is_cut_short_proves_less_than_the_duals_it_begins_with(
    limit_s: float,
) -> None:
    raised, seeds = 0, some(range(24))
    for seed in seeds:
        problem = random_problem(seed, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], problem.machine)
        known = rounded(problem, objective, tolerance=1e-6)
        given: dict[str, Any] = {"start": known.residency_plan, "duals": known.certificate}
        again = rounded(problem, objective, tolerance=0.0, time_limit_s=limit_s, **given)
        without = rounded(
            problem, objective, tolerance=0.0, time_limit_s=0.0, start=known.residency_plan
        )
        proof, later, anew = (proved_in_bytes(problem, each) for each in (known, again, without))
        assert later >= proof * (1 - Fraction(1, 10**9)), seed
        raised += anew < proof
    assert raised > len(seeds) / 5


@pytest.mark.parametrize(
    "limits", [{"stop": lambda: True}, {"time_limit_s": 0.0}], ids=["stopped", "late"]
)
@pytest.mark.parametrize("with_start", [False, True])
def test_without_time_the_start_is_returned_with_a_bound(
    limits: dict[str, Any], with_start: bool
) -> None:
    for seed in some(range(30)):
        problem = random_problem(seed, max_mappings=2, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], problem.machine)
        start = belady(problem, Request(objective=objective)).residency_plan if with_start else None
        outcome = scheduled(problem, objective, start=start, **limits)
        value = verified(problem, objective, outcome.residency_plan)
        assert proved(problem, outcome) <= value
        if with_start:
            assert outcome.residency_plan is start


READ = Op(reads="x", cycles=5)


def test_operations_without_operands() -> None:
    for tensors in ({}, {"x": (4, "in keep")}):
        problem = tiny(tensors, [Op(cycles=3), Op(cycles=4)], spm=4)
        for objective, value in ((MAKESPAN, 7), (TRAFFIC, 0)):
            outcome = scheduled(problem, objective)
            assert verified(problem, objective, outcome.residency_plan) == value
            assert proved(problem, outcome) == value


def test_of_several_mappings_dual_values_take_one_that_fits() -> None:
    mappings = [Op(reads="x", cycles=1, required_resident="x"), Op(reads="x", cycles=20)]
    for spm, mapping, value in ((8, 0, 9), (4, 1, 20)):
        problem = tiny({"x": (8, "in")}, [mappings], spm=spm)
        outcome = page.round_values(problem, Request(threads=1))
        assert need(outcome.residency_plan).steps.mapping.tolist() == [mapping]
        assert verified(problem, MAKESPAN, need(outcome.residency_plan)) == value
        # Of the least figures of both, one cycle and x streamed, it would be 8.
        assert proved(problem, outcome) == pytest.approx(value)


@pytest.mark.parametrize(("cycles", "value", "tolerance"), [(0, 20, 1e-4), (5, 40, 0.0)])
def test_only_an_open_gap_after_a_good_flow_ends_the_search_with_a_note(
    cycles: int, value: int, tolerance: float
) -> None:
    """The flow is optimal where nothing computes; elsewhere its plan is a third too slow."""
    both = [Op(reads=x, required_resident=x, cycles=cycles) for x in "xy"] * 2
    problem = tiny({"x": (8, "in"), "y": (4, "in")}, both, spm=8)
    outcome = scheduled(problem, MAKESPAN, tolerance=tolerance)
    assert verified(problem, MAKESPAN, outcome.residency_plan) == value
    assert outcome.notes == ()


def test_a_solver_that_was_stopped_early_claims_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bound is minus infinity then, which is no number of a result file."""
    asked = []

    def stopped(
        problem: Problem, request: Request, line: Timeline, families: Families
    ) -> plain.PageOptimum:
        del families
        asked.append(line)
        start = need(request.start)
        value = residency_plan_value(problem, start, request.objective)
        return plain.PageOptimum(residency_plan=start, value=value, bound=-np.inf, solver="HiGHS")

    monkeypatch.setattr(plain, "page_optimum", stopped)
    for seed in range(40):
        problem = random_problem(seed, **LARGER)
        assert scheduled(problem, MAKESPAN, tolerance=0.0).class_bound is None or not asked
        if asked:
            return
    raise AssertionError("no problem was left to the solver")


@pytest.mark.parametrize("seed", some(range(1, 13), 4))
def test_first_mappings_alone_are_a_problem_of_one_mapping_each(seed: int) -> None:
    problem = random_problem(seed, max_mappings=2, **LARGER)
    first = fitting_mappings(problem)
    alone = in_mappings(problem, first)
    expected = verified(alone, MAKESPAN, scheduled(alone, MAKESPAN).residency_plan)
    found = scheduled(problem, MAKESPAN, first_mappings=True)
    assert verified(problem, MAKESPAN, found.residency_plan) == expected
    steps = need(found.residency_plan).steps
    assert (steps.mapping == first[steps.operation]).all()
    # Its dual values prove a bound over all mappings.
    best = verified(problem, MAKESPAN, scheduled(problem, MAKESPAN).residency_plan)
    assert bound(problem, need(found.certificate)) <= best


def test_dual_values_of_first_mappings_leave_room_for_others_that_fetch_often() -> None:
    problem = random_problem(0, max_mappings=2, **LARGER)
    often = tuple(
        replace(
            each,
            mappings=(
                each.mappings[0],
                *(
                    replace(own, operands=tuple(replace(o, fetches=2**20) for o in own.operands))
                    for own in each.mappings[1:]
                ),
            ),
        )
        for each in problem.operations
    )
    problem = replace(problem, operations=often)
    found = scheduled(problem, MAKESPAN, first_mappings=True)
    assert (
        0
        < bound(problem, need(found.certificate))
        <= verified(problem, MAKESPAN, found.residency_plan)
    )
