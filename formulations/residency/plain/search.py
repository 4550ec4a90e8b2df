"""The plain model solved: duals of its relaxation for the bound, whole pages for the schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, Multipliers, certificate
from formulations.residency.plain.cells import Spans, count_cells, plain_cells
from formulations.residency.plain.model import Families, PlainModel
from formulations.residency.plain.solution import (
    amounts_of,
    coarsen,
    plan_of,
    read_amounts,
    round_plan,
    start_of,
    steps_of,
)
from formulations.solver import highs
from formulations.solver.highs import solve_within
from formulations.solver.program import Program, SolverStatus
from spmopt.assemble.cost import residency_plan_value, unavoidable
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

CLASS = "any number of whole pages of each tensor"
MOST_CELLS = 10_000
"""Cells of a problem that is small: two integers each; HiGHS takes some seconds of so many."""
EXACT_CELLS = 200
"""Cells of a problem that is tiny: HiGHS counts whole cycles of all its commands in a second."""
FAMILIES = Families(pages=True, setups=True, mappings=True)
"""Of the program that is solved: cycles are counted of tiny problems alone."""
_OPTIONS: dict[str, highs.Option] = {"mip_allow_restart": False}
"""With presolve and restarts HiGHS 1.15 proves optima that are none: 2 of 2,401 random programs."""
_NEAR = 1e-6
_LEAST_GAP = 1e-4
"""Of an integer program: 0 spends the limit on the last digit."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Relaxed:
    """The linear relaxation solved: a certificate, and a plan near its solution."""

    certificate: Certificate
    bound: float
    residency_plan: ResidencyPlan | None


@dataclass(frozen=True, kw_only=True, eq=False)
class PageOptimum:
    """The best plan in whole pages, its value, and the solver's bound for its class."""

    residency_plan: ResidencyPlan
    value: Fraction
    bound: float
    solver: str


def is_small(line: Timeline) -> bool:
    """Return whether a timeline has few enough cells for an integer program."""
    return count_cells(line) <= MOST_CELLS


def is_tiny(line: Timeline) -> bool:
    """Return whether a timeline has few enough cells to count whole cycles of each command."""
    return count_cells(line) <= EXACT_CELLS


def relax(problem: Problem, request: Request, line: Timeline) -> Relaxed | None:
    """Solve the linear relaxation of a timeline; None where the solver ran out of time."""
    objective = request.objective
    model = PlainModel(problem, line, objective, families=Families())
    coefficients = CostCoefficients(problem, line, objective)
    answer = solve_within(model.program, request)
    if not model.program.cost.size:
        return None
    if (
        answer.row_dual is None
        or answer.primal is None
        or answer.status is not SolverStatus.OPTIMAL
    ):
        return None
    value = float(model.value)
    channels = [value * answer.row_dual[rows] for rows in model.channel_rows]
    free = np.zeros(line.steps)
    duals = Multipliers.legal(
        coefficients,
        -value * answer.row_dual[model.capacity_rows],
        channels[0] if channels else free,
        channels[-1] if channels else free,
    )
    plan = round_plan(model, answer.primal, duals.load + coefficients.in_byte)
    return Relaxed(
        certificate=certificate(problem, objective, coefficients, duals),
        bound=_value(request, model, answer.objective or 0.0),
        residency_plan=plan,
    )


def page_optimum(
    problem: Problem,
    request: Request,
    line: Timeline,
    families: Families | None = None,
    spans: Spans | Ints = Spans.STEPS,
) -> PageOptimum | None:
    """Search for the best plan in whole pages from ``request.start``, in the timeline's mappings.

    None where there is no start and the solver finds nothing in time.
    """
    families = replace(FAMILIES, exact=is_tiny(line)) if families is None else families
    cells = plain_cells(line, spans)
    model = PlainModel(problem, line, request.objective, families=families, cells=cells)
    first = None
    if request.start is not None:
        fine = plain_cells(line)
        amounts = coarsen(fine, amounts_of(fine, request.start, line.steps), cells)
        first = start_of(model, amounts)

    def tell(_: float, bound: float) -> None:
        request.report_incumbent(bound=_value(request, model, bound), of_class=True)

    # Where time is free all that it leaves out is rounded: bytes are whole.
    free = request.objective.cycle == 0
    gap = request.tolerance if free or families.exact else max(_LEAST_GAP, request.tolerance)
    options = {**_OPTIONS, "mip_rel_gap": gap}
    program = model.program
    if families.loose:
        program, first = _near_relaxation(program, request), None
    answer = solve_within(program, request, options=options, start=first, progress=tell)
    if answer.primal is None or not answer.feasible:
        return None
    plan = plan_of(steps_of(model, answer.primal), model.cells, read_amounts(model, answer.primal))
    return PageOptimum(
        residency_plan=plan,
        value=residency_plan_value(problem, plan, request.objective),
        bound=_value(request, model, answer.bound),
        solver=answer.solver,
    )


def _near_relaxation(program: Program, request: Request) -> Program:
    """Fix the integers that are whole in the linear relaxation: what is left is soon solved."""
    answer = solve_within(replace(program, integer=None), request)
    if answer.primal is None or program.integer is None:
        return program
    whole = np.rint(answer.primal)
    fixed = program.integer & (np.abs(answer.primal - whole) < _NEAR)
    return replace(
        program,
        lower=np.where(fixed, whole, program.lower),
        upper=np.where(fixed, whole, program.upper),
    )


def _value(request: Request, model: PlainModel, objective: float) -> float:
    """Return a value of the program, with what no residency changes, in objective units."""
    return model.value_of(objective) + float(unavoidable(request.objective, model.line))
