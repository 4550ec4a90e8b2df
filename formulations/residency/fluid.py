"""Residency in bytes, order fixed: the linear relaxation, for its bound alone."""

from __future__ import annotations

from math import isfinite

from formulations.residency.loop import Search
from formulations.residency.settings import Settings
from spmopt.core.instance import Instance
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request


def schedule(instance: Instance, request: Request) -> Outcome:
    """Lower bound for all legal schedules in the instance's order; no schedule.

    The note says how far a solution of the relaxation is from it.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    search = Search(instance, request, page_bytes=None, settings=Settings())
    search.run(request.tolerance)
    gap = f"the fluid optimum is at most {100 * search.gap:.2g} % above this bound"
    notes = (gap,) if isfinite(search.gap) else ()
    return Outcome(plan=None, certificate=search.certificate(), notes=notes)
