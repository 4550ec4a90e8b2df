"""Residency in pages, order fixed: the fluid optimum, rounded, then the plain model in pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, certificate, multipliers
from formulations.residency.cheap_mappings import choose_by_duals, in_numbers
from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.flow.optimum import page_optimum
from formulations.residency.flow.timed import time_start
from formulations.residency.plain import search as plain
from formulations.residency.plain.mappings import FewerMappings, cheapest_mappings
from formulations.residency.plain.windows import improve
from formulations.residency.subgradient import setup_bytes, with_setups
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.mappings import fitting_mappings, in_mappings
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, ClassBound, Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, fitting_timeline, timeline

_CHOICE_FRACTION = 0.4
"""Of the time left, to choose mappings by dual values."""
_FIRST_FRACTION = 0.4
"""Of the time left, for the first mapping of each operation alone."""


@dataclass(frozen=True, kw_only=True)
class Rounded:
    """A result with its value and the bound of its certificate; infinite if nothing is to gain."""

    result: Result
    value: Fraction | float
    bound: float

    @property
    def gap(self) -> float:
        """Relative distance of the value to the bound."""
        return float(self.value) / self.bound - 1 if self.bound > 0 else inf


def schedule(problem: Problem, request: Request) -> Result:
    """Find a near-optimal schedule; any number of whole pages of a tensor may be resident.

    Small problems are solved to the optimum of their class by branch and bound, in any mappings:
    the solver's bound for it is a claim, the certificate holds for all legal schedules in the
    problem's order. In large ones dual values choose the mappings.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    several = problem.several_mappings
    if several and request.first_mappings:
        return _in_first_mappings(problem, request)
    if several and plain.is_small(fitting_timeline(problem), request.params.residency):
        return _MappingChoice(problem, request).run()
    return refine(problem, request, round_columns(problem, request))


def refine(problem: Problem, request: Request, rounded: Rounded) -> Result:
    """Improve a plan by windows of the plain model, then by all of it where that is small."""
    plan = rounded.result.residency_plan
    is_open = rounded.gap > request.tolerance and not request.is_over()
    # The plain model runs the listed order.
    if is_open and plan is not None and other_order(plan.steps.operation) is None:
        rounded = _Refinement(problem, request, plan, rounded).run()
    return rounded.result


class _Refinement:
    """The best plan so far, and the largest bound.

    Attributes
    ----------
    best
        With its value and the certificate's bound.
    least
        The solver's bound for the class, if any.
    """

    def __init__(
        self,
        problem: Problem,
        request: Request,
        plan: ResidencyPlan,
        rounded: Rounded,
    ) -> None:
        self.problem, self.request, self.plan, self.best = problem, request, plan, rounded
        self.line: Timeline = timeline(problem, plan.steps)
        self.least = 0.0
        self.params = request.params.residency

    def run(self) -> Rounded:
        """Solve the relaxation, then windows, then all in pages, then with whole cycles."""
        small = plain.is_small(self.line, self.params)
        if small and not self.problem.several_mappings:
            self._relax()
        elif not small:
            certificate = with_setups(self.problem, self.request, self.best.result.certificate)
            self.best = replace(
                self.best, result=replace(self.best.result, certificate=certificate)
            )
        if self._is_open:
            share = self.params.windows_fraction if small else 1.0
            part = self.request.phase(share * self.request.remaining_s())
            self._offer(improve(self.problem, part, self.line, self.plan))
        if small and self._is_open:
            self._solve()
        late = self.request.remaining_s() <= 0 and self._is_open
        notes = () if small else self.best.result.notes
        result = replace(self.best.result, residency_plan=self.plan, notes=notes, cut_short=late)
        return replace(self.best, result=result)

    @property
    def _is_open(self) -> bool:
        """Whether neither the certificate nor the solver proves the plan to be good enough."""
        known = max(self.best.bound, self.least)
        return float(self.best.value) > known * (1 + self.request.tolerance)

    def _relax(self) -> None:
        found = plain.relax(self.problem, self.request, self.line)
        if found is None:
            return
        if found.bound > self.best.bound:
            result = replace(self.best.result, certificate=found.certificate)
            self.best = replace(self.best, result=result, bound=found.bound)
            self.request.report_incumbent(bound=found.bound)
        self._offer(found.residency_plan)

    def _solve(self) -> None:
        """Solve the whole problem in pages, and with whole cycles where that pays."""
        for families in plain.families_of(self.line, self.params):
            request = replace(self.request, start=self.plan)
            found = plain.page_optimum(self.problem, request, self.line, families)
            if found is None:
                continue
            self._offer(found.residency_plan)
            if not isfinite(found.bound):
                continue  # stopped before the root was solved
            self.least = max(self.least, min(found.bound, float(self.best.value)))
            least = ClassBound(value=self.least, holds_for=plain.CLASS, proved_by=found.solver)
            result = replace(self.best.result, class_bound=least)
            self.best = replace(self.best, result=result)
            if not self._is_open:
                return

    def _offer(self, plan: ResidencyPlan | None) -> None:
        """Take a plan that is better."""
        if plan is None:
            return
        value = residency_plan_value(self.problem, plan, self.request.objective)
        if value < self.best.value:
            self.plan, self.best = plan, replace(self.best, value=value)
            self.request.report_incumbent(value=value)


