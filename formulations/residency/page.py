"""Residency in pages, order fixed: the fluid optimum, rounded, then all states if these are few."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.flow.optimum import page_optimum
from formulations.residency.flow.timed import time_start
from formulations.residency.plain import search as plain
from formulations.residency.plain.windows import improve
from formulations.residency.states.schedule import ENUMERATION, enumerate_all
from formulations.residency.subgradient import with_setups
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import EVERY_SCHEDULE, ClassBound, Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline

_NEAR = 0.01
"""Gap after a flow below which a round of programs without gain ends the search."""
_WINDOWS_SHARE = 0.5
"""Of the time that is left: windows of a small problem, before all of it is solved."""
_FRUITLESS = "the search ended before its time: a program gained nothing over a flow of least cost"


def schedule(problem: Problem, request: Request) -> Result:
    """Find a near-optimal schedule; any number of whole pages of a tensor may be resident.

    Optimal where a flow decides (:mod:`formulations.residency.flow`), and where all that could be
    better is enumerated (:mod:`formulations.residency.states`), in any mappings. Elsewhere each
    operation runs in the first mapping that fits. The bound holds for all legal schedules in the
    problem's order.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    outcome, bound, gap = _round(problem, request)
    if gap > request.tolerance:
        outcome, gap = _refine(problem, request, outcome, bound)
    outcome = replace(outcome, certificate=with_setups(problem, request, outcome.certificate))
    if gap <= request.tolerance or outcome.residency_plan is None:
        return outcome
    found = enumerate_all(problem, request, outcome.residency_plan, outcome.certificate)
    if found is None:
        return outcome
    return replace(
        outcome,
        residency_plan=found.residency_plan,
        class_bound=ClassBound(
            value=float(found.bound), holds_for=EVERY_SCHEDULE, proved_by=ENUMERATION
        ),
        notes=(),
        cut_short=outcome.cut_short and found.value > found.bound,
    )


def _refine(
    problem: Problem, request: Request, outcome: Result, bound: float
) -> tuple[Result, float]:
    """Improve a plan by windows, then solve the whole of a small problem.

    Return the outcome, and its gap to the best bound.
    """
    plan = outcome.residency_plan
    if plan is None or other_order(plan.steps.operation) is not None:
        return outcome, inf
    line = timeline(problem, plan.steps)
    best = plan, residency_plan_value(problem, plan, request.objective)
    small = plain.is_small(line)
    if small and not problem.several_mappings:
        relaxed = plain.relax(problem, request, line)
        if relaxed is not None:
            if relaxed.bound > bound:
                outcome, bound = replace(outcome, certificate=relaxed.certificate), relaxed.bound
                request.report_incumbent(bound=bound)
            best = _better(problem, request, best, relaxed.residency_plan)
    # The whole of a tiny problem is solved soon, unless commands have a set-up.
    in_windows = not plain.is_tiny(line) or problem.machine.dma_setup_cycles > 0
    if in_windows and _gap(best[1], bound) > request.tolerance:
        part = request.phase(_WINDOWS_SHARE * request.remaining_s()) if small else request
        best = _better(problem, request, best, improve(problem, part, line, best[0]))
    if small and _gap(best[1], bound) > request.tolerance:
        found = plain.page_optimum(problem, replace(request, start=best[0]), line)
        if found is not None:
            best = _better(problem, request, best, found.residency_plan)
            least = ClassBound(
                value=min(found.bound, float(best[1])),
                holds_for=plain.CLASS,
                proved_by=found.solver,
            )
            outcome = replace(outcome, class_bound=least)
    gap = _gap(best[1], bound)
    late = request.remaining_s() <= 0 and gap > request.tolerance
    notes = () if small else outcome.notes
    return replace(outcome, residency_plan=best[0], notes=notes, cut_short=late), gap


def _better(
    problem: Problem,
    request: Request,
    best: tuple[ResidencyPlan, Fraction],
    other: ResidencyPlan | None,
) -> tuple[ResidencyPlan, Fraction]:
    """Return the better of two plans, with its value."""
    if other is None:
        return best
    value = residency_plan_value(problem, other, request.objective)
    if value >= best[1]:
        return best
    request.report_incumbent(value=value)
    return other, value


def round_values(problem: Problem, request: Request) -> Result:
    """Do as :func:`schedule`, without enumeration."""
    return _round(problem, request)[0]


def _round(problem: Problem, request: Request) -> tuple[Result, float, float]:
    """Return an outcome, its bound, and the gap that is left; 0 where a flow decides."""
    optimal = decide_residency(problem, request)
    if optimal.residency_plan is not None:
        return optimal, inf, 0.0
    search = ColumnGeneration(problem, request)
    if request.start is not None:
        search.offer_residency_plan(request.start)
    first = time_start(problem, request)
    if first is not None:
        search.offer_residency_plan(first[0])
        search.offer_duals(first[1])
        if search.gap <= _NEAR:
            search.settings = replace(search.settings, idle=1, hopeful=False)
    search.run(request.tolerance)
    cut_short = search.cut_short(request.tolerance)
    if not problem.several_mappings:
        vain = not (search.settings.hopeful or cut_short) and search.gap > request.tolerance
        return (
            Result(
                residency_plan=search.residency_plan,
                certificate=search.certificate,
                notes=(_FRUITLESS,) if vain else (),
                cut_short=cut_short,
            ),
            search.bound,
            search.gap,
        )
    # Dual values of one mapping prove little for all of them.
    relaxed = ColumnGeneration(problem, request, fluid=True)
    relaxed.run(request.tolerance)
    best = max(search, relaxed, key=lambda run: run.bound)
    return (
        Result(
            residency_plan=search.residency_plan,
            certificate=best.certificate,
            notes=(SEVERAL_MAPPINGS,),
            cut_short=best.cut_short(request.tolerance),
        ),
        best.bound,
        _gap(search.value, best.bound),
    )


def _gap(value: Fraction | None, bound: float) -> float:
    """Return by how much a value is above a bound, relative to that."""
    return float(value) / bound - 1 if value is not None and bound > 0 else inf


def decide_residency(problem: Problem, request: Request) -> Result:
    """Return the optimal schedule where a flow decides; elsewhere none, nor a bound.

    It needs no residency plan to start from.

    Raises
    ------
    InfeasibleError
        As :func:`schedule`, unless a look at the problem says that no flow decides.
    """
    found = page_optimum(problem, request)
    if found is None:
        return Result(residency_plan=None)
    residency_plan, start = found.residency_plan, request.start
    if start is not None and residency_plan_value(problem, start, request.objective) <= found.value:
        residency_plan = start
    least = ClassBound(
        value=float(found.value),
        holds_for="any number of whole pages of each tensor",
        proved_by="a flow of least cost, OR-Tools",
    )
    return Result(residency_plan=residency_plan, certificate=found.certificate, class_bound=least)
