"""Whole tensors: the plain model's switch, against brute force over their class."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formulations.residency.plain.search import page_optimum
from formulations.residency.tensors import FAMILIES, schedule
from spmopt.core.objective import MAKESPAN, TRAFFIC, energy_objective, objective_named
from spmopt.core.params import ResidencyParams, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE_TENSORS
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.frontends.zoo import network
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.policies.belady import belady
from spmopt.verifier import bound
from tests.checked import need
from tests.formulations.small import small_optimum
from tests.formulations.tensors.cases import (
    all_or_nothing,
    byte_energy,
    solved,
    verified_value,
)
from tests.strategies import problems, random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny

SMALL = {"max_operations": 5, "max_tensors": 3, "page_bytes": 2, "duplex": True, "setup": True}


@settings(max_examples=share(100), deadline=None)
@given(problems(**SMALL, max_mappings=2), st.booleans())
def test_where_time_is_free_it_is_the_optimum(problem: Problem, energy: bool) -> None:
    objective = byte_energy(problem) if energy else TRAFFIC
    outcome = solved(problem, objective)
    assert all_or_nothing(problem, need(outcome.residency_plan))
    value = verified_value(problem, objective, outcome.residency_plan)
    assert value == small_optimum(problem, objective, "whole").value
    assert need(outcome.class_bound).value == pytest.approx(float(value), rel=1e-9, abs=1e-18)


@settings(max_examples=share(80), deadline=None)
@given(problems(**SMALL, max_mappings=2), st.sampled_from(("time", "energy")), st.booleans())
def test_its_bound_holds_and_its_plan_is_of_the_class(
    problem: Problem, name: str, starts: bool
) -> None:
    objective = objective_named(name, problem.machine)
    best = small_optimum(problem, objective, "whole")
    least = float(small_optimum(problem, objective, "kept").value)
    start = best.residency_plan if starts else None
    request = Request(objective=objective, tolerance=0.0, threads=1, start=start)
    found = need(page_optimum(problem, request, fitting_timeline(problem), FAMILIES))
    value = verified_value(problem, objective, found.residency_plan)
    assert value == found.value >= small_optimum(problem, objective, "uses").value
    assert all_or_nothing(problem, found.residency_plan)
    assert found.bound <= least * (1 + 1e-6) + 1e-18


def test_in_whole_cycles_it_is_nearly_always_the_optimum() -> None:
    """Not always: bytes are stored one by one there, and whole bytes of a solution are fewer."""
    reached = 0
    for seed in some(range(60), 4):
        problem = random_problem(seed, max_operations=4, max_tensors=3, whole_cycles=True)
        outcome = solved(problem, MAKESPAN)
        value = verified_value(problem, MAKESPAN, outcome.residency_plan)
        reached += value <= small_optimum(problem, MAKESPAN, "kept").value
    assert reached >= share(55, 4)


def test_a_tensor_is_kept_in_full_or_leaves_in_full() -> None:
    """Of x's two pages one fits beside the scratch: by pages it stays, here both come again."""
    operations = [Op(reads="x"), Op(scratch=4), Op(reads="x")]
    problem = tiny({"x": (8, "in")}, operations, spm=8)
    for objective in (TRAFFIC, MAKESPAN):
        outcome = solved(problem, objective)
        assert verified_value(problem, objective, outcome.residency_plan) == 16
        assert need(outcome.class_bound).value == pytest.approx(16)
    assert small_optimum(problem, TRAFFIC, "page").value == 12


@settings(max_examples=share(20), deadline=None)
@given(problems(max_operations=4, setup=True))
def test_never_worse_than_a_start_of_another_class(problem: Problem) -> None:
    for objective in (TRAFFIC, MAKESPAN):
        start = small_optimum(problem, objective, "page")
        outcome = solved(problem, objective, start.residency_plan)
        assert verified_value(problem, objective, outcome.residency_plan) <= start.value


@settings(max_examples=share(20), deadline=None)
@given(problems(**SMALL, max_mappings=2), st.booleans())
def test_windows_and_their_certificate(problem: Problem, energy: bool) -> None:
    """The way of a large problem: no schedule is below the certified bound of its class."""
    objective = energy_objective(problem.machine) if energy else MAKESPAN
    assume(objective.cycle > 0)  # else one program decides
    start = belady(problem, Request(objective=objective)).residency_plan
    outcome = solved(
        problem, objective, start, SolveParams(residency=ResidencyParams(program_cells=0))
    )
    value = verified_value(problem, objective, outcome.residency_plan)
    assert value <= verified_value(problem, objective, start)
    known = need(outcome.class_bound)
    of_class = bound(problem, need(known.certificate), WHOLE_TENSORS)
    assert known.value <= float(of_class) * (1 + 1e-6)
    assert of_class <= small_optimum(problem, objective, "uses").value


def test_it_keeps_to_its_time_and_to_whole_tensors() -> None:
    machine = replace(load_machine("rtx2080ti"), spm_bytes=4 * 10**6)
    problem = lower(network("squeezenet", batch=32), machine)
    start = belady(problem, Request()).residency_plan
    before = monotonic()
    outcome = schedule(problem, Request(time_limit_s=1.0, threads=1, start=start))
    assert monotonic() - before < 60
    assert all_or_nothing(problem, need(outcome.residency_plan))
    assert verified_value(problem, MAKESPAN, outcome.residency_plan) <= verified_value(
        problem, MAKESPAN, start
    )
    stopped = schedule(problem, Request(start=start, stop=lambda: True))
    assert stopped.residency_plan is start
