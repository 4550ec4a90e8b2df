"""Columns: those of a cheapest path cost its cost, and pricing finds what is nearly on one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.residency.program.columns import (
    PathColumns,
    require,
)
from formulations.residency.program.master import Master
from formulations.residency.program.paths import near_best_paths, path_columns
from formulations.solver.highs import solve
from formulations.solver.program import Floats, Program
from tests.formulations.priced import (
    Case,
    all_columns,
    cases,
    column_costs,
    random_duals,
    solved,
    uncolumned_cost,
)
from tests.thorough import share

pytestmark = pytest.mark.filterwarnings(
    "error::RuntimeWarning"
)  # it would be on every user's screen


def keys(case: Case, columns: PathColumns) -> set[int]:
    return set(columns.key(case.intervals.steps).tolist())


def test_a_path_costs_what_the_dual_says() -> None:
    for seed, case in enumerate(cases(share(200))):
        intervals, duals = case.intervals, random_duals(case, seed)
        priced = case.priced(duals)
        columns = path_columns(priced)
        cost = intervals.size_bytes[columns.access] * column_costs(case, columns, duals)
        ends = intervals.next < 0
        best = (intervals.size_bytes * priced.ahead.best)[ends].sum()
        assert case.close(best, cost.sum() + uncolumned_cost(case, duals), 1e-9), seed


def unit_bytes(case: Case, columns: PathColumns) -> float:
    return Master(case.intervals, case.coefficients, columns, page_bytes=1).unit_bytes


def roomy(case: Case, columns: PathColumns) -> Program:
    """The compact program without the capacity."""
    program = Master(case.intervals, case.coefficients, columns, page_bytes=1).program
    upper = np.where(np.arange(program.upper.size) < len(columns), program.upper, np.inf)
    return replace(program, upper=upper)


@pytest.mark.parametrize("threshold", [1e-9, 0.4])
def test_pricing_finds_every_column_up_to_the_threshold(threshold: float) -> None:
    for seed, case in enumerate(cases(share(48), max_operations=6, max_tensors=3)):
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
    for seed, case in enumerate(cases(share(60))):
        built, answer, value = solved(case, all_columns(case.intervals))
        priced = case.priced(built.multipliers(answer))
        few = near_best_paths(priced, 1e-9 * case.byte, 20)
        few = few.union(require(case.intervals), case.intervals.steps)
        assert case.close(value, solved(case, few)[2]), seed
