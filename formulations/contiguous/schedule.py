"""Residency in pages, one range of addresses a tensor: good plans, repaired."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from formulations.contiguous.repair import Repair
from formulations.contiguous.rounds import Found
from formulations.residency import page
from spmopt.assemble.cost import plan_value
from spmopt.core.instance import Instance
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request

_NONE = "found no schedule in which each tensor has one range of addresses"


def schedule(instance: Instance, request: Request) -> Outcome:
    """Good schedule with contiguous addresses; its bound is that of any addresses.

    The paged optimum, for which half of the time limit is, is repaired first; then those of the
    plans to start from that are better than what that gave.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    half = replace(request.part(bounds=True), time_limit_s=request.time_limit_s / 2)
    paged = page.schedule(instance, half)
    best: Found | None = None

    def value(plan: Plan) -> Fraction:
        return plan_value(instance, plan, request.objective)

    starts = [plan for plan in (request.start, *request.others) if plan is not None]
    plans = [*([] if paged.plan is None else [paged.plan]), *starts]
    for plan in plans:
        if best is not None and value(plan) >= best.value:
            continue
        late = best is not None and request.remaining_s() <= 0
        for found in Repair(instance, request, plan, paged.certificate).plans():
            if best is None or found.value < best.value:
                best = found
                request.report_incumbent(value=best.value)
            if late:  # what can be placed as it is must not be better than the answer
                break
    return Outcome(
        plan=None if best is None else best.plan,
        certificate=paged.certificate,
        notes=paged.notes if best is not None else (*paged.notes, _NONE),
        cut_short=paged.cut_short,
    )
