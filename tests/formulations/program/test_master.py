"""The compact program: against the plain model, its duals, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.residency.program.columns import ColumnKind, Usage
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


def test_too_much_that_is_required_resident_is_infeasible() -> None:
    two = Op(reads="x y", required_resident="x y")
    problem = tiny({"x": (8, "in"), "y": (8, "in")}, [two], spm=16)
    case = Case.of(problem, TRAFFIC)
    assert solved(case, all_columns(case.intervals))[2] == pytest.approx(16)
    # The margin never takes from what is required-resident, so the capacity itself is cut.
    program = Master(
        case.intervals, case.coefficients, all_columns(case.intervals), page_bytes=1
    ).program
    upper = np.where(np.isinf(program.upper), np.inf, program.upper * 0.99)
    answer = solve(replace(program, upper=upper), options={"solver": "simplex"})
    assert answer.status is SolverStatus.INFEASIBLE


def test_a_required_resident_result_that_nothing_needs_takes_room() -> None:
    # It has no column: the capacity is less, for x too.
    operations = [READ, Op(writes="y", required_resident="y"), READ]
    problem = tiny({"x": (8, "in"), "y": (4, "")}, operations, spm=8)
    assert value(problem) == pytest.approx(12)
    assert value(replace(problem, machine=replace(problem.machine, spm_bytes=12))) == 8


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


def test_amounts_are_bytes() -> None:
    case = Case.of(tiny({"x": (4000, "in")}, [READ, READ], spm=3000, page_bytes=1), TRAFFIC)
    columns = all_columns(case.intervals)
    built, answer, _ = solved(case, columns)
    amounts = built.amounts(answer)
    streamed = amounts[columns.kind == ColumnKind.STREAM]
    np.testing.assert_allclose(np.sort(streamed), [1000, 1000], rtol=1e-9)
    use = Usage(case.intervals, columns)
    assert (amounts * use.moved_in).sum() == pytest.approx(5000)


def test_a_program_without_duals_is_refused() -> None:
    case = Case.of(tiny({"x": (8, "in")}, [READ], spm=4), TRAFFIC)
    built, answer, _ = solved(case, all_columns(case.intervals))
    with pytest.raises(ValueError, match="no duals"):
        built.multipliers(replace(answer, row_dual=None))
    with pytest.raises(ValueError, match="no solution"):
        built.amounts(replace(answer, primal=None))
