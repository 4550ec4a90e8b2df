"""Curves of made-up functions, and of real problems against direct solves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.fluid import enclosed
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.sweeps.curve import BoundCurve, EnclosedOptimum
from spmopt.verifier import bound
from tests.strategies import problems

BITS = 10


def line(
    value: Fraction, slope: int, capacity: int, above: Fraction = Fraction(0)
) -> EnclosedOptimum:
    """A solve whose dual values sum up to ``slope / 2**BITS``."""
    zero = np.zeros(2, np.int64)
    duals = Certificate(
        objective=MAKESPAN,
        bits=BITS,
        spm=np.array([slope, 0], np.int64),
        dram_in=zero,
        dram_out=zero,
    )
    return EnclosedOptimum(
        capacity_bytes=capacity, lower=value, certificate=duals, upper=value * (1 + above)
    )


def test_cut_and_chord_by_hand() -> None:
    curve = BoundCurve([0, 100, 200], 1e-3)
    assert curve.want() == [0, 200]
    curve.add(line(Fraction(1000), 5 * 2**BITS, 0))
    curve.add(line(Fraction(400), 2**BITS, 200))
    middle = curve.at(100)
    assert middle.lower == max(1000 - 5 * 100, 400 + 100)
    assert middle.upper == 700
    assert middle.gap == Fraction(2, 5)
    assert middle.chord == (0, 200)
    assert curve.want() == [100]
    curve.add(line(Fraction(500), 2**BITS, 100))
    assert curve.want() == []
    assert curve.at(100).chord == (100,)


def test_a_solution_above_one_with_less_room_is_not_used() -> None:
    curve = BoundCurve([0, 50, 100], 1e-3)
    curve.add(line(Fraction(1000), 0, 0))
    curve.add(line(Fraction(1000), 0, 100, above=Fraction(1, 2)))
    assert curve.at(100).upper == curve.at(50).upper == 1000
    assert curve.at(100).chord == (0,)
    assert curve.want() == []


def test_nearest_duals() -> None:
    curve = BoundCurve([0, 10, 20, 30], 1e-3)
    assert curve.nearest(10) is None
    low, high = line(Fraction(9), 0, 0), line(Fraction(9), 0, 20)
    for solved in (high, low):
        curve.add(solved)
    curve.add(EnclosedOptimum(capacity_bytes=30, lower=None, certificate=None, upper=None))
    assert curve.nearest(10) is low
    assert curve.nearest(30) is high


def test_a_solver_that_finds_nothing_does_not_go_on_for_ever() -> None:
    curve = BoundCurve(range(0, 40, 10), 1e-3)
    asked = []
    while wanted := curve.want():
        asked += wanted
        for capacity in wanted:
            curve.add(
                EnclosedOptimum(capacity_bytes=capacity, lower=None, certificate=None, upper=None)
            )
    assert sorted(asked) == [0, 10, 20, 30]
    assert curve.at(20).gap is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 3000)), min_size=1, max_size=6))
def test_encloses_the_maximum_of_lines(lines: list[tuple[int, int]]) -> None:
    """Convex and not rising: the largest of some falling lines and a floor."""
    fusion = [(0, 10), *lines]

    def value(capacity: int) -> EnclosedOptimum:
        best = max(fusion, key=lambda piece: piece[1] - piece[0] * capacity)
        return line(Fraction(best[1] - best[0] * capacity), best[0] * 2**BITS, capacity)

    capacities = range(0, 101, 1)
    curve = BoundCurve(capacities, 1e-2)
    while wanted := curve.want():
        for capacity in wanted:
            curve.add(value(capacity))
    for capacity in capacities:
        found, true = curve.at(capacity), value(capacity).lower
        assert found.lower is not None
        assert found.upper is not None
        assert true is not None
        assert found.lower <= true <= found.upper <= found.lower * Fraction(101, 100)
    assert curve.solves <= 30


def at(problem: Problem, capacity_bytes: int) -> Problem:
    return replace(problem, machine=replace(problem.machine, spm_bytes=capacity_bytes))


def solved(problem: Problem, objective: Objective, tolerance: float) -> EnclosedOptimum:
    request = Request(objective=objective, tolerance=tolerance, threads=1)
    duals, upper = enclosed(problem, request)
    assert duals is not None
    return EnclosedOptimum(
        capacity_bytes=problem.machine.spm_bytes,
        lower=bound(problem, duals),
        certificate=duals,
        upper=upper,
    )


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC], ids=lambda o: o.name)
@settings(max_examples=3, deadline=None)
@given(problem=problems())
def test_encloses_direct_solves(objective: Objective, problem: Problem) -> None:
    page = problem.machine.page_bytes
    least = problem.machine.spm_pages
    capacities = [page * pages for pages in range(least, least + 10)]
    curve = BoundCurve(capacities, 1e-2)
    while wanted := curve.want():
        for capacity in wanted:
            curve.add(solved(at(problem, capacity), objective, 1e-3))
    for capacity in capacities[::4]:
        direct, found = solved(at(problem, capacity), objective, 1e-3), curve.at(capacity)
        assert found.lower is not None
        assert found.upper is not None
        assert direct.lower is not None
        assert direct.upper is not None
        assert found.lower <= direct.upper
        assert direct.lower <= found.upper
        assert found.cut is not None
        assert found.cut.certificate is not None
        assert bound(at(problem, capacity), found.cut.certificate) == found.lower
