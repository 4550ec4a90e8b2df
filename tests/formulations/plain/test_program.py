"""The plain model as a scheduler's program: exact where it says so, a bound elsewhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.plain import search, windows
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor, TensorKind
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, timeline
from spmopt.verifier.bound import bound
from tests.checked import need, totals_of
from tests.formulations.plain.values import plain_value
from tests.formulations.small import small_optimum
from tests.strategies import problems, random_problem
from tests.thorough import share

OBJECTIVES = st.sampled_from(("traffic", "time", "energy"))
SMALL: dict[str, Any] = {
    "max_operations": 5,
    "max_tensors": 3,
    "page_bytes": 2,
    "duplex": True,
    "setup": True,
    "max_mappings": 2,
}


def close(value: float, other: float, objective: Objective) -> bool:
    """Equal to what a solver's tolerance leaves; energies here are picojoules."""
    scale = max(abs(other), 1e-12 if objective.unit == "joules" else 1.0)
    return abs(value - other) <= 1e-6 * scale


@settings(max_examples=share(400, 16), deadline=None)
@given(problems(**SMALL), OBJECTIVES)
def test_the_optimum_of_tiny_problems_is_that_of_the_brute_force(
    problem: Problem, name: str
) -> None:
    objective = objective_named(name, problem.machine)
    request = Request(objective=objective, tolerance=0.0)
    line = fitting_timeline(problem)
    whole = search.families_of(line, request.params.residency)[-1]
    found = need(search.page_optimum(problem, request, line, whole))
    assert totals_of(problem, found.residency_plan).value(objective) == found.value
    least = float(small_optimum(problem, objective).value)
    assert close(float(found.value), least, objective)
    assert found.bound <= least or close(found.bound, least, objective)


def test_no_wrong_optimum_is_proved() -> None:
    """With presolve HiGHS 1.15 proves 34 cycles."""
    drawn = random_problem(540, max_operations=5, max_tensors=12, max_tensor_pages=6)
    problem = replace(drawn, machine=replace(drawn.machine, duplex=True))
    found = need(search.page_optimum(problem, Request(tolerance=0.0), fitting_timeline(problem)))
    whole = replace(search.FAMILIES, exact=True)
    line = fitting_timeline(problem)
    counted = need(search.page_optimum(problem, Request(tolerance=0.0), line, whole))
    assert found.value == counted.value == small_optimum(problem, MAKESPAN).value == 33


def operation(name: str, reads: tuple[int, ...], writes: tuple[int, ...], *ways: str) -> Operation:
    """Return an operation with a mapping for each way: which operands must be resident (R)."""
    mappings = tuple(
        OpMapping(
            compute_cycles=0,
            operands=tuple(Operand(required_resident=each == "R") for each in way),
        )
        for way in ways
    )
    return Operation(name=name, reads=reads, writes=writes, mappings=mappings)


def in_mappings(spm_bytes: int, sizes: tuple[int, ...], *operations: Operation) -> Problem:
    """Return a problem of activations, on a machine of one byte a cycle and pages of two."""
    machine = replace(random_problem(0).machine, spm_bytes=spm_bytes, page_bytes=2, duplex=False)
    tensors = (
        Tensor(name=f"t{number}", size_bytes=size, kind=TensorKind.ACTIVATION)
        for number, size in enumerate(sizes)
    )
    return Problem(name="m", machine=machine, tensors=tuple(tensors), operations=operations)


