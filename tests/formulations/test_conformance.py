"""Every scheduler of the registry on the same tiny problems, against every schedule tried.

Its schedule is legal by the verifier, no schedule is below its bound, what it calls optimal is the
optimum, and it does the same when asked again. Of problems with banks, graphs and the replay there
are suites of their own (``banks``, ``fusion``, ``joint``).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Bank
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, Objective, energy_objective
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import SCHEDULERS
from spmopt.solving import compare, solve
from tests.banked import banked, with_these
from tests.brute_force import optimum
from tests.checked import need, value_of
from tests.formulations.flow.cases import pinned
from tests.solving.test_bypass import KINDS, barred
from tests.solving.test_own_objectives import INWARD, MIXED
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny

TENSORS = "residency:granularity=tensor"
NAMES = [
    *(name for name in SCHEDULERS if name not in ("banks", "fusion", "interleaved", "joint")),
    *("belady:granularity=page", "belady-size:granularity=page"),
    *(f"{TENSORS}@pulp:highs", f"{TENSORS}@pulp:cbc"),
]
REPAIRS = "contiguous"
SEEDS = some(range(60), 10)


class Case(NamedTuple):
    """A problem, and the optimum in pages and with whole tensors."""

    problem: Problem
    objective: Objective
    least: Fraction
    whole: Fraction


@cache
def case_of(seed: int) -> Case | None:
    """Return the case of a seed, features in turn; None where it is too large to try everything."""
    problem = random_problem(
        seed,
        max_operations=4,
        max_tensors=3,
        page_bytes=2,
        max_tensor_pages=3,
        max_mappings=1 + seed % 2,
        duplex=seed % 3 == 0,
        setup=seed % 4 == 1,
    )
    if seed % 5 == 3:  # where a flow is the optimum of traffic
        problem = pinned(problem, seed % 3)
    elif seed % 6 == 4 and not problem.machine.duplex:
        problem = barred(problem, KINDS[seed % 3])
    energy = energy_objective(problem.machine)
    objective = (TRAFFIC, MAKESPAN, energy, INWARD, MIXED)[seed % 5 if seed % 5 != 3 else 0]
    try:
        page, whole = (need(optimum(problem, objective, residency=r)) for r in ("page", "whole"))
    except ValueError:
        return None
    for each in (page, whole):
        assert value_of(problem, objective, each.residency_plan) == each.value
    assert page.value <= whole.value
    return Case(problem, objective, page.value, whole.value)


def ask_all(case: Case) -> list[Result]:
    """Ask all schedulers; one that repairs until its time is up gets little."""
    request = Request(objective=case.objective, tolerance=0.0, time_limit_s=60.0, threads=1)
    found = compare(case.problem, [name for name in NAMES if name != REPAIRS], request)
    return [*found, solve(case.problem, REPAIRS, replace(request, time_limit_s=0.1))]


@cache
def results_of(seed: int) -> list[Result]:
    """Return results of all schedulers; none where there is no case."""
    case = case_of(seed)
    return [] if case is None else ask_all(case)


def check(case: Case, result: Result) -> None:
    """Compare a result with the optima."""
    if result.order is not None:  # both are of the given order
        return
    assert result.bound is None or result.bound <= case.least
    if result.value is None:
        assert result.scheduler == "lp-bound"
        return
    assert value_of(case.problem, case.objective, result.schedule) == result.value >= case.least
    if result.status is Status.OPTIMAL:
        assert result.value == case.least
    if result.scheduler.startswith(TENSORS):
        known = result.class_bound
        exact = case.objective.cycle == 0 and not case.problem.several_mappings
        if exact and known is not None:
            assert known.value == pytest.approx(float(case.whole), rel=1e-6, abs=1e-18)
            assert result.value <= case.whole


@pytest.mark.parametrize("seed", SEEDS)
def test_legal_bounded_and_optimal_where_it_says_so(seed: int) -> None:
    case = case_of(seed)
    if case is None:
        pytest.skip("too large to try everything")
    for result in results_of(seed):
        check(case, result)


def test_most_optima_are_found() -> None:
    """By pages, where the steps are few enough to try all states, or a flow decides."""
    optimal = [
        result.value == need(case_of(seed)).least
        for seed in SEEDS
        for result in results_of(seed)
        if result.scheduler == "residency"
    ]
    assert len(optimal) > share(45, 10)
    assert sum(optimal) >= 0.9 * len(optimal)


def test_asked_again_each_does_the_same() -> None:
    first, second = results_of(SEEDS[1]), ask_all(need(case_of(SEEDS[1])))
    for one, other in zip(first, second, strict=True):
        if one.scheduler != REPAIRS:
            assert (one.value, one.bound, one.status) == (other.value, other.bound, other.status)
            assert one.schedule == other.schedule
            assert one.notes == other.notes


def test_what_fits_in_no_way_is_infeasible_to_each() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x", required_resident="x")], spm=7)
    for name in {*NAMES, "joint"} - {"lp-bound"}:
        objective = REPLAY if name == "joint" else MAKESPAN
        result = solve(problem, name, Request(objective=objective))
        assert result.status is Status.INFEASIBLE
        assert "operation op0: its required-resident operands need 8 bytes" in result.notes[0]
        assert "available are 4, missing are 4" in result.notes[0]
    with pytest.raises(InputError, match="the machine has no banks; give some by --bank"):
        solve(problem, "banks", Request())
    small = replace(problem, machine=with_these(problem.machine, (Bank(spm_bytes=4),)))
    assert solve(small, "banks", Request()).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", ["residency", TENSORS, "contiguous", "fusion"])
def test_a_feature_that_one_does_not_know_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match=f"scheduler {name}: knows no banks; use banks") as found:
        solve(banked(1), name, Request())
    assert "\n" not in str(found.value)
