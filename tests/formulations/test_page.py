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
from spmopt.assemble import assemble
from spmopt.assemble.cost import plan_value
from spmopt.core.errors import InfeasibleError
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.policies import belady
from spmopt.verifier import bound, require_legal
from tests.formulations.priced import OBJECTIVES
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import instances, random_instance
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_plan

LARGER: dict[str, Any] = {"max_operations": 14, "max_tensors": 8, "duplex": True, "setup": True}


def scheduled(instance: Instance, objective: Objective, **request: Any) -> Outcome:
    return page.schedule(instance, Request(objective=objective, threads=1, **request))


def rounded(instance: Instance, objective: Objective, **request: Any) -> Outcome:
    """What prices alone find."""
    return page.rounded(instance, Request(objective=objective, threads=1, **request))


def verified(instance: Instance, objective: Objective, plan: Plan | None) -> Fraction:
    """The verifier's value of a plan, which must be the formulation's own too."""
    assert plan is not None
    totals = require_legal(instance, assemble(instance, plan)).totals
    assert totals is not None
    value = totals.value(objective)
    assert plan_value(instance, plan, objective) == value
    return value


def proved(instance: Instance, outcome: Outcome) -> Fraction:
    assert outcome.certificate is not None
    return bound(instance, outcome.certificate)


@settings(max_examples=share(30), deadline=None)
@given(instances(**SMALL), st.sampled_from(OBJECTIVES))
def test_between_its_bound_and_its_value_lies_the_optimum(instance: Instance, name: str) -> None:
    objective = objective_named(name, instance.machine)
    best = small_optimum(instance, objective).value
    outcome = scheduled(instance, objective)
    assert proved(instance, outcome) <= best <= verified(instance, objective, outcome.plan)


@settings(max_examples=12, deadline=None)
@given(instances(**SMALL), st.sampled_from(OBJECTIVES), st.sampled_from(["page", "whole"]))
def test_never_worse_than_an_optimal_start(instance: Instance, name: str, residency: str) -> None:
    objective = objective_named(name, instance.machine)
    start = small_optimum(instance, objective, residency)
    outcome = scheduled(instance, objective, start=start.plan)
    value = verified(instance, objective, outcome.plan)
    assert value == start.value if residency == "page" else value <= start.value


