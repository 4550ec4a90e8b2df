"""Windows of steps, decided anew one after the other as integer programs of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.residency.plain.cells import Cells, count_cells, plain_cells
from formulations.residency.plain.columns import Amounts, Families, Window
from formulations.residency.plain.model import PlainModel
from formulations.residency.plain.solution import (
    amounts_of,
    plan_of,
    read_amounts,
    start_of,
    steps_of,
)
from formulations.solver import highs
from formulations.solver.highs import solve_within
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan, Steps
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools
from spmopt.core.timeline import Timeline, timeline

FAMILIES = Families(pages=True, setups=True, mappings=True)
_OPTIONS: dict[str, highs.Option] = {
    "mip_allow_restart": False,
}
_QUIET = Fraction(1, 10)
"""Of the tolerance: the gain of a sweep of windows that counts as none."""
_MOST_CELLS = 10_000_000
"""Of a problem: its arrays take a gigabyte."""
_CELL_S = 5e-7
"""Counted seconds to lay out a cell of the problem: of 22,357 operations there are 71 million."""


def improve(
    problem: Problem,
    request: Request,
    line: Timeline,
    plan: ResidencyPlan,
    *,
    families: Families = FAMILIES,
    whole: bool = False,
    sizes: Sequence[int] | None = None,
) -> ResidencyPlan:
    """Return a plan that no window of some sizes betters, or the best in time.

    ``whole``: each tensor is resident in full, or not at all. Problems of too many cells, for the
    time or for memory, are left as they are.
    """
    params, count, work = request.params.residency, count_cells(line), request.work
    families = replace(families, tensors=families.tensors or whole)
    for cells in params.window_cells if sizes is None else sizes:
        left = min(request.remaining_s(), request.work_end - work.seconds)
        if count > _MOST_CELLS or _CELL_S * count > left:
            break
        work.seconds += _CELL_S * count
        plan = _improve(problem, request, line, plan, cells=cells, families=families)
        line = line if plan.steps is line.chosen else timeline(problem, plan.steps)
    return plan


def _improve(
    problem: Problem,
    request: Request,
    line: Timeline,
    plan: ResidencyPlan,
    *,
    cells: int,
    families: Families,
) -> ResidencyPlan:
    """Return a plan that no window of about so many ``cells`` betters, or the best in time."""
    every = plain_cells(line)
    amounts = amounts_of(every, plan, line.steps)
    value = residency_plan_value(problem, plan, request.objective)
    turn, quiet = 0, 0
    params = request.params.residency
    while quiet < params.quiet_sweeps and request.remaining_s() > 0:
        before = value
        for begin, end, tensors in _windows(line, every, turn, cells):
            if request.remaining_s() <= 0:
                break
            window = Window(begin=begin, end=end, tensors=tensors, around=amounts)
            found = _decide(
                problem,
                request.phase(params.window_s),
                line,
                every,
                window=window,
                families=families,
            )
            if found is None:
                continue
            steps, bytes_ = found
            new = plan_of(steps, every, bytes_)
            cost = residency_plan_value(problem, new, request.objective)
            if cost < value:
                plan, amounts, value = new, bytes_, cost
                line = line if steps is line.chosen else timeline(problem, steps)
                request.report_incumbent(value=value)
        turn += 1
        # Gains below the tolerance are worth no second sweep, nor hundreds of them.
        least = before * (1 - _QUIET * Fraction(request.tolerance))
        quiet = quiet + 1 if value >= least else 0
    return plan


def _windows(
    line: Timeline, cells: Cells, turn: int, size: int
) -> Iterator[tuple[int, int, Bools]]:
    """Yield windows of some cells, each half over the one before, with tensors to decide.

    In turns: short ones of all tensors, and long ones of those that they use.
    """
    begin, most = 0, size
    if turn >= 2:
        most = most // 2  # to begin elsewhere
    while begin < line.steps:
        end, tensors = _widest(line, cells, begin, most, turn % 2 == 0)
        yield begin, end, tensors
        if end == line.steps:
            return
        begin, most = begin + max(1, (end - begin) // 2), size


def _widest(line: Timeline, cells: Cells, begin: int, most: int, used: bool) -> tuple[int, Bools]:
    """Return the end of the widest window from ``begin`` with so many cells, and its tensors."""
    end, tensors = begin, np.zeros(line.size_bytes.size, bool)
    length = 2
    while True:
        wider = min(begin + length, line.steps)
        if used:
            chosen = np.zeros_like(tensors)
            chosen[line.tensor[line.first[begin] : line.first[wider]]] = True
        else:
            chosen = np.ones_like(tensors)
        inside = (cells.step >= begin) & (cells.step < wider)
        if end > begin and int((inside & chosen[cells.tensor]).sum()) > most:
            return end, tensors
        end, tensors = wider, chosen
        if wider == line.steps:
            return end, tensors
        length += max(1, length // 4)


def _decide(
    problem: Problem,
    request: Request,
    line: Timeline,
    cells: Cells,
    *,
    window: Window,
    families: Families,
) -> tuple[Steps, Amounts] | None:
    """Return mappings and the bytes of all cells, in a window anew; None if nothing was found."""
    model = PlainModel(
        problem, line, request.objective, families=families, window=window, cells=cells
    )
    if not model.program.cost.size:
        return None
    start = start_of(model, window.around)
    alone = replace(request, threads=1)
    answer = solve_within(
        model.program,
        alone,
        options={**_OPTIONS, "mip_rel_gap": request.params.residency.mip_gap},
        start=start,
    )
    if answer.primal is None or not answer.feasible:
        return None
    found = read_amounts(model, answer.primal)
    decided = ~model.is_fixed
    resident, dirty = window.around.resident.copy(), window.around.dirty.copy()
    resident[model.index[decided]] = found.resident[decided]
    dirty[model.index[decided]] = found.dirty[decided]
    amounts = replace(window.around, resident=resident, dirty=dirty)
    return (steps_of(model, answer.primal) if len(model.choices) else line.chosen), amounts
