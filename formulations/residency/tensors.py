"""Residency of whole tensors, order fixed: the plain model with its switch ``tensors``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from formulations.residency.bound.duals import MoveDuals, Multipliers, multipliers
from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.plain.cells import Spans, count_cells
from formulations.residency.plain.columns import Families
from formulations.residency.plain.search import is_small, page_optimum, relax
from formulations.residency.plain.windows import improve
from formulations.residency.program.columns import candidates
from spmopt.assemble.cost import residency_plan_value, sum_up
from spmopt.core.machine import Machine
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE, WHOLE_TENSORS, ClassBound, Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, fitting_timeline, timeline

FAMILIES = Families(pages=True, tensors=True, setups=True, mappings=True)
_LOOSE = replace(FAMILIES, loose=True)
_OF_WINDOWS = replace(FAMILIES, mappings=False)
PARTS = "parts of tensors stay between uses: cheaper than the class allows"
TOO_LARGE = "too large for an integer program of all its steps"
_DUALS = "dual values of SPM and DMA time"
_BOUND_GAP = 1e-3
"""The gap at which the search of each of two certificates ends: windows leave a larger one."""
_MARGIN = 1e-6
"""Relative, that a solver's bound may be off."""


def schedule(problem: Problem, request: Request) -> Result:
    """Find the least objective of a whole-tensor schedule in the problem's order.

    In a step that uses a tensor all of it is resident, or nothing; between two uses it is kept in
    full, or leaves and comes back in full. Where time is free, or the problem is small, one integer
    program says all of that, and its bound is one for the class. Larger problems are decided in
    windows; their class bound is the relaxation's, without tensors that can never be resident.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    line = fitting_timeline(problem)
    if request.objective.cycle == 0:
        if count_cells(line, Spans.ONE) > request.params.residency.traffic_cells:
            return Result(residency_plan=request.start, notes=(TOO_LARGE,))
        plan, least = _solve(problem, request, line, Spans.ONE, request.start)
        return outcome(problem, request, plan, least)
    if is_small(line, request.params.residency):
        return _small(problem, request, line)
    return _large(problem, request, line)


def _small(problem: Problem, request: Request, line: Timeline) -> Result:
    """Solve all of a problem, from the best of ways to begin; its bound is that of the class."""
    relaxed = relax(problem, request, line)
    certificate = None if relaxed is None else relaxed.certificate
    if relaxed is None:
        certificate = _bounds(problem, request)[0].certificate
    loose, spans, windows = request.params.residency.tensors_fractions
    part = _part(request, loose)
    plan, _ = _solve(problem, part, line, Spans.STEPS, request.start, families=_LOOSE)
    part = _part(request, spans)
    plan, _ = _solve(problem, part, line, Spans.POWERS, plan)
    plan = _in_windows(problem, _part(request, windows), plan)
    plan, least = _solve(problem, request, line, Spans.STEPS, plan)
    late = request.remaining_s() <= 0
    return replace(outcome(problem, request, plan, least), certificate=certificate, cut_short=late)


def _large(problem: Problem, request: Request, line: Timeline) -> Result:
    """Decide windows, from the best of the start and a loose program of few spans."""
    bounds, of_class = _bounds(problem, request)
    plan = request.start
    if bounds.duals is not None and line.step.size <= request.params.residency.large_uses:
        spans = _cheap_spans(bounds, bounds.duals)
        part = _part(request, request.params.residency.large_fraction)
        plan, _ = _solve(problem, part, line, spans, plan, families=_LOOSE)
    plan = _in_windows(problem, request, plan)
    notes = (SEVERAL_MAPPINGS,) if problem.several_mappings else ()
    return Result(
        residency_plan=plan,
        class_bound=of_class,
        certificate=bounds.certificate,
        notes=notes,
        cut_short=bounds.cut_short(max(_BOUND_GAP, request.tolerance)),
    )


def _in_windows(
    problem: Problem, request: Request, plan: ResidencyPlan | None
) -> ResidencyPlan | None:
    """Return a plan that windows of steps made better; one in another order as it is."""
    if plan is None or other_order(plan.steps.operation) is not None:
        return plan
    line = timeline(problem, plan.steps)
    return improve(problem, request, line, plan, families=_OF_WINDOWS)


def _cheap_spans(bounds: ColumnGeneration, duals: Multipliers) -> Ints:
    """Return steps, as :func:`plain_cells` takes them, in which it is cheapest to move a tensor.

    By dual values of the relaxation; two levels, each with the best steps on either side.
    """
    intervals, steps = bounds.intervals, bounds.line.steps
    moves = MoveDuals(bounds.coefficients, duals)
    columns = candidates(intervals, moves, 2, lambda _, at: np.full(at.size, np.inf))
    key = intervals.tensor[columns.access] * steps + columns.step
    # What leaves in a step is gone in the next.
    return np.unique(np.concatenate((key, key + 1)))


def _part(request: Request, share: float) -> Request:
    """Return the request for a phase of the time that is left."""
    return request.phase(share * request.remaining_s())


def _solve(
    problem: Problem,
    request: Request,
    line: Timeline,
    spans: Spans | Ints,
    start: ResidencyPlan | None,
    *,
    families: Families = FAMILIES,
) -> tuple[ResidencyPlan | None, ClassBound | None]:
    """Return the better of a plan and the best of spans; the solver's bound for the class."""
    other = start is not None and other_order(start.steps.operation) is not None
    begun = replace(request, start=None if other else start)
    if spans is Spans.POWERS or families.loose:  # their bounds are of fewer schedules
        begun = begun.part(bounds=False)
    found = page_optimum(problem, begun, line, families, spans)
    if found is None:
        return start, None
    least = None
    if np.isfinite(found.bound):
        least = ClassBound(value=found.bound, holds_for=WHOLE, proved_by=found.solver)
    if start is not None:
        value = residency_plan_value(problem, start, request.objective)
        if value <= found.value:
            return start, least
    request.report_incumbent(value=found.value)
    return found.residency_plan, least


