"""Columns: those of a cheapest path cost its cost, and pricing finds what is nearly on one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.residency.program.columns import (
    ColumnKind,
    PathColumns,
    Usage,
    existing,
    near_best_paths,
    of_kind,
    require,
)
from formulations.residency.program.master import Master
from formulations.residency.program.paths import path_columns
from formulations.solver.highs import solve
from formulations.solver.program import Floats, Program
from spmopt.core.objective import TRAFFIC
from spmopt.core.timeline import Access
from tests.formulations.priced import (
    Case,
    all_columns,
    cases,
    column_costs,
    random_duals,
    solved,
    uncolumned_cost,
)
from tests.tiny import Op, tiny

pytestmark = pytest.mark.filterwarnings(
    "error::RuntimeWarning"
)  # it would be on every user's screen


def keys(case: Case, columns: PathColumns) -> set[int]:
    return set(columns.key(case.intervals.steps).tolist())


def test_a_path_costs_what_the_dual_says() -> None:
    for seed, case in enumerate(cases(200)):
        intervals, duals = case.intervals, random_duals(case, seed)
        priced = case.priced(duals)
        columns = path_columns(priced)
        cost = intervals.size_bytes[columns.access] * column_costs(case, columns, duals)
        ends = intervals.next < 0
        best = (intervals.size_bytes * priced.ahead.best)[ends].sum()
        assert case.close(best, cost.sum() + uncolumned_cost(case, duals), 1e-9), seed


def test_a_path_is_a_solution() -> None:
    """Without the capacity, whole tensors on one path each meet every row of the program."""
    for seed, case in enumerate(cases(100)):
        priced = case.priced(random_duals(case, seed))
        columns = path_columns(priced)
        assert keys(case, columns) <= keys(case, all_columns(case.intervals)), seed
        program = roomy(case, columns)
        sizes = case.intervals.size_bytes[columns.access] / unit_bytes(case, columns)
        lower = program.lower.copy()
        lower[: len(columns)] = sizes
        answer = solve(replace(program, lower=lower), options={"solver": "simplex"})
        assert answer.feasible, seed


def unit_bytes(case: Case, columns: PathColumns) -> float:
    return Master(case.intervals, case.coefficients, columns, page_bytes=1).unit_bytes


def roomy(case: Case, columns: PathColumns) -> Program:
    """The compact program without the capacity."""
    program = Master(case.intervals, case.coefficients, columns, page_bytes=1).program
    upper = np.where(np.arange(program.upper.size) < len(columns), program.upper, np.inf)
    return replace(program, upper=upper)


@pytest.mark.parametrize("threshold", [1e-9, 0.4])
def test_pricing_finds_every_column_up_to_the_threshold(threshold: float) -> None:
    for seed, case in enumerate(cases(48, max_operations=6, max_tensors=3)):
        duals = random_duals(case, seed)
        limit = threshold * case.byte
        found = keys(case, near_best_paths(case.priced(duals), limit, 20))
        columns = all_columns(case.intervals)
        # In units of the dearest byte, which suit the solver's tolerances.
        cost = column_costs(case, columns, duals) / case.byte
        marginal = marginals(case, columns, cost) * case.byte
        noise = 1e-6 * case.byte
        every = columns.key(case.intervals.steps)
        assert set(every[marginal < limit - noise].tolist()) <= found, seed
        assert found <= set(every[marginal <= limit + noise].tolist()), seed


def marginals(case: Case, columns: PathColumns, cost: Floats) -> Floats:
    """(c,) What it costs to send one byte through each column, by linear programs."""
    program, unit = roomy(case, columns), unit_bytes(case, columns)
    own = np.arange(program.cost.size) < len(columns)
    priced = replace(program, cost=np.where(own, np.append(cost, np.zeros((~own).sum())), 0))
    best = least(priced)
    result = np.full(len(columns), np.inf)
    for column in range(len(columns)):
        lower = priced.lower.copy()
        lower[column] = 1 / unit
        result[column] = (least(replace(priced, lower=lower)) - best) * unit
    return result


def least(program: Program) -> float:
    answer = solve(program, options={"solver": "simplex"})
    return np.inf if answer.objective is None or not answer.feasible else answer.objective


def test_columns_at_the_optimal_duals_are_enough() -> None:
    for seed, case in enumerate(cases(60)):
        built, answer, value = solved(case, all_columns(case.intervals))
        priced = case.priced(built.multipliers(answer))
        few = near_best_paths(priced, 1e-9 * case.byte, 20)
        few = few.union(require(case.intervals), case.intervals.steps)
        assert case.close(value, solved(case, few)[2]), seed


def test_needed_columns_make_the_program_feasible() -> None:
    for seed, case in enumerate(cases(60)):
        columns = require(case.intervals)
        size = case.intervals.size_bytes[columns.access]
        use = Usage(case.intervals, columns)
        assert case.close(
            solved(case, columns)[2],
            float(moved_cost(case, columns, size * use.moved_in, size * use.moved_out)),
        ), seed


def moved_cost(case: Case, columns: PathColumns, into: Floats, out: Floats) -> float:
    """What a solution that moves these bytes in each column costs (R6, in linear time)."""
    use, coefficients, steps = (
        Usage(case.intervals, columns),
        case.coefficients,
        case.intervals.steps,
    )
    bytes_cost = float((coefficients.in_byte * into + coefficients.out_byte * out).sum())
    serial = np.bincount(use.at, (into + out) * use.serial, steps)
    computing = coefficients.compute_cycles * coefficients.bytes_per_cycle + serial
    if coefficients.duplex:
        first, last = (np.bincount(use.at, moved * use.serial, steps) for moved in (into, out))
        reading = np.bincount(use.at, into, steps) + last
        writing = np.bincount(use.at, out, steps) + first
        channel = np.maximum(reading, writing)
    else:
        channel = np.bincount(use.at, into + out, steps)
    time = float(np.maximum(channel, computing).sum())
    return coefficients.constant + bytes_cost + coefficients.byte_time * time


def test_what_columns_use() -> None:
    """x is read, held, updated with two fetches; y is written, held dirty, and stored at last."""
    operations = [
        Op(reads="x", writes="y"),
        Op(),
        Op(reads="x y", writes="x", fetches={"x": 2}, required_resident="y"),
        Op(),
    ]
    case = Case.of(tiny({"x": (4, "in keep"), "y": (4, "keep")}, operations, spm=8), TRAFFIC)
    intervals = case.intervals
    at = {(t, s): k for k, (t, s) in enumerate(zip(intervals.tensor, intervals.step, strict=True))}
    x0, x2, y0, y2 = at[0, 0], at[0, 2], at[1, 0], at[1, 2]

    def row(kind: ColumnKind, access: int, step: int = -1) -> tuple[float | bool, ...]:
        use = Usage(intervals, of_kind(kind, np.array([access]), step))
        span = (int(use.begin[0]), int(use.end[0])) if use.end[0] > use.begin[0] else ()
        return (*span, int(use.at[0]), use.moved_in[0], use.moved_out[0], bool(use.serial[0]))

    assert row(ColumnKind.LOAD_HERE, x0) == (0, 1, 0, 1, 0, False)
    assert row(ColumnKind.STREAM, x0) == (0, 1, 0, False)
    assert row(ColumnKind.STREAM, x2) == (2, 2, 2, False)
    assert row(ColumnKind.STREAM, y0) == (0, 0, 1, False)
    assert row(ColumnKind.HOLD_CLEAN, x2)[:2] == (1, 3)
    assert row(ColumnKind.LOAD, x2, 1) == (1, 3, 1, 1, 0, False)
    # What a blind write leaves is resident in its own step already.
    assert row(ColumnKind.HOLD_DIRTY, y2)[:2] == (0, 3)
    assert row(ColumnKind.DROP, y2, 1) == (0, 2, 1, 0, 1, False)
    assert row(ColumnKind.CLEAN, y2, 2) == (0, 3, 2, 0, 1, False)
    assert row(ColumnKind.WRITE_THROUGH, y0) == (0, 1, 0, 0, 1, False)
    assert row(ColumnKind.WRITE_THROUGH, x2) == (2, 0, 1, False)
    assert row(ColumnKind.LOAD_HERE, y2) == (2, 3, 2, 1, 0, True)
    assert row(ColumnKind.FINAL, y2, 3) == (3, 4, 3, 0, 1, False)
    assert intervals.kind[x2] == Access.UPDATE


def test_sets_of_columns() -> None:
    one = of_kind(ColumnKind.LOAD, np.array([3, 1]), np.array([5, 0]))
    other = of_kind(ColumnKind.LOAD, np.array([1, 1]), np.array([0, 2]))
    both = one.union(other, steps=9)
    assert list(zip(both.access.tolist(), both.step.tolist(), strict=True)) == [
        (1, 0),
        (1, 2),
        (3, 5),
    ]
    assert (both.kind == ColumnKind.LOAD).all()


def test_which_columns_exist() -> None:
    operations = [Op(writes="y"), Op(reads="x"), Op(reads="y"), Op(reads="x"), Op(writes="z")]
    problem = tiny({"x": (4, "in"), "y": (4, ""), "z": (4, "")}, operations, spm=8)
    intervals = Case.of(problem, TRAFFIC).intervals

    def where(kind: ColumnKind) -> list[tuple[int, int]]:
        at = existing(intervals)[kind]
        return sorted(zip(intervals.tensor[at].tolist(), intervals.step[at].tolist(), strict=True))

    assert where(ColumnKind.HOLD_DIRTY) == [(1, 2)]
    assert where(ColumnKind.HOLD_CLEAN) == [(0, 3), (1, 2)]
    assert where(ColumnKind.STREAM) == [(0, 1), (0, 3), (1, 0), (1, 2)]  # z is dead
    assert where(ColumnKind.LOAD_HERE) == where(ColumnKind.LOAD) == [(0, 1), (0, 3), (1, 2)]
    assert where(ColumnKind.WRITE_THROUGH) == [(1, 0)]
    assert where(ColumnKind.DROP) == where(ColumnKind.CLEAN) == [(1, 2)]
