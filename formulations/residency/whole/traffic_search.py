"""Solve the traffic program with as few capacity rows as do, and as tight ones as can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.whole.choices import Choices
from formulations.residency.whole.decisions import largest_sums
from formulations.residency.whole.greedy import filled, repaired
from formulations.residency.whole.traffic import TrafficProgram
from formulations.solver.highs import Option, solve_within
from formulations.solver.program import Floats, Matrix, Program, SolverResult
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools

_BUSY = 0.7  # capacity rows less full than this in the relaxation are left out at first
_FEW = 0.5  # unless more than this share of them is busy
_ROUNDS = 4  # programs with some rows left out
_COARSE = 1e-4
Better = Callable[[float | None, float], None]
"""Told costs and bounds for whole tensors as they come, in units of the model."""


@dataclass(frozen=True, kw_only=True)
class TrafficSolution:
    """Choices that fit, their cost and the best bound, in units of the model."""

    choices: Choices
    cost: float
    bound: float
    solver: str

    def closed(self, tolerance: float) -> bool:
        """Whether nothing is left to gain."""
        return self.cost - self.bound <= max(tolerance * abs(self.cost), 1e-6)


def search(
    model: TrafficProgram, request: Request, start: Choices, better: Better
) -> TrafficSolution:
    """Least traffic within ``request``'s time and tolerance, from ``start`` on.

    The first program has only the capacity rows that are nearly full in the linear relaxation:
    its optimum is a bound already. Each round adds the rows that its solution breaks; the last
    has all. A tolerance finer than ``_COARSE`` is asked for once a coarse solution breaks none.
    """
    request.report("relaxing", None)
    relaxed = _solved(replace(model.program, integer=None), request, better)
    start = model.choices(model.values(start))
    found = TrafficSolution(
        choices=start, cost=model.cost(start), bound=relaxed.bound, solver=relaxed.solver
    )
    chosen = _busy(model, relaxed)
    tolerance = max(request.tolerance, _COARSE)
    for left in reversed(range(_ROUNDS + 1)):
        if found.closed(request.tolerance) or request.remaining_s() <= 0:
            break
        if not left:
            chosen[:], tolerance = True, request.tolerance
        program = _part(model, chosen)
        answer = _solved(program, request, better, tolerance, model.values(found.choices))
        found, broken = _taken(model, found, answer)
        better(found.cost, found.bound)
        chosen |= broken
        if not broken.any():
            if tolerance <= request.tolerance:
                break
            tolerance = request.tolerance
    return found


def _solved(
    program: Program,
    request: Request,
    better: Better,
    tolerance: float = 0.0,
    start: Floats | None = None,
) -> SolverResult:
    rows = program.row_upper.size

    def progress(best: float, bound: float) -> None:
        del best  # may break rows that were left out
        request.report(f"integer program of {rows:,} rows", None)
        better(None, bound)

    options: dict[str, Option] = {"mip_rel_gap": tolerance}
    return solve_within(program, request, options=options, start=start, progress=progress)


def _activity(model: TrafficProgram, values: Floats) -> Floats:
    """(m,) Values of all rows."""
    matrix = model.program.matrix
    weights = matrix.value * values[matrix.index]
    return np.bincount(matrix.line, weights, matrix.start.size - 1).astype(np.float64)


def _busy(model: TrafficProgram, relaxed: SolverResult) -> Bools:
    """(m,) Rows to begin with: all but capacity rows far from full, if they are most."""
    chosen = np.ones(model.program.row_upper.size, bool)
    if relaxed.primal is None:
        return chosen
    first = model.first_capacity
    full = _activity(model, relaxed.primal)[first:] >= _BUSY * model.program.row_upper[first:]
    if full.sum() <= _FEW * full.size:
        chosen[first:] = full
    return chosen


def _part(model: TrafficProgram, chosen: Bools) -> Program:
    """The program with some of its rows, the capacity of each cut to what can be filled."""
    program, matrix = model.program, model.program.matrix
    length = np.diff(matrix.start)
    entry = np.repeat(chosen, length)
    start = np.concatenate(([0], np.cumsum(length[chosen])))
    value = matrix.value[entry]
    upper = program.row_upper[chosen]
    first = int(chosen[: model.first_capacity].sum())
    upper[first:] = largest_sums(
        start[first:], value.astype(np.int64), upper[first:].astype(np.int64)
    )
    return replace(
        program,
        row_lower=program.row_lower[chosen],
        row_upper=upper,
        matrix=Matrix(start=start, index=matrix.index[entry], value=value, by_rows=True),
    )


def _taken(
    model: TrafficProgram, found: TrafficSolution, answer: SolverResult
) -> tuple[TrafficSolution, Bools]:
    """Keep what is better of an answer; (m,) the rows that its solution breaks."""
    broken = np.zeros(model.program.row_upper.size, bool)
    found = replace(found, bound=max(found.bound, answer.bound), solver=answer.solver)
    if answer.primal is None:
        return found, broken
    values = np.round(answer.primal)
    broken = _activity(model, values) > model.program.row_upper
    choices = model.choices(values)
    if not choices.fits(model.uses):
        choices = repaired(model.uses, choices, model.savings.keep)
        choices = model.choices(
            model.values(filled(model.uses, choices, model.savings.keep, model.savings.enter))
        )
    cost = model.cost(choices)
    if cost < found.cost:
        found = replace(found, choices=choices, cost=cost)
    return found, broken
