"""The linear relaxation in banks: dual values for the bound, and a plan near its solution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.model import BankModel
from formulations.residency.banks.pieces import ChosenCells, Stripes
from formulations.residency.plain.cells import Cells, plain_cells
from formulations.residency.plain.columns import Families
from formulations.residency.plain.solution import round_bytes
from formulations.solver.highs import solve_within
from formulations.solver.program import SolverStatus
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

ALL_CELLS = 6_000
"""With so few cells all of them are in the last program."""
_NEAREST, _WIDER = 4, 2
"""Steps around each access whose cells are in the first program, and how many times more next."""

_PLANS = 3
"""Of the last programs, each of which gives one."""


class Relaxed(NamedTuple):
    """Dual values of the relaxation, its value, and plans near its solutions, the best first."""

    duals: BankMultipliers
    value: float
    residency_plans: tuple[ResidencyPlan, ...]


def relax(
    problem: Problem, request: Request, facts: BankCoefficients, line: Timeline
) -> Relaxed | None:
    """Solve the relaxation of ``facts.line``; None where it is too large, or time too short.

    Bytes may come and go in steps near accesses, and in more of them, until that gains little.
    ``line`` is that of the mappings that a plan runs; of several mappings there is no plan.
    """
    most = request.params.residency.bank_cells
    every, best = plain_cells(facts.line), None
    distance, near = _distances(every), _NEAREST
    # One step at least: what was used leaves in the step after.
    while near > 1 and np.count_nonzero(distance <= near) > most:
        near //= 2
    while request.remaining_s() > 0:
        chosen = distance <= near
        if np.count_nonzero(chosen) > most:
            break
        request.report(f"program of {np.count_nonzero(chosen):,} cells", None)
        found = _solve(problem, request, facts, line, ChosenCells.of(every, chosen))
        if found is None:
            break
        # Each program has the cells of the one before: its value is not larger.
        gained = np.inf if best is None else best.value - found.value
        # Of equal solutions those in which fewer bytes move far from uses lose less by rounding.
        plans = (*found.residency_plans, *(() if best is None else best.residency_plans))
        best = found._replace(residency_plans=plans[:_PLANS])
        settled = gained <= request.tolerance / 3 * abs(best.value)
        if chosen.all() or (settled and len(every) > ALL_CELLS):
            break
        near = facts.line.steps if settled else near * _WIDER
    return best


def _solve(
    problem: Problem,
    request: Request,
    facts: BankCoefficients,
    line: Timeline,
    chosen: ChosenCells,
) -> Relaxed | None:
    size = facts.line.size_bytes
    nothing = np.zeros_like(size)
    model = BankModel(
        problem,
        facts.line,
        request.objective,
        [facts],
        families=Families(),
        chosen=chosen,
        stripes=Stripes(
            tensor=np.arange(size.size), page=nothing, pages=nothing + 1, page_bytes=size
        ),
    )
    answer = solve_within(model.program, request)
    if answer.status is not SolverStatus.OPTIMAL or answer.row_dual is None:
        return None
    dual = np.append(answer.row_dual * float(model.value), 0.0)  # of rows that are not there
    channels = [dual[rows] for rows in model.channel_rows] or [np.zeros(facts.line.steps)]
    hold, port = -dual[model.capacity_rows], dual[model.port_rows]
    duals = BankMultipliers.legal(facts, hold=hold, load=channels[0], store=channels[-1], port=port)
    plan = None
    if answer.primal is not None and not problem.several_mappings:
        primal = np.append(answer.primal, 0.0)  # of columns that are not there
        resident, dirty = (
            primal[column][chosen.place] * model.unit for column in (model.resident, model.dirty)
        )
        saved = duals.load + facts.in_byte
        plan = round_bytes(problem.machine, line, chosen.every, (resident, dirty), saved)
    value = model.value_of(answer.objective or 0.0) + facts.constant
    return Relaxed(duals, value, () if plan is None else (plan,))


def _distances(cells: Cells) -> Ints:
    """Return (k,) steps between each cell and the next use of its contents, before or after."""
    place = np.arange(len(cells))
    # Runs of cells end where the next one inherits nothing.
    used, starts = cells.access >= 0, cells.previous < 0
    since = place - np.maximum.accumulate(np.where(used | starts, place, 0))
    far = np.where(used | np.append(starts[1:], True)[: place.size], place, len(cells))
    until = np.minimum.accumulate(far[::-1])[::-1] - place
    result: Ints = np.minimum(since, until)
    return result
