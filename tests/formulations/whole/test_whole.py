from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.whole import schedule
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import ClassBound
from spmopt.core.scheduler import Request
from spmopt.frontends.zoo import network
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.policies.belady import belady
from tests.checked import need
from tests.formulations.small import small_optimum
from tests.formulations.whole.cases import (
    all_or_nothing,
    byte_energy,
    solved,
    verified_value,
)
from tests.strategies import problems, random_problem
from tests.thorough import share
from tests.tiny import Op, tiny

READ = Op(reads="x")
SMALL = {"max_operations": 5, "max_tensors": 4, "page_bytes": 4, "duplex": True, "setup": True}


def least(problem: Problem, objective: Objective = TRAFFIC) -> int:
    """Return the least traffic found, having checked that the bound equals it."""
    outcome = solved(problem, objective)
    value = verified_value(problem, objective, outcome.residency_plan)
    assert need(outcome.class_bound).value == pytest.approx(float(value), rel=1e-9)
    return int(value)


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC], ids=lambda one: one.name)
def test_operations_without_operands(objective: Objective) -> None:
    problem = tiny({"a": (4, "in")}, [Op(cycles=3), Op(cycles=2)], spm=8)
    value = verified_value(problem, objective, solved(problem, objective).residency_plan)
    assert value == 5 * objective.cycle


@settings(max_examples=share(150), deadline=None)
@given(problems(**SMALL), st.booleans())
def test_optimum_equals_brute_force(problem: Problem, energy: bool) -> None:
    objective = byte_energy(problem) if energy else TRAFFIC
    outcome = solved(problem, objective)
    assert all_or_nothing(problem, need(outcome.residency_plan))
    value = verified_value(problem, objective, need(outcome.residency_plan))
    assert value == small_optimum(problem, objective, "whole").value
    assert need(outcome.class_bound).value == pytest.approx(float(value), rel=1e-9)


@settings(max_examples=share(30), deadline=None)
@given(problems(max_operations=4, max_mappings=2))
def test_of_several_modes_one_is_taken(problem: Problem) -> None:
    outcome = solved(problem, TRAFFIC)
    value = verified_value(problem, TRAFFIC, outcome.residency_plan)
    assert value >= small_optimum(problem, TRAFFIC, "whole").value
    several = any(len(operation.mappings) > 1 for operation in problem.operations)
    assert (SEVERAL_MAPPINGS in outcome.notes) == several
    assert (SEVERAL_MAPPINGS in need(outcome.class_bound).holds_for) == several


@settings(max_examples=share(30), deadline=None)
@given(problems(max_operations=4, setup=True))
def test_never_worse_than_a_start_of_another_class(problem: Problem) -> None:
    start = small_optimum(problem, TRAFFIC, "page")
    outcome = solved(problem, TRAFFIC, start.residency_plan)
    assert verified_value(problem, TRAFFIC, outcome.residency_plan) == start.value


@pytest.mark.parametrize("seed", range(4))
def test_more_room_is_never_worse(seed: int) -> None:
    problem = random_problem(seed, max_operations=20, max_tensors=12, max_operands=4)
    machine = problem.machine
    values = [
        least(replace(problem, machine=replace(machine, spm_bytes=machine.spm_bytes + more)))
        for more in range(0, 60, 12)
    ]
    assert values == sorted(values, reverse=True)


def _mobilenet() -> Problem:
    machine = replace(load_machine("rtx2080ti"), spm_bytes=128 * 10**6)
    return lower(training_graph(network("mobilenetv2", batch=32)), machine)


def test_time_limit_leaves_a_schedule_and_a_bound() -> None:
    problem = _mobilenet()
    request = Request(objective=TRAFFIC, tolerance=0.0, time_limit_s=0.6, threads=1)
    start = belady(problem, request).residency_plan
    outcome = schedule(problem, replace(request, start=start))
    value = verified_value(problem, TRAFFIC, outcome.residency_plan)
    assert value < verified_value(problem, TRAFFIC, start)
    assert isinstance(outcome.class_bound, ClassBound)
    assert 0.8 * value < Fraction(outcome.class_bound.value) <= value
    assert outcome.class_bound.proved_by.startswith("HiGHS ")


def test_once_stopped_what_there_is_comes_back() -> None:
    problem = _mobilenet()
    told: list[str] = []
    request = Request(
        objective=TRAFFIC,
        stop=lambda: len(told) > 0,
        report=lambda message, done: told.append(message),
    )
    outcome = schedule(problem, request)
    stream = sum(problem.tensors[t].size_bytes for op in problem.operations for t in op.tensors)
    assert verified_value(problem, TRAFFIC, outcome.residency_plan) < stream
    assert told
