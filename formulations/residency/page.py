"""Residency in pages, order fixed: the fluid optimum, rounded, with its certified bound."""

from __future__ import annotations

from dataclasses import replace

from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.flow.optimum import page_optimum
from formulations.residency.flow.timed import timed_start
from spmopt.assemble.cost import plan_value
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.result import ClassBound, Outcome
from spmopt.core.scheduler import Request

_NEAR = 0.01
"""Gap after a flow from which on a vain round of programs ends the search: more were as vain."""
_VAIN = "the search ended before its time: a program gained nothing over a flow of least cost"


def schedule(instance: Instance, request: Request) -> Outcome:
    """Find a near-optimal schedule; any number of whole pages of a tensor may be resident.

    Optimal where a flow decides (:mod:`formulations.residency.flow`). The bound holds for all
    legal schedules in the instance's order. Where operations have several modes, each runs in the
    first that fits.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    optimal = decided(instance, request)
    if optimal.plan is not None:
        return optimal
    search = ColumnGeneration(instance, request)
    if request.start is not None:
        search.offer_plan(request.start)
    first = timed_start(instance, request)
    if first is not None:
        search.offer_plan(first[0])
        search.offer_prices(first[1])
        if search.gap <= _NEAR:
            search.settings = replace(search.settings, idle=1, hopeful=False)
    search.run(request.tolerance)
    cut_short = search.cut_short(request.tolerance)
    if not instance.several_modes:
        vain = not (search.settings.hopeful or cut_short) and search.gap > request.tolerance
        return Outcome(
            plan=search.plan,
            certificate=search.certificate,
            notes=(_VAIN,) if vain else (),
            cut_short=cut_short,
        )
    # Prices of one mode prove little for all of them.
    relaxed = ColumnGeneration(instance, request, fluid=True)
    relaxed.run(request.tolerance)
    best = max(search, relaxed, key=lambda run: run.bound)
    return Outcome(
        plan=search.plan,
        certificate=best.certificate,
        notes=(SEVERAL_MODES,),
        cut_short=best.cut_short(request.tolerance),
    )


def decided(instance: Instance, request: Request) -> Outcome:
    """Return the optimal schedule where a flow decides; elsewhere none, nor a bound.

    It needs no plan to start from.

    Raises
    ------
    InfeasibleError
        As :func:`schedule`, unless a look at the instance says that no flow decides.
    """
    found = page_optimum(instance, request)
    if found is None:
        return Outcome(plan=None)
    plan, start = found.plan, request.start
    if start is not None and plan_value(instance, start, request.objective) <= found.value:
        plan = start
    least = ClassBound(
        value=float(found.value),
        holds_for="any number of whole pages of each tensor",
        proved_by="a flow of least cost, OR-Tools",
    )
    return Outcome(plan=plan, certificate=found.certificate, class_bound=least)
