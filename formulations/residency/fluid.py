"""Residency in bytes, order fixed: the linear relaxation, for its bound alone."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

from formulations.residency.loop import Search
from formulations.residency.settings import Settings
from spmopt.core.instance import Instance
from spmopt.core.result import Certificate, Outcome
from spmopt.core.scheduler import Request


def schedule(instance: Instance, request: Request) -> Outcome:
    """Lower bound for all legal schedules in the instance's order; no schedule.

    The note says how far a solution of the relaxation is from it.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    search = _solved(instance, request)
    gap = f"the fluid optimum is at most {100 * search.gap:.3g} % above this bound"
    notes = (gap,) if isfinite(search.gap) else ()
    return Outcome(
        plan=None,
        certificate=search.certificate(),
        notes=notes,
        cut_short=search.cut_short(request.tolerance),
    )


def enclosed(instance: Instance, request: Request) -> tuple[Certificate | None, Fraction | None]:
    """Prices that prove a bound, and the value of a solution of the relaxation.

    The optimum of the relaxation lies between the two; None where the time was too short for
    one. It is convex in the capacity, so that several of these enclose a whole curve.

    Raises
    ------
    InfeasibleError
        As :func:`schedule`.
    """
    search = _solved(instance, request)
    return search.certificate(), search.value


def _solved(instance: Instance, request: Request) -> Search:
    search = Search(instance, request, page_bytes=None, settings=Settings())
    search.run(request.tolerance)
    return search
