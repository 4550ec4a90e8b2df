"""Residency in bytes, order fixed: the linear relaxation, for its bound alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isfinite

from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.flow.optimum import Optimum, fluid_optimum
from formulations.residency.replay import replay_certificate
from formulations.residency.setups import with_setups
from spmopt.core.bypass import without_bypass
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Outcome
from spmopt.core.scheduler import Request

_UNKNOWN = "of the replay with banks no bound is known but the one on any order"


def schedule(problem: Problem, request: Request) -> Outcome:
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
    solved, cut_short = _solve(problem, request)
    gap = f"the fluid optimum is at most {100 * solved.gap:.3g} % above this bound"
    notes = (gap,) if isfinite(solved.gap) else ()
    proof = with_setups(problem, request, solved.certificate)
    return Outcome(residency_plan=None, certificate=proof, notes=notes, cut_short=cut_short)


def _replay(problem: Problem, request: Request) -> Outcome:
    """Return a bound on the replay, from duals of steps: those of the request, or found first."""
    if problem.machine.banks:
        return Outcome(residency_plan=None, notes=(_UNKNOWN,))
    steps, certificate, cut_short = request.objective.with_barriers, request.duals, False
    if certificate is None or certificate.objective != steps:
        found = schedule(problem, replace(request.part(bounds=False), objective=steps))
        certificate, cut_short = found.certificate, found.cut_short
    if certificate is None:
        return Outcome(residency_plan=None, cut_short=True)
    proof = replay_certificate(problem, certificate, request.objective, request)
    return Outcome(residency_plan=None, certificate=proof, cut_short=cut_short)


def enclosed(problem: Problem, request: Request) -> tuple[Certificate | None, Fraction | None]:
    """Return the dual values that prove a bound, and the value of a solution of the relaxation.

    The optimum of the relaxation lies between the two, on a machine without set-ups; None where
    the time was too short for one. It is convex in the capacity, so that several of these enclose
    a whole curve.

    Raises
    ------
    InfeasibleError
        As :func:`schedule`.
    """
    remainder = without_bypass(problem)
    solved, _ = _solve(remainder.problem, request)
    streams = remainder.streams.value(request.objective)
    return solved.certificate, None if solved.value is None else solved.value + streams


def _solve(problem: Problem, request: Request) -> tuple[Optimum | ColumnGeneration, bool]:
    """Return the relaxation solved, by a flow where one decides; and whether time cut it short."""
    found = fluid_optimum(problem, request)
    if found is not None:
        return found, False
    search = ColumnGeneration(problem, request, fluid=True)
    search.run(request.tolerance)
    return search, search.cut_short(request.tolerance)
