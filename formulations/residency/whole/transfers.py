"""The best loads and stores for kept tensors: a linear program, its columns generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, MoveDuals, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import profiles
from formulations.residency.pages.rounding import to_residency_plan
from formulations.residency.program.columns import ColumnKind, PathColumns, candidates
from formulations.residency.program.master import Master
from formulations.residency.whole.intervals import PagedIntervals
from formulations.residency.whole.retention import Retention
from formulations.solver.highs import Option, interior_point, solve_within
from formulations.solver.program import Floats, SolverResult
from spmopt.assemble.cost import residency_plan_value
from spmopt.assemble.index import resident_bytes
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

HELD = (ColumnKind.HOLD_DIRTY, ColumnKind.HOLD_CLEAN, ColumnKind.CLEAN)
_DEPTH = 2  # levels of steps per interval and dual values
_ROUNDS = 3
_SIMPLEX: Mapping[str, Option] = {"solver": "simplex"}
_SMALL = 3_000  # columns up to which a vertex, of which rounding spoils less, is as fast


class WholeCase:
    """A problem in one mapping an operation, as everything here needs it.

    Accesses are arranged by tensor (``uses``), where time counts also by rank (``intervals``).
    A residency plan of value ``enough`` needs no further search.
    """

    enough = -inf

    def __init__(self, problem: Problem, request: Request, line: Timeline) -> None:
        self.problem, self.request, self.line = problem, request, line
        self.uses = PagedIntervals(problem.machine, line)

    @cached_property
    def intervals(self) -> RankedIntervals:
        """Accesses by rank."""
        return RankedIntervals(self.line)

    @cached_property
    def use(self) -> Ints:
        """(a,) Position in ``uses`` of each access of ``intervals``."""
        return self.uses.position[self.intervals.access]

    @cached_property
    def coefficients(self) -> CostCoefficients:
        """Figures for dual values."""
        return CostCoefficients(self.problem, self.line, self.request.objective)

    def master(self, columns: PathColumns) -> Master:
        """Return the compact program over ``columns``."""
        page_bytes = self.problem.machine.page_bytes
        return Master(self.intervals, self.coefficients, columns, page_bytes=page_bytes)

    def nearby(self, duals: Multipliers, depth: int = _DEPTH) -> PathColumns:
        """Take everything at accesses, and in each interval the cheapest steps for load and store.

        Each level of ``depth`` adds the cheapest steps to the left and right of those before.
        """

        def anything(kind: ColumnKind, at: Ints) -> Floats:
            del kind
            return np.full(at.size, np.inf)

        at_step = MoveDuals(self.coefficients, duals)
        found = candidates(self.intervals, at_step, depth, anything)
        return found.union(PathColumns.empty(), self.intervals.steps)

    def allow(self, columns: PathColumns, chosen: Retention) -> Bools:
        """Return (c,) the columns that are left open."""
        access, before = columns.access, self.intervals.previous[columns.access]
        resident, kept = chosen.resident[self.use], chosen.kept[self.use]
        here, held, was = resident[access], kept[access], (before >= 0) & resident[before]
        rules = {
            ColumnKind.STREAM: ~here,
            ColumnKind.WRITE_THROUGH: here,
            ColumnKind.FINAL: here,
            ColumnKind.LOAD: here & ~held,
            ColumnKind.LOAD_HERE: here & ~held,
            ColumnKind.DROP: was & ~held,
            **dict.fromkeys(HELD, held),
        }
        cases = [columns.kind == kind for kind in rules]
        return np.select(cases, list(rules.values()), default=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class TimedResidencyPlan:
    """Kept tensors, with their transfers.

    A legal plan, its exact value, and the program's answer.
    """

    chosen: Retention
    residency_plan: ResidencyPlan
    value: Fraction
    built: Master
    answer: SolverResult
    duals: Multipliers

    @property
    def lp_value(self) -> float:
        """Objective of the linear program: before rounding to pages and whole cycles."""
        unit = self.built.dual_unit * self.built.unit_bytes
        return unit * (self.answer.objective or 0.0)


def best_transfers(
    case: WholeCase, chosen: Retention, columns: PathColumns
) -> TimedResidencyPlan | None:
    """Return loads and stores of least objective for kept tensors; None if time ran out.

    Starts from ``columns``; the dual values of each program name the steps that the next one adds.
    """
    best: TimedResidencyPlan | None = None
    for _ in range(_ROUNDS):
        timed = _solve(case, chosen, columns.take(case.allow(columns, chosen)))
        if timed is None:
            break
        gained = best is None or timed.lp_value < best.lp_value * (1 - 1e-6)
        if best is None or timed.value < best.value:
            best = timed
        if not gained or case.request.remaining_s() <= 0:
            break
        columns = columns.union(case.nearby(timed.duals), case.intervals.steps)
    return best


def _solve(case: WholeCase, chosen: Retention, columns: PathColumns) -> TimedResidencyPlan | None:
    built, request = case.master(columns), case.request
    # A vertex has few fractions, so that rounding to pages loses less.
    options = interior_point(1e-8) if len(columns) > _SMALL else _SIMPLEX
    answer = solve_within(built.program, request, options=options)
    if answer.primal is None or answer.row_dual is None or not answer.feasible:
        return None
    residency_plan = _residency_plan(case, built, answer)
    if residency_plan is None:
        return None
    return TimedResidencyPlan(
        chosen=chosen,
        residency_plan=residency_plan,
        value=residency_plan_value(case.problem, residency_plan, request.objective),
        built=built,
        answer=answer,
        duals=built.multipliers(answer),
    )


def _residency_plan(case: WholeCase, built: Master, answer: SolverResult) -> ResidencyPlan | None:
    """Round to pages; None unless every tensor is whole wherever it is used."""
    line = case.line
    residency_plan = to_residency_plan(
        profiles(case.intervals, built.columns, built.amounts(answer)),
        np.zeros(line.steps),
        page_bytes=case.problem.machine.page_bytes,
        capacity_pages=case.uses.capacity_pages,
    )
    if residency_plan is None:
        return None
    resident = resident_bytes(residency_plan.residency, line.step, line.tensor)
    # R1 to R5 allow parts; the class does not.
    whole = (resident == 0) | (resident == line.size_bytes[line.tensor])
    return residency_plan if whole.all() else None
