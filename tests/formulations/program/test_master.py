"""The compact program: against the plain model, its duals, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from formulations.residency.program.master import Master
from formulations.solver.highs import solve
from formulations.solver.program import SolverStatus
from spmopt.core.objective import TRAFFIC, Objective
from spmopt.core.problem import Problem
from tests.checked import need
from tests.formulations.plain.values import plain_value
from tests.formulations.priced import Case, all_columns, cases, solved
from tests.thorough import share
from tests.tiny import Op, tiny

READ = Op(reads="x", cycles=5)


def value(problem: Problem, objective: Objective = TRAFFIC) -> float:
    case = Case.of(problem, objective)
    return solved(case, all_columns(case.intervals))[2]


def test_over_all_columns_it_is_the_plain_model_and_its_duals_prove_it() -> None:
    for seed, case in enumerate(cases(share(150))):
        built, answer, least = solved(case, all_columns(case.intervals))
        plain = plain_value(case.problem, case.objective)
        assert case.close(least, plain), seed
        assert case.close(least, case.priced(built.multipliers(answer)).value), seed


def test_interior_point_without_presolve_has_the_same_duals() -> None:
    options = {"solver": "ipx", "presolve": "off", "run_crossover": "off"}
    for seed, case in enumerate(cases(share(60))):
        columns = all_columns(case.intervals)
        least = solved(case, columns)[2]
        built, answer, inner = solved(case, columns, **options)
        assert case.close(least, inner, 1e-5), seed
        assert case.close(least, case.priced(built.multipliers(answer)).value, 1e-4), seed


def test_pages_and_margin_leave_room_for_rounding() -> None:
    """Occupancy counts whole pages a byte; the margin is free but for what is required-resident."""
    case = Case.of(tiny({"x": (6, "in")}, [READ, READ], spm=8), TRAFFIC)
    columns = all_columns(case.intervals)

    def least(page_bytes: int, margin: float) -> float:
        built = Master(
            case.intervals, case.coefficients, columns, page_bytes=page_bytes, margin=margin
        )
        answer = solve(built.program, options={"solver": "simplex"})
        return need(answer.objective) * built.unit_bytes * built.dual_unit

    assert least(1, 0) == pytest.approx(6)
    assert least(4, 0) == pytest.approx(6)
    assert least(8, 0) == pytest.approx(6)
    assert least(1, 0.5) == pytest.approx(4 + 2 * 2)
    # 6 bytes take 8, so that 3 take 4.
    assert least(4, 0.5) == pytest.approx(3 + 2 * 3)
    fixed = Case.of(tiny({"x": (6, "in")}, [replace(READ, required_resident="x")], spm=8), TRAFFIC)
    built = Master(
        fixed.intervals, fixed.coefficients, all_columns(fixed.intervals), page_bytes=4, margin=0.5
    )
    assert solve(built.program, options={"solver": "simplex"}).status is SolverStatus.OPTIMAL


def test_a_program_without_duals_is_refused() -> None:
    case = Case.of(tiny({"x": (8, "in")}, [READ], spm=4), TRAFFIC)
    built, answer, _ = solved(case, all_columns(case.intervals))
    with pytest.raises(ValueError, match="no duals"):
        built.multipliers(replace(answer, row_dual=None))
    with pytest.raises(ValueError, match="no solution"):
        built.amounts(replace(answer, primal=None))
