"""The plain model solved: duals of its relaxation for the bound, whole pages for the schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, isfinite

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, Multipliers, certificate
from formulations.residency.mapping_duals import mapping_duals
from formulations.residency.plain.cells import Spans, count_cells, plain_cells
from formulations.residency.plain.columns import Families
from formulations.residency.plain.mappings import worth_in
from formulations.residency.plain.model import PlainModel
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
from formulations.solver.program import Floats, Program, SolverResult, SolverStatus
from spmopt.assemble.cost import residency_plan_value, unavoidable
from spmopt.core.params import ResidencyParams
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, timeline

CLASS = "any number of whole pages of each tensor"
FAMILIES = Families(pages=True, setups=True, mappings=True)
"""Of the program that is solved: cycles are counted of tiny problems alone."""
RELAXED = Families(pages=True, setups=True)
"""Of the relaxation that gives a certificate."""
_OPTIONS: dict[str, highs.Option] = {"mip_allow_restart": False}
"""With presolve and restarts HiGHS 1.15 proves optima that are none: 2 of 2,401 random programs."""
_PLAIN_OPTIONS: dict[str, highs.Option] = {"presolve": "off"}
"""Of programs of whole cycles: with presolve alone 1 of 600 and, with banks, 2 of 470 are wrong.

Of operations with several mappings 32 of 5,200 tiny ones, by up to a factor of 3; of one mapping
none of 8,944. HiGHS 1.16 is right on all of them, but has no interior point method HiPO yet.
"""
_ABSOLUTE_GAP = 1e-6
"""The default of HiGHS."""
_NEARLY = 1e-3
"""Of a whole number, that a bound in floating point may be above it."""
_NEAR = 1e-6  # tolerance of HiGHS for integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Relaxed:
    """The linear relaxation solved: a certificate, and a plan near its solution.

    Where there are several mappings, ``reduced`` (k,) is by how much the bound rises if one is to
    run, and ``mapping`` (n,) the largest part of each operation's.
    """

    certificate: Certificate
    bound: float
    residency_plan: ResidencyPlan | None
    reduced: Floats | None = None
    mapping: Ints | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class PageOptimum:
    """The best plan in whole pages, its value, and the solver's bound for its class."""

    residency_plan: ResidencyPlan
    value: Fraction
    bound: float
    solver: str


def is_small(line: Timeline, params: ResidencyParams) -> bool:
    """Return whether a timeline has few enough cells for an integer program."""
    return count_cells(line) <= params.program_cells


def families_of(line: Timeline, params: ResidencyParams) -> tuple[Families, ...]:
    """Return the programs that solve a small timeline, one after another."""
    exact = replace(FAMILIES, exact=True)
    return (FAMILIES, exact) if count_cells(line) <= params.exact_cells else (FAMILIES,)


def relax(problem: Problem, request: Request, line: Timeline) -> Relaxed | None:
    """Solve the linear relaxation of a timeline; None where the solver ran out of time.

    Pages and commands are among its rows: their duals prove most of what set-ups cost. Where
    operations have several mappings it chooses among them, and its plan is in none.
    """
    objective = request.objective
    families = RELAXED if problem.machine.bounds_count_pages else Families()
    families = replace(families, mappings=problem.several_mappings)
    model = PlainModel(problem, line, objective, families=families)
    if not model.program.cost.size:
        return None
    coefficients = CostCoefficients(problem, line, objective)
    answer = solve_within(replace(model.program, integer=None), request)
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
    bound = _value(request, model, answer.objective or 0.0)
    if problem.several_mappings:
        return _in_mappings(problem, model, answer, coefficients, duals, bound)
    plan = round_plan(model, answer.primal, duals.load + coefficients.in_byte)
    proof = certificate(problem, objective, coefficients, duals)
    return Relaxed(certificate=proof, bound=bound, residency_plan=plan)


