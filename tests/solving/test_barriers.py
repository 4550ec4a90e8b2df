"""Optimizers of steps under the replay: valued by it, never worse than policies, with its bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Incumbent, Request
from spmopt.schedulers.registry import find
from spmopt.solving import compare, solve
from spmopt.solving.barriers import BY_STEPS
from spmopt.verifier import bound, verify
from tests.banked import banked
from tests.checked import need
from tests.graph.networks import mlp
from tests.solving.fakes import exact
from tests.strategies import random_problem
from tests.thorough import nightly, some

ASKED = Request(objective=REPLAY, time_limit_s=10, threads=1)
SEEDS = some([513, *range(508, 513), *range(514, 532)], 12)
OPTIMIZERS = ("residency", "residency:granularity=tensor", "contiguous")


def problem_of(seed: int) -> Problem:
    return random_problem(seed, max_operations=7, max_tensors=5, setup=True)


def replay_of(problem: Problem, result: Result) -> int:
    report = verify(problem, need(result.schedule))
    assert report.legal
    return need(report.replay).cycles


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_valued_by_the_replay_of_the_verifier(name: str) -> None:
    sooner = proved = 0
    for seed in SEEDS:
        problem = problem_of(seed)
        # One of them repairs until its time is up.
        limit_s = 0.3 if name == "contiguous" else 10
        result = solve(problem, name, replace(ASKED, time_limit_s=limit_s))
        assert exact(result) == replay_of(problem, result)
        sooner += exact(result) < need(result.totals).makespan_cycles
        assert result.class_bound is None
        assert bound(problem, need(result.certificate)) == need(result.bound) <= exact(result)
        proved += result.status is Status.OPTIMAL
        assert BY_STEPS in result.notes
    assert sooner or name == "residency:granularity=tensor"
    assert proved < len(SEEDS)  # set-up and whole cycles are in no bound


@nightly
def test_schedule_is_that_of_the_steps_or_a_policy_that_replays_faster() -> None:
    kept = 0
    for seed in SEEDS:
        problem = problem_of(seed)
        by_steps = solve(problem, "residency", replace(ASKED, objective=MAKESPAN))
        *policies, page = compare(problem, [*find("residency").starts, "residency"], ASKED)
        in_order = [exact(each) for each in policies if each.order is None]
        assert exact(page) == min(replay_of(problem, by_steps), *in_order)
        kept += exact(page) == replay_of(problem, by_steps)
    assert kept


def test_weights_beside_time() -> None:
    mixed = replace(REPLAY, name="mixed", cycle=Fraction(2), dram_in_byte=Fraction(1, 3))
    problem = problem_of(505)
    result = solve(problem, "residency", replace(ASKED, objective=mixed))
    cycles, moved = replay_of(problem, result), need(result.totals).dram_in_bytes
    assert exact(result) == 2 * cycles + Fraction(moved, 3)
    assert cycles < need(result.totals).makespan_cycles


def test_banks() -> None:
    problem = banked(32, max_operations=8, max_tensors=6)
    result = solve(problem, "banks", ASKED)
    assert exact(result) == replay_of(problem, result)
    assert result.bound is None


def test_news_are_of_the_replay() -> None:
    news: list[Incumbent] = []
    result = solve(problem_of(505), "residency", replace(ASKED, on_incumbent=news.append))
    values = [each.value for each in news if each.value is not None]
    assert values == [result.value]
    # The only bound that is told is that of the replay, once it is verified.
    assert {each.bound for each in news if each.bound is not None} == {result.bound}


def test_fluid_bounds_the_replay() -> None:
    """From dual values of steps; those that an optimizer has found prove as much or more."""
    for seed in some(range(500, 508)):
        problem, brief = problem_of(seed), replace(ASKED, time_limit_s=1)
        alone, page = solve(problem, "lp-bound", brief), solve(problem, "residency", brief)
        assert alone.bound is not None
        assert min(alone.bound, need(page.bound)) > 0
        assert max(alone.bound, need(page.bound)) <= exact(page)
        steps = need(solve(problem, "lp-bound", replace(ASKED, objective=MAKESPAN)).bound)
        assert alone.bound <= steps  # it allows all that steps do


def test_no_bound_of_the_replay_for_a_program_with_barriers() -> None:
    with pytest.raises(InputError, match="no objective replay, for the program has barriers"):
        spmopt.export(problem_of(500), objective="replay")


@pytest.mark.parametrize("names", some([["residency", "fusion"], ["fusion"]], 2))
def test_pieces_have_the_bound_of_their_cover(
    names: list[str],
) -> None:
    machine = spmopt.machine("rtx2080ti", spm="256B", page="16B", bandwidth="10GB/s")
    problem = spmopt.lower(mlp(), machine)
    assert isinstance(problem, Problem)
    *_, result = compare(problem, names, replace(ASKED, time_limit_s=0.8, tolerance=0.1))
    assert result.fused is not None
    assert exact(result) == replay_of(result.fused, result)
    assert (result.fusion_bound, result.fusion_certificate) == (None, None)
    proved = bound(result.fused, need(result.certificate))
    assert result.bound == proved
    assert proved <= exact(result)
    (listed,) = result.beside
    assert exact(result) <= exact(listed) == replay_of(problem, listed)
    assert listed.bound is not None
    assert result.status is Status.FEASIBLE
