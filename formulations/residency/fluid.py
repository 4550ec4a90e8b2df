"""Residency in bytes, order fixed: the linear relaxation, for its bound alone."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, certificate
from formulations.residency.program.columns import all_columns
from formulations.residency.program.master import Master
from formulations.reuse_intervals import ReuseIntervals
from formulations.solver.highs import solve_within
from formulations.solver.program import SolverStatus
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline

_SIMPLEX = {"solver": "simplex", "presolve": "off"}
_UNKNOWN = "of the replay with banks no bound is known but the one on any order"


def schedule(problem: Problem, request: Request) -> Result:
    """Return a lower bound for all legal schedules in the problem's order; no schedule.

    The note says how far a solution of the relaxation is from it. On a machine with banks the
    bound is that of :mod:`formulations.residency.banks`. On the replay it is weaker than the
    relaxation.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    if request.objective.replayed:
        return _replay(problem, request)
    if problem.machine.banks:
        # All of it, with a solver, takes as long to import as a small network to schedule.
        from formulations.residency.banks.schedule import bound

        return bound(problem, request)
    if problem.several_mappings:
        return _over_mappings(problem, request)
    proof, gap, cut_short = _solve(problem, request)
    note = f"the fluid optimum is at most {100 * gap:.3g} % above this bound"
    notes = (note,) if isfinite(gap) else ()
    if problem.machine.dma_setup_cycles:
        from formulations.residency.subgradient import with_setups

        proof = with_setups(problem, request, proof)
    return Result(residency_plan=None, certificate=proof, notes=notes, cut_short=cut_short)


def _over_mappings(problem: Problem, request: Request) -> Result:
    """Return a bound over all mappings: the relaxation of a small problem chooses among them."""
    from formulations.residency.page import round_columns
    from formulations.residency.plain import search as plain

    line = fitting_timeline(problem)
    if plain.is_small(line, request.params.residency):
        relaxed = plain.relax(problem, request, line)
        if relaxed is not None:
            return Result(residency_plan=None, certificate=relaxed.certificate)
    # Whatever plans there are in these mappings: of them it needs the dual values alone.
    found = round_columns(problem, request, coarse=True).result
    return replace(found, residency_plan=None)


def _replay(problem: Problem, request: Request) -> Result:
    """Return a bound on the replay, from duals of steps: those of the request, or found first."""
    from formulations.residency.replay import replay_certificate

    if problem.machine.banks:
        return Result(residency_plan=None, notes=(_UNKNOWN,))
    steps, certificate, cut_short = request.objective.with_barriers, request.duals, False
    if certificate is None or certificate.objective != steps:
        found = schedule(problem, replace(request.part(bounds=False), objective=steps))
        certificate, cut_short = found.certificate, found.cut_short
    if certificate is None:
        return Result(residency_plan=None, cut_short=True)
    proof = replay_certificate(problem, certificate, request.objective, request)
    return Result(residency_plan=None, certificate=proof, cut_short=cut_short)


def _solve(problem: Problem, request: Request) -> tuple[Certificate | None, float, bool]:
    """Return duals, the gap that they leave to a solution, and whether time ended the search."""
    duals = _solve_at_once(problem, request)
    if duals is not None:
        return duals, 0.0, False
    # Imported here: a small problem needs neither flows, nor rounding, nor windows of steps.
    from formulations.residency.column_generation import ColumnGeneration
    from formulations.residency.flow.optimum import fluid_optimum

    optimum = fluid_optimum(problem, request)
    if optimum is not None:
        return optimum.certificate, optimum.gap, False
    search = ColumnGeneration(problem, request, fluid=True)
    search.run(request.tolerance)
    return search.certificate, search.gap, search.cut_short(request.tolerance)


def _solve_at_once(problem: Problem, request: Request) -> Certificate | None:
    """Return the duals of the program over all columns; None if it is large, or time too short.

    By strong duality they prove its optimum, which is the least that any schedule costs in bytes.
    """
    # Raises InfeasibleError, which no linear program would explain.
    line = fitting_timeline(problem)
    intervals = ReuseIntervals(line, np.arange(line.step.size))
    most = request.params.residency.all_columns
    if int((intervals.step - intervals.begin)[intervals.live].sum()) > most:
        return None
    coefficients = CostCoefficients(problem, line, request.objective)
    master = Master(intervals, coefficients, all_columns(intervals), page_bytes=1)
    answer = solve_within(master.program, request, options=_SIMPLEX, brief=True)
    if answer.status is not SolverStatus.OPTIMAL:
        return None
    duals = master.multipliers(answer)
    return certificate(problem, request.objective, coefficients, duals)