def _in_mappings(  # noqa: PLR0917
    problem: Problem,
    model: PlainModel,
    answer: SolverResult,
    coefficients: CostCoefficients,
    duals: Multipliers,
    bound: float,
) -> Relaxed:
    """Return the relaxation of operations that have several mappings."""
    assert answer.row_dual is not None
    assert answer.primal is not None
    line, choices, first = model.line, model.choices, problem.operands.first_mapping
    place = first[line.order[choices.step]] + choices.mapping
    rooms, reduced = np.zeros((2, problem.operands.mapping.size))
    rooms[place] = np.fmax(-float(model.value) * answer.row_dual[model.room_rows], 0.0)
    if answer.column_dual is not None:
        reduced[place] = model.value_of(1.0) * answer.column_dual[model.chosen]
    worth, objective = worth_in(model, answer.row_dual), model.objective
    own = mapping_duals(
        problem, line, coefficients, objective, duals=duals, worth=worth, rooms=rooms
    )
    mapping = np.empty(line.steps, np.int64)
    mapping[line.order] = line.chosen.mapping
    by_part = np.argsort(answer.primal[model.chosen], kind="stable")
    # The last one assigned is the largest.
    mapping[line.order[choices.step[by_part]]] = choices.mapping[by_part]
    return Relaxed(
        certificate=certificate(
            problem, objective, coefficients, duals, uses=own.uses, rooms=own.rooms
        ),
        bound=bound,
        residency_plan=None,
        reduced=reduced,
        mapping=mapping,
    )


def page_optimum(
    problem: Problem,
    request: Request,
    line: Timeline,
    families: Families | None = None,
    spans: Spans | Ints = Spans.STEPS,
    *,
    presolve: bool = True,
) -> PageOptimum | None:
    """Search for the best plan in whole pages from ``request.start``, in the timeline's mappings.

    None where there is no start and the solver finds nothing in time.
    """
    families = families_of(line, request.params.residency)[0] if families is None else families
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
    gap = (
        request.tolerance
        if free or families.exact
        else max(request.params.residency.mip_gap, request.tolerance)
    )
    options = {**_OPTIONS, "mip_rel_gap": gap}
    if families.exact or not presolve or len(model.choices):
        options |= _PLAIN_OPTIONS
    if families.exact:
        # No value lies between two multiples of the grain.
        grain = float(request.objective.grain / model.value) / model.unit
        options["mip_abs_gap"] = max(_ABSOLUTE_GAP, (1 - _NEARLY) * grain)
    # One thread: with more the solver finds other plans.
    alone, program = replace(request, threads=1), model.program
    if families.loose:
        program, first = _near_relaxation(program, alone), None
    answer = solve_within(program, alone, options=options, start=first, progress=tell)
    if answer.primal is None or not answer.feasible:
        return None
    plan = plan_of(steps_of(model, answer.primal), model.cells, read_amounts(model, answer.primal))
    return PageOptimum(
        residency_plan=plan,
        value=residency_plan_value(problem, plan, request.objective),
        bound=_round_up(_value(request, model, answer.bound), request.objective.grain),
        solver=answer.solver,
    )


CLASSES: Mapping[str, Families] = {CLASS: FAMILIES}
"""Families of the programs whose bounds are of a class, by its name."""


def class_optimum(problem: Problem, request: Request, holds_for: str) -> PageOptimum | None:
    """Solve a class of schedules from ``request.start``; None where it is none of these.

    Without presolve: a claim is checked in another way than it was found.
    """
    start, families = request.start, CLASSES.get(holds_for)
    if start is None or families is None or problem.machine.banks or problem.machine.bypass:
        return None
    line = timeline(problem, start.steps)
    if families == FAMILIES:
        families = families_of(line, request.params.residency)[-1]
    return page_optimum(problem, request, line, families, presolve=False)


def _round_up(bound: float, grain: Fraction) -> float:
    """Return the next value that a schedule may have, but for rounding."""
    grains = bound / float(grain) if grain else inf
    if not isfinite(grains) or grains > 1 / _NEARLY**2:
        return bound
    return float(grain * ceil(grains - _NEARLY))


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
