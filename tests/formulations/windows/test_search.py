"""Schedulers that go by windows, as on problems of very many operations: legal, never below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, repeat
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import column_generation, page
from formulations.residency.settings import Effort, Settings
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.objective import MAKESPAN, WEIGHTS, Objective, objective_named
from spmopt.core.params import ResidencyParams, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Incumbent, Request
from spmopt.policies.belady import belady
from spmopt.verifier import bound
from tests.checked import need, totals_of
from tests.formulations.priced import OBJECTIVES
from tests.formulations.small import SMALL, relax, small_optimum
from tests.strategies import problems, random_problem
from tests.thorough import share, some
from tests.verifier.test_bound import leave_pages_out

LARGER: dict[str, Any] = {"max_operations": 14, "max_tensors": 8, "duplex": True, "setup": True}

_STAGES = ((60, (0.3, 0.002)), (30, (0.1, 0.002)))


PARAMS: dict[str, Any] = {}
"""Of the requests of this file, while :func:`windows` says so."""


@contextmanager
def windows(*, width: int, **changes: Any) -> Iterator[None]:
    """Go by windows on every problem; no program after them unless ``changes`` say so."""
    always = {"large_of_bytes": 0, "large_program": 0}
    params = SolveParams(residency=ResidencyParams(sweep_steps=0, sweep_width=width))
    found = partial(Settings, **{**always, **changes})
    with (
        mock.patch.object(column_generation, "Settings", found),
        mock.patch.dict(PARAMS, params=params),
    ):
        yield


@pytest.fixture(autouse=True)
def narrow_windows() -> Iterator[None]:
    """Windows of four steps, unless a test asks for others."""
    effort = Effort(gap=0.0, stages=_STAGES, again=_STAGES[-1], overlap=2, part=3)
    with windows(efforts=(effort,), width=2):
        yield


@st.composite
def spans(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of windows of 2 to 12 steps at first, at dual values from none to good ones."""
    rates = st.tuples(st.sampled_from((0.3, 0.1)), st.sampled_from((0.002, 0.0002)))
    stage = st.tuples(st.sampled_from((0, 1, 5, 40)), rates)
    effort = Effort(
        gap=0.0,
        stages=tuple(draw(st.lists(stage, min_size=1, max_size=3))),
        again=draw(stage),
        overlap=draw(st.integers(1, 6)),
        part=draw(st.integers(1, 5)),
    )
    width, widest = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    return {"efforts": (effort,), "width": width, "widest": widest}


def objectives() -> st.SearchStrategy[str | Objective]:
    """Names, of those of a machine too, and weights: some of them, and all, may be none."""
    weights = dict.fromkeys(WEIGHTS, st.fractions(0, 4, max_denominator=3))
    mixed = st.builds(Objective, name=st.just("mixed"), unit=st.just("units"), **weights)
    return st.sampled_from(OBJECTIVES) | mixed


def of_machine(objective: str | Objective, problem: Problem) -> Objective:
    if isinstance(objective, str):
        return objective_named(objective, problem.machine)
    return objective


def scheduled(problem: Problem, objective: Objective, **request: Any) -> Result:
    return page.schedule(problem, Request(objective=objective, threads=1, **PARAMS, **request))


def proved(problem: Problem, outcome: Result) -> Fraction:
    return bound(problem, need(outcome.certificate))


def verified(problem: Problem, objective: Objective, outcome: Result) -> Fraction:
    totals = totals_of(problem, outcome.residency_plan)
    return totals.value(objective)


@settings(max_examples=share(40), deadline=None)
@given(problems(**SMALL), objectives(), spans())
def test_between_its_bound_and_its_value_lies_the_optimum_and_news_are_true(
    problem: Problem, weights: str | Objective, span: dict[str, Any]
) -> None:
    objective = of_machine(weights, problem)
    best, slack = small_optimum(problem, objective).value, Fraction(1, 10**9)
    news: list[Incumbent] = []
    with windows(**span), mock.patch.object(column_generation, "_NEWS_S", -1.0):
        outcome = scheduled(problem, objective, on_incumbent=news.append)
    assert proved(problem, outcome) <= best <= verified(problem, objective, outcome)
    for each in news:
        assert each.value is None or each.value >= float(best) * (1 - slack)
        assert each.bound is None or each.bound <= float(best) * (1 + slack) + 1e-24


def test_close_to_the_optimum_where_pages_are_small() -> None:
    """From dual values of few steps, and without looking at more than four steps at a time."""
    gaps = []
    for seed in some(range(18), 9):
        problem = random_problem(
            seed, page_bytes=1, max_tensor_pages=4000, max_compute_cycles=9000, **LARGER
        )
        objective = objective_named(OBJECTIVES[seed % 3], problem.machine)
        outcome = scheduled(problem, objective)
        gaps.append(float(verified(problem, objective, outcome) / proved(problem, outcome)) - 1)
    assert sorted(gaps)[len(gaps) // 2] < 0.02
    assert max(gaps) < 0.25


def test_fluid_says_how_far_its_solution_is(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_pages_out(monkeypatch)
    for seed in some(range(12)):
        problem = random_problem(seed, max_mappings=2, **LARGER)
        machine = replace(problem.machine, dma_setup_cycles=0)  # which the relaxation leaves out
        problem = replace(problem, machine=machine)
        request = Request(objective=MAKESPAN, threads=1, **PARAMS)
        search = relax(problem, request)
        assert bound(problem, need(search.certificate)) <= need(search.value)


@settings(max_examples=share(40, 20), deadline=None)
@given(
    st.integers(0, 10**6),
    objectives(),
    spans(),
    st.integers(0, 250) | st.just(10**9),
    st.sampled_from((0, 10**6)),
)
def test_every_feature_and_a_stop_at_any_time_leave_a_legal_schedule(
    seed: int, weights: str | Objective, span: dict[str, Any], asked: int, large_program: int
) -> None:
    problem = random_problem(seed, max_mappings=2, **LARGER)
    objective = of_machine(weights, problem)
    stop = chain(repeat(False, asked), repeat(True)).__next__
    start = belady(problem, Request(objective=objective)).residency_plan if seed % 2 else None
    with windows(**span, large_program=large_program):
        outcome = scheduled(problem, objective, stop=stop, start=start)
    value = verified(problem, objective, outcome)
    assert proved(problem, outcome) <= value
    assert start is None or value <= residency_plan_value(problem, start, objective)
