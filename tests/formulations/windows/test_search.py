"""Schedulers that go by windows, as on instances of very many operations: legal, never below."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import column_generation, fluid, page
from formulations.residency.settings import Effort, Settings
from spmopt.assemble import assemble
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request
from spmopt.policies import belady
from spmopt.verifier import bound, require_legal
from tests.formulations.priced import OBJECTIVES
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import instances, random_instance
from tests.tiny import Op, tiny

LARGER: dict[str, Any] = {"max_operations": 14, "max_tensors": 8, "duplex": True, "setup": True}

_STAGES = ((60, (0.3, 0.002)), (30, (0.1, 0.002)))


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of four steps on every instance, and no program after them."""
    narrow = partial(
        Settings,
        large=0,
        large_of_bytes=0,
        efforts=(Effort(gap=0.0, stages=_STAGES, again=_STAGES[-1], overlap=2, part=3),),
        width=2,
        large_program=0,
    )
    monkeypatch.setattr(column_generation, "Settings", narrow)


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


@settings(max_examples=30, deadline=None)
@given(instances(**SMALL), st.sampled_from(OBJECTIVES))
def test_between_its_bound_and_its_value_lies_the_optimum(instance: Instance, name: str) -> None:
    objective = objective_named(name, instance.machine)
    best = small_optimum(instance, objective).value
    outcome = scheduled(instance, objective)
    assert proved(instance, outcome) <= best <= verified(instance, objective, outcome)


def test_every_feature_is_legal_and_the_bound_below() -> None:
    for seed in range(40):
        instance = random_instance(seed, max_modes=2, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        outcome = scheduled(instance, objective)
        assert proved(instance, outcome) <= verified(instance, objective, outcome), seed


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
        request = Request(objective=MAKESPAN, threads=1)
        outcome = fluid.schedule(instance, request)
        certificate, value = fluid.enclosed(instance, request)
        assert certificate is not None
        assert value is not None
        assert proved(instance, outcome) <= value


@pytest.mark.parametrize("asked", [0, 1, 70, 120, 160])
def test_a_stop_at_any_time_leaves_a_legal_schedule(asked: int) -> None:
    for seed in range(8):
        instance = random_instance(seed, max_modes=2, **LARGER)
        objective = objective_named(OBJECTIVES[seed % 3], instance.machine)
        left = [asked]

        def stop(left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] < 0

        start = belady(instance, Request(objective=objective)).plan if seed % 2 else None
        outcome = scheduled(instance, objective, stop=stop, start=start)
        assert proved(instance, outcome) <= verified(instance, objective, outcome)


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