def round_values(problem: Problem, request: Request) -> Result:
    """Do as :func:`schedule`, but no more than rounding the fluid optimum."""
    return round_columns(problem, request).result


def _decide_by_flow(problem: Problem, request: Request) -> Rounded | None:
    """Return the optimum where a flow of least cost decides; else None."""
    found = page_optimum(problem, request)
    if found is None:
        return None
    least = ClassBound(
        value=float(found.value), holds_for=plain.CLASS, proved_by="a flow of least cost, OR-Tools"
    )
    plan, start = found.residency_plan, request.start
    if start is not None and residency_plan_value(problem, start, request.objective) <= found.value:
        plan = start  # its verified schedule need not be verified again
    result = Result(residency_plan=plan, certificate=found.certificate, class_bound=least)
    return Rounded(result=result, value=found.value, bound=inf)


def round_columns(
    problem: Problem, request: Request, *, coarse: bool = False, first: Ints | None = None
) -> Rounded:
    """Return the fluid optimum by column generation, rounded to whole pages, and its bound.

    Of several mappings dual values choose, beginning with ``first`` (n,), if given; the bound holds
    for all of them. ``coarse``: it is one plan of many to compare, and its bound is no answer.

    Raises
    ------
    InfeasibleError
        As :func:`schedule`.
    """
    if problem.several_mappings:
        return _round_in_cheap_mappings(problem, request, first, coarse=coarse)
    optimal = _decide_by_flow(problem, request)
    if optimal is not None:
        return optimal
    search = ColumnGeneration(problem, request)
    if request.start is not None:
        search.offer_residency_plan(request.start)
    # Of tile products, all of whose operands must be on chip, no rounding comes as near.
    in_time = time_start(problem, request)
    if in_time is not None:
        search.offer_residency_plan(in_time[0])
        search.offer_duals(in_time[1])
    search.run(request.tolerance)
    result = Result(
        residency_plan=search.residency_plan,
        certificate=search.certificate,
        cut_short=search.cut_short(request.tolerance),
    )
    value = inf if search.value is None else search.value
    return Rounded(result=result, value=value, bound=search.bound)


def _round_in_cheap_mappings(
    problem: Problem, request: Request, first: Ints | None, *, coarse: bool
) -> Rounded:
    """Round in mappings that dual values choose; those of the best round give the bound."""
    apart, tolerance = request.part(bounds=True), request.tolerance
    found = choose_by_duals(problem, apart, first=first, coarse=coarse)
    for gap in (tolerance, tolerance / 10) if not coarse else ():
        if found is None or float(found.value) <= found.bound * (1 + tolerance):
            break
        # The better plan and the better bound need not be of the same round.
        again = replace(apart, start=found.plan, duals=found.certificate, tolerance=gap)
        finer = choose_by_duals(problem, again, gap)
        assert finer is not None
        known = found if found.bound > finer.bound else finer
        found = replace(finer, certificate=known.certificate, bound=known.bound)
    plan = None if found is None else found.plan
    value, bound = (inf, -inf) if found is None else (found.value, found.bound)
    proof = None if found is None else found.certificate
    if proof is None or (setup_bytes(problem) and not coarse):
        # Set-ups are counted at dual values of the least figures alone.
        relaxed = ColumnGeneration(problem, replace(request, start=None), fluid=True)
        relaxed.run(tolerance)
        proof, bound = relaxed.certificate, relaxed.bound
    late = value > bound * (1 + tolerance) and request.is_over()
    result = Result(residency_plan=plan, certificate=proof, cut_short=late)
    return Rounded(result=result, value=value, bound=bound)


