"""Residency in pages, one range of addresses a tensor: the paged optimum, repaired."""

from __future__ import annotations

from dataclasses import replace

from formulations.contiguous.repair import Repair
from formulations.residency import page
from spmopt.core.instance import Instance
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request

_NONE = "found no schedule in which each tensor has one range of addresses"


def schedule(instance: Instance, request: Request) -> Outcome:
    """Good schedule with contiguous addresses; its bound is that of any addresses.

    Half of the time limit is for the paged optimum.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    paged = page.schedule(instance, replace(request, time_limit_s=request.time_limit_s / 2))
    if paged.plan is None:
        return paged
    best = min(
        Repair(instance, request, paged.plan, paged.certificate).plans(),
        key=lambda found: found.value,
        default=None,
    )
    return Outcome(
        plan=None if best is None else best.plan,
        certificate=paged.certificate,
        notes=paged.notes if best is not None else (*paged.notes, _NONE),
    )
