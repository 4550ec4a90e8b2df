"""The scheduler ``whole``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from formulations.residency.bound.duals import Multipliers, multipliers
from formulations.residency.byte_duals import ByteDuals
from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.whole import timed, traffic
from formulations.residency.whole.intervals import never_resident, savings
from formulations.residency.whole.kept_bound import KeptBound
from formulations.residency.whole.retention import (
    Retention,
    fill,
    is_kept_whole,
    repair,
    residency_plan_of,
)
from formulations.residency.whole.traffic import TrafficProgram
from formulations.residency.whole.transfers import TimedResidencyPlan, WholeCase
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_value, unavoidable
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.problem import Problem
from spmopt.core.result import (
    KEPT_WHOLE,
    LEFT_OUT,
    WHOLE,
    WHOLE_TENSORS,
    Certificate,
    ClassBound,
    Result,
)
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline

_TOO_LARGE = "too large for an integer program: tensors kept greedily"
_LARGEST_DUAL = 2**20
_MOST_GAP_STEPS = 4_000_000  # entries of the traffic program's capacity rows
_MOST_USES = 15_000  # of the time program
_KEEPS_PARTS = (
    "the class bound does not cover this schedule, which also keeps parts of tensors between uses"
)
_LEAST_LOSS = 1e-4
_LEAST_RISE = 1e-4  # of a bound, for which it may be one of fewer schedules
_RELAXATION_SHARE = 0.25  # of the time limit, by counted work, for dual values
_RELAXATION_GAP = 1e-3
_DUALS = "dual values of SPM and DMA time"
_CHARGES = "dual values of SPM and DMA time, and charges on tensors that fit steps together"


def schedule(problem: Problem, request: Request) -> Result:
    """Find the least objective of a whole-tensor schedule in the problem's order.

    Where time has no weight, the integer program is exact, and its own bound is the class
    bound. Where it has, loads and stores happen in a few priced steps of each gap, so that its
    bound is none; the certificate (for all schedules in this order) is that of the fluid
    relaxation, whose dual values name those steps. The class bound is then the relaxation's without
    tensors that can never be resident whole, or one with charges on tensors that are there in a
    step (:mod:`formulations.residency.whole.kept_bound`). Where operations have several mappings,
    each runs in the first that fits.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    case = _WholeSearch(problem, request, fitting_timeline(problem))
    if request.objective.cycle == 0:
        return case.of_traffic()
    return case.of_time()