@pytest.mark.parametrize(
    ("problem", "least"),
    [
        (
            in_mappings(
                *(4, (2, 3, 1)),
                operation("a", (), (2,), "-"),
                operation("b", (2,), (0, 1), "--R", "-R-"),
            ),
            0,
        ),
        (
            in_mappings(
                *(2, (1, 2)),
                operation("a", (), (0,), "-"),
                operation("b", (0,), (), "-"),
                operation("c", (0,), (1,), "--"),
                operation("d", (0, 1), (), "-R", "R-"),
            ),
            3,
        ),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_of_several_mappings_no_wrong_optimum_is_proved(
    problem: Problem, least: int, exact: bool
) -> None:
    """With presolve HiGHS 1.15 proves 2 and 4 bytes."""
    request = Request(objective=TRAFFIC, tolerance=0.0)
    families = replace(search.FAMILIES, exact=exact)
    found = need(search.page_optimum(problem, request, fitting_timeline(problem), families))
    assert found.value == found.bound == small_optimum(problem, TRAFFIC).value == least


@settings(max_examples=share(400, 16), deadline=None)
@given(problems(**SMALL), OBJECTIVES)
def test_without_whole_cycles_it_is_a_lower_bound(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    request = Request(objective=objective, tolerance=0.0)
    families = replace(search.FAMILIES, exact=False)
    found = need(search.page_optimum(problem, request, fitting_timeline(problem), families))
    assert totals_of(problem, found.residency_plan).value(objective) == found.value
    least = float(small_optimum(problem, objective).value)
    assert found.bound <= least or close(found.bound, least, objective)


@settings(max_examples=share(200), deadline=None)
@given(problems(**SMALL), OBJECTIVES)
def test_a_start_is_a_solution(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    request = Request(objective=objective, tolerance=0.0)
    first = need(search.page_optimum(problem, request, fitting_timeline(problem)))
    # No time is left to find anything else.
    late = replace(request, start=first.residency_plan, time_limit_s=0.0)
    line = timeline(problem, first.residency_plan.steps)
    again = search.page_optimum(problem, late, line)
    assert again is None or close(float(again.value), float(first.value), objective)


@settings(max_examples=share(200), deadline=None)
@given(problems(**SMALL), OBJECTIVES)
def test_duals_of_the_relaxation_prove_its_value(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    found = search.relax(problem, Request(objective=objective), fitting_timeline(problem))
    if found is None:  # nothing to decide
        return
    # Tensors in whole pages cost no less than in the program, and there no less than in bytes.
    proved = float(bound(problem, found.certificate))
    for value in found.bound, plain_value(problem, objective):
        assert proved >= value or close(proved, value, objective)


@settings(max_examples=share(200, 16), deadline=None)
@given(problems(**{**SMALL, "max_operations": 9, "max_tensors": 6}), OBJECTIVES)
def test_windows_better_a_plan_or_leave_it(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    request = Request(objective=objective, tolerance=0.0)
    line = fitting_timeline(problem)
    relaxed = search.relax(problem, request, line)
    if relaxed is None or relaxed.residency_plan is None:
        return
    first = relaxed.residency_plan
    better = windows.improve(problem, request, line, first, sizes=(8,))
    value = residency_plan_value(problem, better, objective)
    assert totals_of(problem, better).value(objective) == value
    assert value <= residency_plan_value(problem, first, objective)


@pytest.mark.parametrize(("tolerance", "sweeps"), [(1e-3, 2), (1e-5, 12)])
def test_sweeps_of_windows_end_where_they_gain_far_less_than_the_tolerance(
    tolerance: float, sweeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each gains 5e-5 here: 8 of the 12 s of a layer-by-layer schedule gained 1e-7."""
    problem = random_problem(3, max_operations=5, max_tensors=4)
    line, turns = fitting_timeline(problem), list[int]()
    relaxed = need(search.relax(problem, Request(), line))
    values = (Fraction(10**6 - 50 * k) for k in count())

    def one_window(*given: Any) -> list[tuple[int, int, list[bool]]]:
        turns.append(given[2])
        return [(0, 5, [])]

    monkeypatch.setattr(windows, "_windows", one_window)
    monkeypatch.setattr(windows, "_decide", lambda *_, **__: (line.chosen, None))
    monkeypatch.setattr(windows, "plan_of", lambda *_: relaxed.residency_plan)
    monkeypatch.setattr(windows, "residency_plan_value", lambda *_: next(values))
    request = Request(tolerance=tolerance, stop=lambda: len(turns) >= 12)
    windows.improve(problem, request, line, need(relaxed.residency_plan), sizes=(8,))
    assert len(turns) == sweeps
