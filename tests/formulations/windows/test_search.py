"""Schedulers that go by windows, as on instances of very many operations: legal, never below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, repeat
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import column_generation, fluid, page
from formulations.residency.settings import Effort, Settings
from spmopt.assemble import assemble
from spmopt.assemble.cost import plan_value
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC, WEIGHTS, Objective, objective_named
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Incumbent, Request
from spmopt.policies import belady
from spmopt.verifier import bound, require_legal
from tests.formulations.priced import OBJECTIVES
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import instances, random_instance
from tests.thorough import share
from tests.tiny import Op, tiny

LARGER: dict[str, Any] = {"max_operations": 14, "max_tensors": 8, "duplex": True, "setup": True}

_STAGES = ((60, (0.3, 0.002)), (30, (0.1, 0.002)))


def windows(**changes: Any) -> AbstractContextManager[object]:
    """Go by windows on every instance; no program after them unless ``changes`` say so."""
    always = {"large": 0, "large_of_bytes": 0, "large_program": 0}
    return mock.patch.object(
        column_generation, "Settings", partial(Settings, **{**always, **changes})
    )


@pytest.fixture(autouse=True)
def narrow_windows() -> Iterator[None]:
    """Windows of four steps, unless a test asks for others."""
    effort = Effort(gap=0.0, stages=_STAGES, again=_STAGES[-1], overlap=2, part=3)
    with windows(efforts=(effort,), width=2):
        yield


@st.composite
def spans(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of windows of 2 to 12 steps at first, at prices from none to good ones."""
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


def of_machine(objective: str | Objective, instance: Instance) -> Objective:
    if isinstance(objective, str):
        return objective_named(objective, instance.machine)
    return objective


def scheduled(instance: Instance, objective: Objective, **request: Any) -> Outcome:
    return page.schedule(instance, Request(objective=objective, threads=1, **request))


def proved(instance: Instance, outcome: Outcome) -> Fraction:
    assert outcome.certificate is not None
    return bound(instance, outcome.certificate)


def verified(instance: Instance, objective: Objective, outcome: Outcome) -> Fraction:
    assert outcome.plan is not None
    totals = require_legal(instance, assemble(instance, outcome.plan)).totals
    assert totals is not None
    return totals.value(objective)


@settings(max_examples=share(40), deadline=None)
@given(instances(**SMALL), objectives(), spans())
def test_between_its_bound_and_its_value_lies_the_optimum(
    instance: Instance, weights: str | Objective, span: dict[str, Any]
) -> None:
    objective = of_machine(weights, instance)
    best = small_optimum(instance, objective).value
    with windows(**span):
        outcome = scheduled(instance, objective)
    assert proved(instance, outcome) <= best <= verified(instance, objective, outcome)


@settings(max_examples=share(40), deadline=None)
@given(st.integers(0, 10**6), objectives(), spans(), st.sampled_from((0, 10**6)))
def test_every_feature_is_legal_and_the_bound_below(
    seed: int, weights: str | Objective, span: dict[str, Any], large_program: int
) -> None:
    instance = random_instance(seed, max_modes=2, **LARGER)
    objective = of_machine(weights, instance)
    with windows(**span, large_program=large_program):
        outcome = scheduled(instance, objective)
    assert proved(instance, outcome) <= verified(instance, objective, outcome)


@settings(max_examples=share(25), deadline=None)
@given(instances(**SMALL), objectives(), spans())
def test_news_on_the_way_are_true(
    instance: Instance, weights: str | Objective, span: dict[str, Any]
) -> None:
    objective = of_machine(weights, instance)
    best, slack = float(small_optimum(instance, objective).value), Fraction(1, 10**9)
    news: list[Incumbent] = []
    with windows(**span), mock.patch.object(column_generation, "_NEWS_S", -1.0):
        scheduled(instance, objective, on_incumbent=news.append)
    assert all(not each.of_class for each in news)
    for each in news:
        assert each.value is None or each.value >= best * (1 - slack)
        assert each.bound is None or each.bound <= best * (1 + slack) + 1e-24


def test_close_to_the_optimum_where_pages_are_small() -> None:
    """From prices of few steps, and without looking at more than four steps at a time."""
    gaps = []
    for seed in range(18):
        instance = random_instance(
            seed, page_bytes=1, max_tensor_pages=4000, max_compute_cycles=9000, **LARGER
        )
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        outcome = scheduled(instance, objective)
        gaps.append(float(verified(instance, objective, outcome) / proved(instance, outcome)) - 1)
    assert sorted(gaps)[len(gaps) // 2] < 0.02
    assert max(gaps) < 0.25


def test_fluid_says_how_far_its_solution_is() -> None:
    for seed in range(12):
        instance = random_instance(seed, max_modes=2, **LARGER)
        machine = replace(instance.machine, dma_setup_cycles=0)  # which the relaxation leaves out
        instance = replace(instance, machine=machine)
        request = Request(objective=MAKESPAN, threads=1)
        outcome = fluid.schedule(instance, request)
        certificate, value = fluid.enclosed(instance, request)
        assert certificate is not None
        assert value is not None
        assert proved(instance, outcome) <= value


@settings(max_examples=share(40), deadline=None)
@given(st.integers(0, 10**6), objectives(), spans(), st.integers(0, 250), st.booleans())
def test_a_stop_at_any_time_leaves_a_legal_schedule(
    seed: int, weights: str | Objective, span: dict[str, Any], asked: int, started: bool
) -> None:
    instance = random_instance(seed, max_modes=2, **LARGER)
    objective = of_machine(weights, instance)
    stop = chain(repeat(False, asked), repeat(True)).__next__
    start = belady(instance, Request(objective=objective)).plan if started else None
    with windows(**span):
        outcome = scheduled(instance, objective, stop=stop, start=start)
    value = verified(instance, objective, outcome)
    assert proved(instance, outcome) <= value
    assert start is None or value <= plan_value(instance, start, objective)


@pytest.mark.parametrize(
    ("spm", "objective", "value"), [(4, TRAFFIC, 12), (8, TRAFFIC, 8), (8, MAKESPAN, 13)]
)
def test_optima_by_hand(spm: int, objective: Objective, value: int) -> None:
    read = Op(reads="x", cycles=5)
    instance = tiny({"x": (8, "in")}, [read, read], spm=spm)
    assert verified(instance, objective, scheduled(instance, objective)) == value


def test_operations_without_operands() -> None:
    instance = tiny({}, [Op(cycles=3), Op(cycles=4)], spm=4)
    assert verified(instance, MAKESPAN, scheduled(instance, MAKESPAN)) == 7