@pytest.mark.parametrize("limit_s", [0.0, 1e-3])
def test_no_search_that_is_cut_short_proves_less_than_the_prices_it_begins_with(
    limit_s: float,
) -> None:
    raised, seeds = 0, some(range(24))
    for seed in seeds:
        instance = random_instance(seed, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        known = rounded(instance, objective, tolerance=1e-6)
        given: dict[str, Any] = {"start": known.plan, "prices": known.certificate}
        again = rounded(instance, objective, tolerance=0.0, time_limit_s=limit_s, **given)
        without = rounded(instance, objective, tolerance=0.0, time_limit_s=0.0, start=known.plan)
        assert proved(instance, again) >= proved(instance, known) * (1 - Fraction(1, 10**9)), seed
        raised += proved(instance, without) < proved(instance, known)
    assert raised > len(seeds) / 5


def test_never_worse_than_any_start() -> None:
    for seed in some(range(12)):
        instance = random_instance(seed, max_modes=2, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        # Of another order or in other modes at times.
        start = random_plan(instance, np.random.default_rng(seed), free_order=seed % 2 == 1)
        outcome = rounded(instance, objective, start=start)
        value = verified(instance, objective, outcome.plan)
        assert value <= verified(instance, objective, start), seed


@pytest.mark.parametrize(
    "limits", [{"stop": lambda: True}, {"time_limit_s": 0.0}], ids=["stopped", "late"]
)
@pytest.mark.parametrize("with_start", [False, True])
def test_without_time_the_start_is_returned_with_a_bound(
    limits: dict[str, Any], with_start: bool
) -> None:
    for seed in range(30):
        instance = random_instance(seed, max_modes=2, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        start = belady(instance, Request(objective=objective)).plan if with_start else None
        outcome = scheduled(instance, objective, start=start, **limits)
        value = verified(instance, objective, outcome.plan)
        assert proved(instance, outcome) <= value
        if with_start:
            assert outcome.plan is start


def test_a_stop_ends_the_search() -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 20

    instance = random_instance(4, **LARGER)
    outcome = scheduled(instance, MAKESPAN, stop=stop)
    assert verified(instance, MAKESPAN, outcome.plan) >= proved(instance, outcome)
    assert asked < 40


def test_close_to_the_optimum_where_pages_are_small() -> None:
    """Pages of one byte: what is left is the solver's tolerance and the rounding of bytes."""
    for seed in range(18):
        instance = random_instance(
            seed, page_bytes=1, max_tensor_pages=4000, max_compute_cycles=9000, **LARGER
        )
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        outcome = scheduled(instance, objective)
        value = verified(instance, objective, outcome.plan)
        assert value <= proved(instance, outcome) * Fraction(101, 100), seed


READ = Op(reads="x", cycles=5)


@pytest.mark.parametrize(
    ("spm", "objective", "value"),
    [(4, TRAFFIC, 12), (8, TRAFFIC, 8), (4, MAKESPAN, 13), (8, MAKESPAN, 13)],
)
def test_optima_by_hand(spm: int, objective: Objective, value: int) -> None:
    instance = tiny({"x": (8, "in")}, [READ, READ], spm=spm)
    outcome = scheduled(instance, objective)
    assert verified(instance, objective, outcome.plan) == value
    assert proved(instance, outcome) == pytest.approx(value, rel=1e-4)


def test_operations_without_operands() -> None:
    for tensors in ({}, {"x": (4, "in keep")}):
        instance = tiny(tensors, [Op(cycles=3), Op(cycles=4)], spm=4)
        for objective, value in ((MAKESPAN, 7), (TRAFFIC, 0)):
            outcome = scheduled(instance, objective)
            assert verified(instance, objective, outcome.plan) == value
            assert proved(instance, outcome) == value


def test_what_cannot_fit_is_infeasible() -> None:
    instance = tiny({"x": (8, "in")}, [replace(READ, stationary="x")], spm=7)
    with pytest.raises(InfeasibleError, match=r"operation op0: .* missing are 4"):
        scheduled(instance, TRAFFIC)


def test_of_several_modes_the_first_that_fits_runs_unless_all_are_enumerated() -> None:
    modes = [Op(reads="x", cycles=1, stationary="x"), Op(reads="x", cycles=20)]
    for spm, mode, value in ((8, 0, 9), (4, 1, 20)):
        instance = tiny({"x": (8, "in")}, [modes], spm=spm)
        outcome = page.rounded(instance, Request(threads=1))
        assert outcome.plan is not None
        assert outcome.plan.steps.mode.tolist() == [mode]
        assert verified(instance, MAKESPAN, outcome.plan) == value
        assert outcome.notes == (SEVERAL_MODES,)
        # One cycle in one mode, x streamed in the other: no mode is faster than 8.
        assert proved(instance, outcome) == pytest.approx(8)
        assert scheduled(instance, MAKESPAN).notes == ()


@pytest.mark.parametrize(("cycles", "value", "tolerance"), [(0, 20, 1e-4), (5, 40, 0.0)])
def test_only_an_open_gap_after_a_good_flow_ends_the_search_with_a_note(
    cycles: int, value: int, tolerance: float
) -> None:
    """The flow is optimal where nothing computes; elsewhere its plan is a third too slow."""
    both = [Op(reads=x, stationary=x, cycles=cycles) for x in "xy"] * 2
    instance = tiny({"x": (8, "in"), "y": (4, "in")}, both, spm=8)
    outcome = scheduled(instance, MAKESPAN, tolerance=tolerance)
    assert verified(instance, MAKESPAN, outcome.plan) == value
    assert outcome.notes == ()


def test_progress_is_told() -> None:
    told: list[str] = []
    instance = random_instance(7, **LARGER)
    scheduled(instance, TRAFFIC, report=lambda message, done: told.append(message))
    assert len(told) >= 2
    assert all("program of" in message and "columns" in message for message in told)
