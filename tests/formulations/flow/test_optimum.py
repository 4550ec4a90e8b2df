"""Optima of flows: equal to the brute force and the plain program, and proved."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formulations.residency.flow.optimum import Optimum, fluid_optimum, page_optimum
from formulations.residency.flow.savings import SavingIntervals
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Status, relative_gap
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from spmopt.solving import solve
from spmopt.tiles.fetches import backward
from spmopt.tiles.order import ORDERS
from spmopt.verifier import bound
from tests.checked import need, totals_of
from tests.formulations.flow.cases import OBJECTIVES, pinned_problems, random_pinned
from tests.formulations.plain.values import plain_value
from tests.formulations.small import small_optimum
from tests.thorough import share, some
from tests.tiles.cases import grid, machine
from tests.tiny import Op, tiny

SMALL = {"max_operations": 5, "max_tensors": 3, "page_bytes": 2, "duplex": True}
LARGER = {"max_operations": 14, "max_tensors": 8, "scratch": True}


def in_pages(problem: Problem, objective: Objective = TRAFFIC) -> Optimum | None:
    return page_optimum(problem, Request(objective=objective))


def applies(problem: Problem, objective: Objective = TRAFFIC) -> bool:
    return SavingIntervals.of(timeline_in_order(problem), objective) is not None


def checked(problem: Problem, objective: Objective = TRAFFIC) -> tuple[Fraction, Fraction]:
    """Bound and value, both by the verifier."""
    found = need(in_pages(problem, objective))
    totals = totals_of(problem, found.residency_plan)
    value = totals.value(objective)
    assert value == found.value
    least = bound(problem, found.certificate)
    gap = relative_gap(value, least)
    # The verifier counts pages too, the flow bytes alone.
    assert gap is None or found.gap >= gap - 1e-9
    return least, value


@settings(max_examples=share(120), deadline=None)
@given(pinned_problems(3, **SMALL), st.sampled_from(OBJECTIVES))
def test_it_is_the_optimum(problem: Problem, objective: Objective) -> None:
    assume(applies(problem, objective))
    least, value = checked(problem, objective)
    assert least <= value == small_optimum(problem, objective).value


def test_larger_ones_have_the_plain_optimum() -> None:
    met = 0
    for seed in some(range(60), 4):
        problem = random_pinned(seed, seed % 5, **LARGER)
        objective = OBJECTIVES[seed % 2]
        if not applies(problem, objective):
            continue
        met += 1
        _, value = checked(problem, objective)
        assert float(value) == pytest.approx(plain_value(problem, objective, pages=True), rel=1e-6)
        relaxed = need(fluid_optimum(problem, Request(objective=objective)))
        assert relaxed.gap == 0
        assert float(relaxed.value) == pytest.approx(plain_value(problem, objective), rel=1e-6)
        # Pages may prove more than bytes.
        assert float(bound(problem, relaxed.certificate)) >= float(relaxed.value) * (1 - 1e-6)
    assert met > share(20, 4)


def test_what_it_applies_to() -> None:
    between = Op(reads="x", required_resident="x")
    write, read = Op(writes="y", required_resident="y"), Op(reads="y", required_resident="y")
    update = Op(reads="y", writes="y", required_resident="y")
    once = [write, between, update, between, read]
    tensors = {"x": (4, "in"), "y": (4, "keep")}
    dead = {"x": (4, "in"), "y": (4, "")}
    assert applies(tiny(tensors, once, spm=4))
    assert applies(tiny(dead, once, spm=4))
    assert not applies(tiny(tensors, [*once[:-1], Op(reads="y")], spm=4))
    assert not applies(tiny(tensors, once, spm=4), MAKESPAN)
    # Read twice after a write: stored once, whichever gap it leaves in; anyway if kept.
    twice = [write, between, read, between, read]
    assert applies(tiny(tensors, twice, spm=4))
    assert not applies(tiny(dead, twice, spm=4))
    assert applies(tiny(dead, [write, read, between, read], spm=4))
    assert applies(tiny(dead, [write, between, read, write, between, read], spm=4))
    assert not applies(tiny(tensors, [*twice, update], spm=4))
    assert applies(tiny(dead, [Op()], spm=4)) is False


def test_the_schedulers_use_it() -> None:
    cut = grid((7, 4, 6), (2, 2, 2))
    problem = backward(cut, machine(96, 16), ORDERS["dx-major"].through(cut))
    found = need(in_pages(problem))
    result = solve(problem, "residency", Request(objective=TRAFFIC))
    assert result.value == found.value
    assert need(result.class_bound).value == float(found.value)
    relaxed = solve(problem, "lp-bound", Request(objective=TRAFFIC))
    assert need(result.bound) <= need(relaxed.bound) <= found.value


def test_without_time_the_search_takes_over() -> None:
    cut = grid((4, 4, 4), (2, 2, 2))
    problem = backward(cut, machine(80, 16), ORDERS["sequential"].through(cut))
    result = solve(problem, "residency", Request(objective=TRAFFIC, time_limit_s=0))
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert result.verified