class _MappingChoice:
    """Residency of a small problem with several mappings to choose among.

    The relaxation proves the bound over all of them, and its reduced costs say which are worth a
    try beside the choice by dual values. Windows choose among these, then the whole plain model.
    """

    def __init__(self, problem: Problem, request: Request) -> None:
        self.problem, self.request = problem, request
        self.params, self.first = request.params.residency, fitting_timeline(problem)

    def run(self) -> Result:
        """Return the best schedule in time."""
        request, relaxed = self.request, plain.relax(self.problem, self.request, self.first)
        if relaxed is None or relaxed.reduced is None:  # no time
            return refine(self.problem, request, round_columns(self.problem, request))
        bound, reduced = relaxed.bound, relaxed.reduced
        first = self._round(relaxed)
        if first is None:
            return refine(self.problem, request, round_columns(self.problem, request))
        (value, plan), slack, count = first, np.inf, self.params.mappings
        while True:
            taken = cheapest_mappings(self.problem, plan.steps.mapping, reduced, count)
            # With a mapping beyond the slack a schedule would cost more than the best so far.
            last = bool(taken[reduced <= slack].all())
            few = FewerMappings(self.problem, taken)
            part = request if last else request.phase(request.remaining_s() / 2)
            rounded = Rounded(
                result=Result(residency_plan=few.inside(plan)), value=value, bound=bound
            )
            found = refine(few.problem, part, rounded)
            assert found.residency_plan is not None
            plan = few.outside(found.residency_plan)
            value = residency_plan_value(self.problem, plan, request.objective)
            request.report_incumbent(value=value)
            slack = min(slack, float(value) - bound)
            proved = bool(taken[reduced <= slack].all())
            if (
                proved
                or last
                or float(value) <= bound * (1 + request.tolerance)
                or request.is_over()
            ):
                break
            count *= 2
        return replace(
            found,
            residency_plan=plan,
            certificate=relaxed.certificate,
            class_bound=found.class_bound if proved else None,
            cut_short=request.is_over() or (found.cut_short and not proved),
        )

    def _round(self, relaxed: plain.Relaxed) -> tuple[Fraction, ResidencyPlan] | None:
        """Return the best of the given plan, and those in mappings of the relaxation and duals."""
        request, start = self.request.part(bounds=False), self.request.start
        plans = [] if start is None or other_order(start.steps.operation) is not None else [start]
        if relaxed.mapping is not None:
            plan = _round_in(self.problem, request, relaxed.mapping)
            plans = plans if plan is None else [plan, *plans]
        found = [
            (residency_plan_value(self.problem, plan, request.objective), plan) for plan in plans
        ]
        if not found or float(found[0][0]) > relaxed.bound * (1 + request.tolerance):
            part = request.phase(_FIRST_FRACTION * request.remaining_s())
            plan = _in_first_mappings(self.problem, replace(part, start=None)).residency_plan
            if plan is not None:
                found.append((residency_plan_value(self.problem, plan, request.objective), plan))
            part = request.phase(_CHOICE_FRACTION * request.remaining_s())
            cheap = choose_by_duals(self.problem, part)
            if cheap is not None:
                found.append((cheap.value, cheap.plan))
        return min(found, key=lambda each: each[0], default=None)


def _in_first_mappings(problem: Problem, request: Request) -> Result:
    """Schedule with the first mapping of each operation that fits; its bound holds for all."""
    mapping, start = fitting_mappings(problem), request.start
    if start is not None and (start.steps.mapping != mapping[start.steps.operation]).any():
        start = None
    if start is not None:
        steps = replace(start.steps, mapping=np.zeros_like(start.steps.mapping))
        start = replace(start, steps=steps)
    # A bound of one mapping each is none of all; its dual values are evaluated in the end.
    own = replace(request.part(bounds=False), start=start, others=())
    found = schedule(in_mappings(problem, mapping), own)
    plan = found.residency_plan
    return replace(
        found,
        residency_plan=None if plan is None else in_numbers(plan, mapping),
        certificate=found.certificate and _of_all_mappings(problem, found.certificate),
        class_bound=None,
    )


def _of_all_mappings(problem: Problem, found: Certificate) -> Certificate:
    """Return the same dual values in digits that suit the mapping that moves most."""
    coefficients = CostCoefficients(problem, fitting_timeline(problem), found.objective)
    duals = multipliers(found, coefficients)
    return found if duals is None else certificate(problem, found.objective, coefficients, duals)


def _round_in(problem: Problem, request: Request, mapping: Ints) -> ResidencyPlan | None:
    """Round with one mapping of each operation (n,)."""
    own = replace(request, start=None, others=())
    plan = round_columns(in_mappings(problem, mapping), own).result.residency_plan
    return None if plan is None else in_numbers(plan, mapping)
