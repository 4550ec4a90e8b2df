"""The scheduler ``fluid``: the relaxation's bound, which bounds all schedules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from formulations.residency import fluid, page
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.params import DEFAULTS, ResidencyParams, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.verifier import bound
from tests.checked import need
from tests.formulations.plain.values import plain_value
from tests.formulations.priced import OBJECTIVES, cases
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.test_bound import leave_pages_out

TOLERANCE = 1e-6


def proved(
    problem: Problem,
    objective: Objective,
    tolerance: float = TOLERANCE,
    params: SolveParams = DEFAULTS,
) -> Fraction:
    request = Request(objective=objective, tolerance=tolerance, threads=1, params=params)
    outcome = fluid.schedule(problem, request)
    assert outcome.residency_plan is None
    return bound(problem, need(outcome.certificate))


@pytest.mark.parametrize(
    ("tolerance", "most_steps"), [(1e-3, 0), (1e-6, 0), (1e-9, 6_000)], ids=str
)
def test_it_is_the_value_of_the_plain_program(
    monkeypatch: pytest.MonkeyPatch, tolerance: float, most_steps: int
) -> None:
    """By column generation, and by one program over all columns; pages may prove more."""
    params = SolveParams(residency=ResidencyParams(all_columns=most_steps))
    for seed, case in enumerate(cases(share(24))):
        least = plain_value(case.problem, case.objective)
        slack = max(case.scale, least)
        if case.problem.several_mappings:
            # The program has the least of each figure, the bound one mapping of each operation.
            value = float(proved(case.problem, case.objective, tolerance, params))
            assert value >= least - 2 * max(tolerance, TOLERANCE) * slack, seed
            continue
        with monkeypatch.context() as patch:
            leave_pages_out(patch)
            value = float(proved(case.problem, case.objective, tolerance, params))
        assert value <= least + 1e-9 * slack, seed
        assert value >= least - 2 * tolerance * slack, seed


def test_one_bound_serves_pages_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """By single bytes ``page`` proves no more than ``fluid``, but for tolerances."""
    leave_pages_out(monkeypatch)
    for seed in some(range(10)):
        problem = random_problem(seed, max_operations=10, max_tensors=6, duplex=True)
        objective = objective_named(OBJECTIVES[seed % 3], problem.machine)
        outcome = page.schedule(problem, Request(objective=objective, threads=1))
        own = bound(problem, need(outcome.certificate))
        assert own <= proved(problem, objective) * (1 + Fraction(TOLERANCE) * 2), seed


def changed(problem: Problem, **machine: Any) -> Problem:
    return replace(problem, machine=replace(problem.machine, **machine))


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC], ids=lambda one: one.name)
def test_tensors_of_many_gigabytes(objective: Objective) -> None:
    """Sums of such sizes are off by more than the smallest part of a byte that counts."""
    scale = 55 * 10**9
    for seed in range(6):
        small = random_problem(seed, max_operations=6, max_tensors=5)
        tensors = tuple(replace(t, size_bytes=t.size_bytes * scale) for t in small.tensors)
        large = changed(replace(small, tensors=tensors), spm_bytes=small.machine.spm_bytes * scale)
        assert proved(large, objective) >= 0


def test_the_note_says_how_tight_the_bound_is() -> None:
    read = Op(reads="x", cycles=5)
    # With 3 bytes a cycle 8 bytes take 2 2/3 cycles, which a schedule cannot.
    problem = tiny({"x": (8, "in")}, [replace(read, cycles=0)], spm=4, dram_bytes_per_s=3)
    request = Request(objective=MAKESPAN, tolerance=1e-6)
    outcome = fluid.schedule(problem, request)
    assert float(bound(problem, need(outcome.certificate))) == pytest.approx(8 / 3)
    assert outcome.notes == ("the fluid optimum is at most 0 % above this bound",)


@pytest.mark.parametrize(
    "limits", [{"stop": lambda: True}, {"time_limit_s": 0.0}], ids=["stopped", "late"]
)
def test_without_time_there_is_a_bound_all_the_same(limits: dict[str, Any]) -> None:
    for seed in some(range(20)):
        problem = random_problem(seed, max_operations=8, max_tensors=5, duplex=True, max_mappings=2)
        objective = objective_named(OBJECTIVES[seed % 3], problem.machine)
        outcome = fluid.schedule(problem, Request(objective=objective, **limits))
        least = plain_value(problem, objective)
        proof = float(bound(problem, need(outcome.certificate)))
        assert problem.several_mappings or proof <= least * (1 + 1e-9)