def _bounds(problem: Problem, request: Request) -> tuple[ColumnGeneration, ClassBound | None]:
    """Return the search for the bound of all schedules, and the bound of whole tensors.

    The second is the first without bytes of tensors that are resident where they do not fit.
    """
    tolerance = max(_BOUND_GAP, request.tolerance)
    # Its bound holds for all schedules, so that it is told as one.
    share = request.params.residency.bound_fraction
    every = ColumnGeneration(problem, request.part(bounds=True).share(share))
    every.run(tolerance)
    part = replace(request.of_class().share(share), duals=every.certificate)
    absent = partial(never_resident, problem.machine)
    whole = ColumnGeneration(problem, part, absent=absent)
    whole.run(tolerance)
    given = None
    if every.certificate is not None:
        given = multipliers(every.certificate, whole.coefficients)
    if given is not None:
        # They prove at least as much of the class; of several mappings the search follows one.
        whole.offer_duals(given)
    of_class = None
    if whole.certificate is not None:
        of_class = ClassBound(
            value=whole.bound,
            holds_for=WHOLE_TENSORS,
            proved_by=_DUALS,
            certificate=replace(whole.certificate, holds_for=WHOLE_TENSORS),
        )
    return every, of_class


def outcome(
    problem: Problem, request: Request, plan: ResidencyPlan | None, least: ClassBound | None
) -> Result:
    """Return a plan with the bound of its class, if it is not cheaper than that allows.

    A part that leaves and would be back in the very next step just stays (R2), and a plan to start
    from may keep parts.
    """
    if plan is None or least is None or least.certificate is not None:
        return Result(residency_plan=plan, class_bound=least)
    value = float(residency_plan_value(problem, plan, request.objective))
    if value < least.value * (1 - _MARGIN):
        return Result(residency_plan=plan, notes=(PARTS,))
    return Result(residency_plan=plan, class_bound=replace(least, value=min(value, least.value)))


def never_resident(machine: Machine, line: Timeline) -> Bools:
    """Return (a,) the accesses at which not all of the tensor fits beside the step's needs.

    That is its scratch and its required-resident operands, in whole pages. In a relaxed timeline
    these are the least of all mappings, so that a tensor that does not fit there fits in no
    mapping.
    """
    pages = machine.pages(line.size_bytes)[line.tensor]
    fixed = sum_up(line.steps, line.step, np.where(line.required_resident, pages, 0))
    # R1, R3: scratch and required-resident operands, each in whole pages.
    needed = fixed + machine.pages(line.scratch_bytes)
    result: Bools = ~line.required_resident & (pages + needed[line.step] > machine.spm_pages)
    return result
