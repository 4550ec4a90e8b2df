"""The bank of every page: of a residency plan by one assignment; with the plan if small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.model import BankModel
from formulations.residency.banks.pieces import ChosenCells, Stripes
from formulations.residency.banks.retention import Retention
from formulations.residency.banks.value import step_cycles
from formulations.residency.plain.cells import Cells, plain_cells
from formulations.residency.plain.columns import Amounts, Families
from formulations.residency.plain.solution import amounts_of, plan_of, read_amounts, steps_of
from formulations.solver.highs import Option, solve_within
from formulations.solver.program import Floats, Program, SolverStatus
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.operands import ranges
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, ResidencyPlan, Steps
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, timeline

_GAP = 1e-5  # at most: the gap asked for is to the bound, not to these optima
_WHOLE = 1e-6  # tolerance of HiGHS for integers
_SCRATCH = -1  # in place of a page
_Run = tuple[int, int, int, int]
"""Page, pages, bank, and since which step."""
_Row = tuple[int, int, int, int, int, int]
EXACT_CELLS = 200
"""Cells of a problem whose commands are counted in whole cycles."""
_OPTIONS: dict[str, Option] = {"mip_allow_restart": False}


def label(problem: Problem, request: Request, plan: ResidencyPlan) -> ResidencyPlan | None:
    """Return a plan with banks of least cost; None if the solver found none in its time.

    Where banks forget, durations depend on the choice, and the allowed banks on durations: pages
    that remain too long are barred from a bank and the choice is made again, until none does. None
    too if the plan has more that must last than other banks hold.
    """
    line = timeline(problem, plan.steps)
    every = plain_cells(line)
    amounts = amounts_of(every, plan, line.steps)
    # Without bytes that nobody needs, which have no cell.
    plan = plan_of(plan.steps, every, amounts)
    model, retention = (
        _decisions(problem, request, line, every, amounts),
        Retention(problem.machine),
    )
    cycles = residency_plan_cost(problem.machine, line, plan).step_time
    while True:
        barred = retention.bar(model, cycles.astype(np.float64))
        primal = _solve(_without(model, *barred), request)
        if primal is None:
            return None
        found = replace(plan, banks=read_labels(model, primal, barred[1]))
        # Durations only grow, so that the loop ends.
        longer = np.maximum(cycles, step_cycles(problem, found))
        if not retention.binds or (longer == cycles).all():
            return found
        cycles = longer


def _decisions(
    problem: Problem, request: Request, line: Timeline, every: Cells, amounts: Amounts
) -> BankModel:
    """Return the program of the banks of a plan."""
    chosen = _deciding(every, amounts)
    first = np.searchsorted(chosen.place, np.arange(len(chosen.cells)))
    return BankModel(
        problem,
        line,
        request.objective,
        [BankCoefficients(problem, line, request.objective, relaxed=False)],
        families=Families(pages=True),
        chosen=chosen,
        stripes=_stripes(
            problem,
            np.tile(every.tensor, 2),
            problem.machine.pages(np.concatenate((amounts.resident, amounts.dirty))),
        ),
        given=Amounts(resident=amounts.resident[first], dirty=amounts.dirty[first]),
    )


def _without(model: BankModel, pieces: Bools, scratch: Bools) -> Program:
    """Return the program without pages and scratch that are barred from a bank (b, t), (b, n)."""
    program = model.program
    upper = np.append(program.upper, 0.0)  # of columns that are not there
    upper[model.pages_in[pieces]] = 0.0
    upper[model.scratch_in[scratch]] = 0.0
    return replace(program, upper=upper[:-1])


def optimum(problem: Problem, request: Request, line: Timeline) -> ResidencyPlan | None:
    """Search for the best plan and banks of a small problem; None of others."""
    every = plain_cells(line)
    machine, objective = problem.machine, request.objective
    pages = machine.pages(line.size_bytes)
    if int(pages[every.tensor].sum()) * len(machine.banks) > request.params.residency.bank_pages:
        return None
    # Page by page: the solution says where each of them lies.
    single = (np.repeat(np.arange(pages.size), pages), ranges(np.zeros_like(pages), pages))
    counts = np.array([len(operation.mappings) for operation in problem.operations], np.int64)
    facts = [BankCoefficients(problem, line, objective, relaxed=False)]
    for number in range(int(counts.max(initial=1))):
        # Operations with fewer mappings take their last one, which nobody asks for.
        own = timeline(problem, Steps.listed(np.minimum(number, counts - 1)))
        facts.append(BankCoefficients(problem, own, objective, relaxed=False))
    model = BankModel(
        problem,
        line,
        objective,
        facts,
        families=Families(pages=True, setups=True, mappings=True, exact=len(every) <= EXACT_CELLS),
        chosen=ChosenCells.of(every, np.ones(len(every), bool)),
        stripes=_stripes(problem, *single),
    )
    # With presolve HiGHS 1.15 proves optima that are none: 2 of 470 random problems.
    presolve = "off" if model.families.exact else "on"
    options = {**_OPTIONS, "mip_rel_gap": min(_GAP, request.tolerance), "presolve": presolve}
    answer = solve_within(model.program, request, options=options)
    if answer.primal is None or not answer.feasible:
        return None
    steps = steps_of(model, answer.primal)
    plan = plan_of(steps, every, read_amounts(model, answer.primal))
    return replace(plan, banks=read_labels(model, answer.primal))


def _solve(program: Program, request: Request) -> Floats | None:
    """Solve the relaxation, then the program with whole numbers next to its solution.

    Rows are nearly those of intervals: most numbers are whole, and the rest is quick to decide.
    """
    options = {**_OPTIONS, "mip_rel_gap": min(_GAP, request.tolerance)}
    relaxed = solve_within(replace(program, integer=None), request)
    nearby = program
    if relaxed.primal is not None and program.integer is not None:
        near = np.where(program.integer, relaxed.primal, 0.0)
        nearby = replace(
            program,
            lower=np.where(program.integer, np.floor(near + _WHOLE), program.lower),
            upper=np.where(program.integer, np.ceil(near - _WHOLE), program.upper),
        )
    answer = solve_within(nearby, request, options=options)
    # Numbers next to the relaxation's may exclude all solutions.
    if answer.status is SolverStatus.INFEASIBLE:
        answer = solve_within(program, request, options=options)
    return answer.primal if answer.feasible else None


def _deciding(cells: Cells, amounts: Amounts) -> ChosenCells:
    """Return the cells of accesses, those after them, and those where a plan changes bytes."""
    used = cells.access >= 0
    # The first cell of a run of steps has none before it to wait like.
    chosen = used | (cells.previous < 0)
    # Pages that wait for long move out of the way after their use, and back at the next.
    chosen[1:] |= used[:-1]
    for column in (amounts.resident, amounts.dirty):
        chosen[1:] |= np.diff(column) != 0
    return ChosenCells.of(cells, chosen)


def _stripes(problem: Problem, tensor: Ints, page: Ints) -> Stripes:
    """Cut tensors before some pages of theirs, and before a last one that is not full."""
    size, page_bytes = problem.size_bytes, problem.machine.page_bytes
    pages, own = problem.machine.pages(size), np.arange(size.size)
    # Keys of (tensor, page) that sort as they do.
    most = int(pages.max(initial=0)) + 1
    whole = own * most + np.stack((np.zeros_like(pages), size // page_bytes, pages))
    edges = np.unique(np.concatenate((tensor * most + page, whole.ravel())))
    inside = np.flatnonzero(np.diff(edges // most) == 0)
    tensor, first = np.divmod(edges[inside], most)
    each = np.minimum(page_bytes, size[tensor] - first * page_bytes)
    return Stripes(tensor=tensor, page=first, pages=np.diff(edges)[inside], page_bytes=each)


def read_labels(model: BankModel, primal: Floats, no_scratch: Bools | None = None) -> BankRows:
    """Return the rows of a solution; pages keep their row as long as they need not move.

    ``no_scratch`` (b, n): banks without scratch.
    """
    own, cells, until = model.pieces, model.cells, model.chosen_cells.until.tolist()
    pages = np.where(model.pages_in >= 0, np.rint(primal[model.pages_in]), 0).astype(np.int64)
    rows: list[_Row] = []
    runs: list[_Run] = []
    last = (-1, -1, -1)  # of the piece before: its tensor, stripe and end
    for piece in np.lexsort((own.cell, own.stripe)).tolist():
        cell, stripe, wanted = int(own.cell[piece]), int(own.stripe[piece]), pages[:, piece]
        begin = int(cells.step[cell])
        if last[1:] != (stripe, begin) or not wanted.any():
            rows += [(last[0], *run, last[2]) for run in runs]
            runs = []
        if wanted.any():
            runs, ended = _rearrange(runs, wanted, int(model.stripes.page[stripe]), begin)
            rows += [(last[0], *run, begin) for run in ended]
        last = (int(cells.tensor[cell]), stripe, until[cell])
    rows += [(last[0], *run, last[2]) for run in runs]
    return BankRows.of_rows(rows + _scratch_rows(model, primal, pages, no_scratch))


def _rearrange(
    runs: list[_Run], wanted: Ints, first: int, now: int
) -> tuple[list[_Run], list[_Run]]:
    """Return runs with ``wanted`` pages in each bank, and those that end because they move."""
    kept: list[_Run] = []
    ended: list[_Run] = []
    loose: list[tuple[int, int]] = []
    missing = wanted.tolist()
    for page, pages, bank, since in runs:
        # As many as the bank still wants remain; which of them is the same to the objective.
        stay = min(pages, missing[bank])
        missing[bank] -= stay
        if stay:
            kept.append((page, stay, bank, since))
        if stay < pages:
            loose.append((page + stay, pages - stay))
            ended.append((page + stay, pages - stay, bank, since))
    if not runs:
        loose = [(first, sum(missing))]
    for page, pages in loose:
        at, left = page, pages
        for bank, need in enumerate(missing):
            taken = min(left, need)
            if taken:
                kept.append((at, taken, bank, now))
                at, left = at + taken, left - taken
                missing[bank] -= taken
    return kept, ended


def _scratch_rows(
    model: BankModel, primal: Floats, pages: Ints, barred: Bools | None
) -> list[_Row]:
    """Return the scratch of every step, in pages that are free, of ``pages`` (b, t) in use."""
    machine, choices = model.machine, model.choices
    needed = machine.pages(model.line.scratch_bytes)
    taken = primal[model.chosen] > 0.5
    needed[choices.step[taken]] = machine.pages(choices.scratch_bytes[taken])
    piece, step = model.piece_steps
    free = np.tile(np.array(machine.bank_pages)[:, None], (1, needed.size))
    for bank, own in enumerate(pages[:, piece]):
        free[bank] -= np.bincount(step, own, needed.size).astype(np.int64)
    if barred is not None:
        free[barred] = 0
    first = np.cumsum(free, axis=0) - free
    share = np.clip(needed - first, 0, free)
    return [
        (_SCRATCH, int(first[bank, at]), int(share[bank, at]), bank, at, at + 1)
        for bank, at in np.argwhere(share > 0).tolist()
    ]