class _WholeSearch(WholeCase):
    """One problem and request, and the best residency plan so far."""

    def __init__(self, problem: Problem, request: Request, line: Timeline) -> None:
        super().__init__(problem, request, line)
        self.residency_plan: ResidencyPlan | None = None
        self.value: Fraction | None = None
        self.cut_short = False
        self.notes: list[str] = []
        if problem.several_mappings:
            self.notes.append(SEVERAL_MAPPINGS)
        if request.start is not None:
            self.offer(request.start)

    def offer(self, residency_plan: ResidencyPlan) -> None:
        """Keep a legal residency plan that costs less."""
        value = residency_plan_value(self.problem, residency_plan, self.request.objective)
        if self.value is None or value < self.value:
            self.residency_plan, self.value = residency_plan, value
            self.request.report_incumbent(value=value)

    def outcome(
        self, certificate: Certificate | None = None, bound: ClassBound | None = None
    ) -> Result:
        """Return the best residency plan, with its proof."""
        return Result(
            residency_plan=self.residency_plan,
            certificate=certificate,
            class_bound=bound,
            notes=tuple(self.notes),
            cut_short=self.cut_short,
        )

    def of_traffic(self) -> Result:
        """Search where bytes alone have a dual value."""
        duals = ByteDuals.of(self.request.objective, _LARGEST_DUAL)
        saved = savings(self.uses, duals)
        starts = self._starts(saved.keep, saved.enter)
        if int((self.uses.step - self.uses.begin)[self.uses.between_uses].sum()) > _MOST_GAP_STEPS:
            self.notes.append(_TOO_LARGE)
            return self.outcome()
        model = TrafficProgram(self.uses, duals)

        def better(cost: float | None, bound: float) -> None:
            value = None if cost is None else self._value(model, cost)
            least = self._value(model, bound)
            self.request.report_incumbent(value=value, bound=least, of_class=True)

        start = min(starts, key=model.cost)
        found = traffic.search(model, self.request, start, better)
        self.offer(residency_plan_of(self.uses, found.chosen))
        return self.outcome(bound=self._class_bound(model, found.bound, found.solver))

    def of_time(self) -> Result:
        """Search where cycles have a dual value too."""
        saved = savings(self.uses, ByteDuals(into=1, out=1, unit=Fraction(1)))
        # Who is resident can be loaded ahead: have every operand resident that fits.
        starts = self._starts(saved.keep, 1.0 / self.uses.pages)
        if self.uses.step.size > _MOST_USES:
            self.notes.append(_TOO_LARGE)
            return self.outcome()
        duals, certificate = self._relaxation()
        known = self._bound_of_class(certificate)
        kept = self._bound_of_kept(duals, known)
        for each in (known, kept):
            if each is not None:
                self.enough = max(self.enough, each.value * (1 + self.request.tolerance))
        found = timed.search(self, duals, starts, saved.keep)
        if found is not None:
            self.offer(found.residency_plan)
            self._note_rounding(found)
        # A part that would leave and be back in the next step just stays: no longer of that class.
        of_kept = kept is not None and self.value is not None and kept.value <= self.value
        if (
            of_kept
            and self.residency_plan is not None
            and not is_kept_whole(self.uses, self.residency_plan)
        ):
            self.notes.append(_KEEPS_PARTS)
        return self.outcome(certificate=certificate, bound=kept if of_kept else known)

    def _note_rounding(self, found: TimedResidencyPlan) -> None:
        """Return notes on costs that the program ignores, where they count."""
        cost = found.built.value(found.answer.objective or 0.0)
        if found.value != self.value or not cost > 0:
            return
        lost = float(found.value) / cost - 1
        if lost > max(self.request.tolerance, _LEAST_LOSS):
            what = "whole pages and cycles"
            if self.problem.machine.dma_setup_cycles:
                what += " and the set-up of transfers"
            self.notes.append(LEFT_OUT.format(what=what, percent=f"{100 * lost:.2g} %"))

    def _starts(self, keep: Floats, enter: Floats) -> list[Retention]:
        """Keep tensors that fit.

        And tensors that the start plan keeps, then those that fit beside them. Offer both.
        """
        tried = [Retention.nothing(self.uses)]
        own = self.request.start
        if own is not None and np.array_equal(own.steps.operation, self.line.order):
            tried.append(repair(self.uses, Retention.of_residency_plan(self.uses, own), keep))
        starts = [fill(self.uses, chosen, keep, enter) for chosen in tried]
        for chosen in starts:
            self.offer(residency_plan_of(self.uses, chosen))
        return starts

    def _class_bound(self, model: TrafficProgram, bound: float, solver: str) -> ClassBound | None:
        value = self._value(model, bound)
        if value is None:
            return None
        return ClassBound(value=value, holds_for="; ".join((WHOLE, *self.notes)), proved_by=solver)

    def _value(self, model: TrafficProgram, cost: float) -> float | None:
        """Return objective that a cost in units of the model stands for; None if it is infinite."""
        if not np.isfinite(cost):
            return None
        constant = unavoidable(self.request.objective, self.line)
        return float(Fraction(cost) * model.unit + constant)

    def _relaxation(self) -> tuple[Multipliers, Certificate | None]:
        """Return the dual values of the relaxation in pages, and the bound that they prove."""
        # Its bound holds for all schedules, so that it is told as one.
        request = self.request.part(bounds=True).share(_RELAXATION_SHARE)
        search = ColumnGeneration(self.problem, request)
        tolerance = max(_RELAXATION_GAP, request.tolerance)
        search.run(tolerance)
        self.cut_short = search.cut_short(tolerance)
        duals = search.duals or Multipliers.zero(search.coefficients)
        return duals, search.certificate

    def _bound_of_kept(self, duals: Multipliers, least: ClassBound | None) -> ClassBound | None:
        """Search charges on tensors resident in full steps.

        Where the bound ``least`` leaves a gap.
        """
        enough = None if self.value is None else float(self.value) / (1 + self.request.tolerance)
        if (
            self.problem.several_mappings
            or least is None
            or enough is None
            or least.value >= enough
        ):
            return None
        columns = self.nearby(duals).union(
            self.nearby(Multipliers.zero(self.coefficients)), self.line.steps
        )
        request = self.request.of_class().share(_RELAXATION_SHARE)
        search = KeptBound(self, columns, request)
        best = search.search(enough)
        proof = search.certificate()
        # A class of fewer schedules is named only where it proves more.
        if best is None or proof is None or best.bound <= least.value * (1 + _LEAST_RISE):
            return None
        return ClassBound(
            value=best.bound, holds_for=KEPT_WHOLE, proved_by=_CHARGES, certificate=proof
        )

    def _bound_of_class(self, start: Certificate | None) -> ClassBound | None:
        """Search the relaxation without tensors that cannot be resident whole.

        From duals ``start``.
        """
        request = replace(self.request.of_class().share(_RELAXATION_SHARE), duals=start)
        absent = partial(never_resident, self.problem.machine)
        search = ColumnGeneration(self.problem, request, absent=absent)
        search.run(max(_RELAXATION_GAP, request.tolerance))
        given = None if start is None else multipliers(start, search.coefficients)
        if given is not None:
            # They prove at least as much of the class as of all schedules; of several mappings the
            # search follows one.
            search.offer_duals(given)
        if search.certificate is None:
            return None
        return ClassBound(
            value=search.bound,
            holds_for=WHOLE_TENSORS,
            proved_by=_DUALS,
            certificate=replace(search.certificate, holds_for=WHOLE_TENSORS),
        )
