from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.whole import schedule
from spmopt.core.errors import InfeasibleError
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import ClassBound
from spmopt.core.scheduler import Request
from spmopt.frontends.zoo import network
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.policies import belady
from spmopt.verifier import bound
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
    assert outcome.class_bound is not None
    assert outcome.class_bound.value == pytest.approx(float(value), rel=1e-9)
    return int(value)


@pytest.mark.parametrize(("spm", "traffic"), [(8, 8), (7, 16)])
def test_what_fits_is_read_once(spm: int, traffic: int) -> None:
    assert least(tiny({"x": (8, "in")}, [READ, READ], spm=spm)) == traffic


def test_pages_are_rounded_up() -> None:
    # Five bytes take two pages, and the other read takes one of two.
    tensors = {"x": (5, "in"), "y": (1, "in")}
    operations = [READ, Op(reads="y", required_resident="y"), READ]
    assert least(tiny(tensors, operations, spm=11)) == 5 + 1 + 5
    assert least(tiny(tensors, operations, spm=12)) == 5 + 1


@pytest.mark.parametrize(("spm", "traffic"), [(8, 8), (4, 24)])
def test_passes_cross_each_time_unless_resident(spm: int, traffic: int) -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x", fetches={"x": 3})], spm=spm)
    assert least(problem) == traffic


@pytest.mark.parametrize(("spm", "traffic"), [(8, 8), (4, 8 * (3 + 2))])
def test_partial_sums_of_a_streamed_result(spm: int, traffic: int) -> None:
    problem = tiny({"x": (8, "keep")}, [Op(writes="x", fetches={"x": 3})], spm=spm)
    assert least(problem) == traffic


def test_an_update_in_place_reads_and_writes() -> None:
    update = Op(reads="x", writes="x")
    assert least(tiny({"x": (8, "in keep")}, [update, update], spm=4)) == 4 * 8
    assert least(tiny({"x": (8, "in keep")}, [update, update], spm=8)) == 2 * 8
    assert least(tiny({"x": (8, "in")}, [update], spm=4)) == 8


def test_a_version_is_stored_once() -> None:
    # x is written, given up for y and for z, and read after each: one store, two loads.
    others = [Op(reads=name, required_resident=name) for name in "yz"]
    operations = [Op(writes="x"), others[0], READ, others[1], READ]
    tensors = {"x": (8, ""), "y": (12, "in"), "z": (12, "in")}
    assert least(tiny(tensors, operations, spm=12)) == 8 * 3 + 12 * 2


def test_dead_contents_cost_nothing() -> None:
    operations = [Op(writes="x"), Op(writes="x"), READ]
    assert least(tiny({"x": (8, "")}, operations, spm=8)) == 0


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC], ids=lambda one: one.name)
def test_operations_without_operands(objective: Objective) -> None:
    problem = tiny({"a": (4, "in")}, [Op(cycles=3), Op(cycles=2)], spm=8)
    value = verified_value(problem, objective, solved(problem, objective).residency_plan)
    assert value == 5 * objective.cycle


def test_scratch_takes_room() -> None:
    operations = [READ, Op(scratch=5), READ]
    assert least(tiny({"x": (8, "in")}, operations, spm=16)) == 8
    assert least(tiny({"x": (8, "in")}, operations, spm=12)) == 16


def test_infeasible_names_the_bytes() -> None:
    problem = tiny({"x": (9, "in")}, [Op(reads="x", required_resident="x", scratch=3)], spm=12)
    with pytest.raises(InfeasibleError, match=r"need 16 bytes.*available are 12.*missing are 4"):
        solved(problem, TRAFFIC)


@settings(max_examples=share(150), deadline=None)
@given(problems(**SMALL), st.booleans())
def test_optimum_equals_brute_force(problem: Problem, energy: bool) -> None:
    objective = byte_energy(problem) if energy else TRAFFIC
    outcome = solved(problem, objective)
    assert outcome.residency_plan is not None
    assert all_or_nothing(problem, outcome.residency_plan)
    value = verified_value(problem, objective, outcome.residency_plan)
    assert value == small_optimum(problem, objective, "whole").value
    assert outcome.class_bound is not None
    assert outcome.class_bound.value == pytest.approx(float(value), rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(problems(max_operations=4, max_mappings=2))
def test_of_several_modes_one_is_taken(problem: Problem) -> None:
    outcome = solved(problem, TRAFFIC)
    value = verified_value(problem, TRAFFIC, outcome.residency_plan)
    assert value >= small_optimum(problem, TRAFFIC, "whole").value
    several = any(len(operation.mappings) > 1 for operation in problem.operations)
    assert (SEVERAL_MAPPINGS in outcome.notes) == several
    assert outcome.class_bound is not None
    assert (SEVERAL_MAPPINGS in outcome.class_bound.holds_for) == several


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=20, deadline=None)
@given(problems(max_operations=4))
def test_no_certificate_contradicts_it(problem: Problem) -> None:
    from formulations.residency.fluid import schedule as fluid

    certificate = fluid(problem, Request(objective=TRAFFIC)).certificate
    assert certificate is not None
    outcome = solved(problem, TRAFFIC)
    assert bound(problem, certificate) <= verified_value(problem, TRAFFIC, outcome.residency_plan)
