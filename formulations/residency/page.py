"""Residency in pages, order fixed: the fluid optimum, rounded, then all states if these are few."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.flow.optimum import page_optimum
from formulations.residency.flow.timed import timed_start
from formulations.residency.setups import with_setups
from formulations.residency.states.schedule import ENUMERATION, enumerated
from spmopt.assemble.cost import plan_value
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.result import EVERY_SCHEDULE, ClassBound, Outcome
from spmopt.core.scheduler import Request

_NEAR = 0.01
"""Gap after a flow from which on a vain round of programs ends the search: more were as vain."""
_VAIN = "the search ended before its time: a program gained nothing over a flow of least cost"


def schedule(instance: Instance, request: Request) -> Outcome:
    """Find a near-optimal schedule; any number of whole pages of a tensor may be resident.

    Optimal where a flow decides (:mod:`formulations.residency.flow`), and where all that could be
    better is enumerated (:mod:`formulations.residency.states`), in any modes. Elsewhere each
    operation runs in the first mode that fits. The bound holds for all legal schedules in the
    instance's order.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    outcome, gap = _rounded(instance, request)
    outcome = replace(outcome, certificate=with_setups(instance, request, outcome.certificate))
    if gap <= request.tolerance or outcome.plan is None:
        return outcome
    found = enumerated(instance, request, outcome.plan, outcome.certificate)
    if found is None:
        return outcome
    return replace(
        outcome,
        plan=found.plan,
        class_bound=ClassBound(
            value=float(found.bound), holds_for=EVERY_SCHEDULE, proved_by=ENUMERATION
        ),
        notes=(),
        cut_short=outcome.cut_short and found.value > found.bound,
    )


def rounded(instance: Instance, request: Request) -> Outcome:
    """Do as :func:`schedule`, without enumeration."""
    return _rounded(instance, request)[0]


def _rounded(instance: Instance, request: Request) -> tuple[Outcome, float]:
    """Return an outcome, and the gap that is left; 0 where a flow decides."""
    optimal = decided(instance, request)
    if optimal.plan is not None:
        return optimal, 0.0
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
        ), search.gap
    # Prices of one mode prove little for all of them.
    relaxed = ColumnGeneration(instance, request, fluid=True)
    relaxed.run(request.tolerance)
    best = max(search, relaxed, key=lambda run: run.bound)
    return Outcome(
        plan=search.plan,
        certificate=best.certificate,
        notes=(SEVERAL_MODES,),
        cut_short=best.cut_short(request.tolerance),
    ), search.gap if best is search else _gap(search.value, relaxed.bound)


def _gap(value: Fraction | None, bound: float) -> float:
    """Return by how much a value is above a bound, relative to that."""
    return float(value) / bound - 1 if value is not None and bound > 0 else inf


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
