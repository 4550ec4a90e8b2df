"""The scheduler ``whole``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from formulations.classes import WHOLE
from formulations.residency.bound.prices import Multipliers, multipliers
from formulations.residency.byte_prices import BytePrices
from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.whole import timed, traffic
from formulations.residency.whole.absent import never_resident
from formulations.residency.whole.kept_bound import KeptBound
from formulations.residency.whole.retention import (
    Retention,
    filled,
    is_kept_whole,
    plan_of,
    repaired,
)
from formulations.residency.whole.savings import savings
from formulations.residency.whole.traffic import TrafficProgram
from formulations.residency.whole.transfers import TimedPlan, WholeCase
from formulations.solver.program import Floats
from spmopt.assemble.cost import plan_value, unavoidable
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.result import KEPT_WHOLE, LEFT_OUT, WHOLE_TENSORS, Certificate, ClassBound, Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline

_TOO_LARGE = "too large for an integer program: tensors kept greedily"
_LARGEST_PRICE = 2**20
_MOST_GAP_STEPS = 4_000_000  # entries of the traffic program's capacity rows
_MOST_USES = 15_000  # of the time program
_KEEPS_PARTS = (
    "the class bound does not cover this schedule, which also keeps parts of tensors between uses"
)
_LEAST_LOSS = 1e-4
_LEAST_RISE = 1e-4  # of a bound, for which it may be one of fewer schedules
_RELAXATION_SHARE = 0.25  # of the time limit, by counted work, for prices
_RELAXATION_GAP = 1e-3
_PRICES = "prices of SPM and DMA time"
_CHARGES = "prices of SPM and DMA time, and charges on tensors that fit steps together"


def schedule(instance: Instance, request: Request) -> Outcome:
    """Find the least objective of a whole-tensor schedule in the instance's order.

    Where time has no weight, the integer program is exact, and its own bound is the class
    bound. Where it has, loads and stores happen in a few priced steps of each gap, so that its
    bound is none; the certificate (for all schedules in this order) is that of the fluid
    relaxation, whose prices name those steps. The class bound is then that of the relaxation
    without what can never be resident whole, or one with charges on tensors that are there in a
    step (:mod:`formulations.residency.whole.kept_bound`). Where operations have several modes,
    each runs in the first that fits.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    case = _WholeSearch(instance, request, fitting_timeline(instance))
    if request.objective.cycle == 0:
        return case.of_traffic()
    return case.of_time()


class _WholeSearch(WholeCase):
    """One instance and request, and the best plan so far."""

    def __init__(self, instance: Instance, request: Request, line: Timeline) -> None:
        super().__init__(instance, request, line)
        self.plan: Plan | None = None
        self.value: Fraction | None = None
        self.cut_short = False
        self.notes: list[str] = []
        if instance.several_modes:
            self.notes.append(SEVERAL_MODES)
        if request.start is not None:
            self.offer(request.start)

    def offer(self, plan: Plan) -> None:
        """Keep a legal plan that costs less."""
        value = plan_value(self.instance, plan, self.request.objective)
        if self.value is None or value < self.value:
            self.plan, self.value = plan, value
            self.request.report_incumbent(value=value)

    def outcome(
        self, certificate: Certificate | None = None, bound: ClassBound | None = None
    ) -> Outcome:
        """Return the best plan, with what is proved."""
        return Outcome(
            plan=self.plan,
            certificate=certificate,
            class_bound=bound,
            notes=tuple(self.notes),
            cut_short=self.cut_short,
        )

    def of_traffic(self) -> Outcome:
        """Search where bytes alone have a price."""
        prices = BytePrices.of(self.request.objective, _LARGEST_PRICE)
        saved = savings(self.uses, prices)
        starts = self._starts(saved.keep, saved.enter)
        if int((self.uses.step - self.uses.begin)[self.uses.crossed].sum()) > _MOST_GAP_STEPS:
            self.notes.append(_TOO_LARGE)
            return self.outcome()
        model = TrafficProgram(self.uses, prices)

        def better(cost: float | None, bound: float) -> None:
            value = None if cost is None else self._value(model, cost)
            least = self._value(model, bound)
            self.request.report_incumbent(value=value, bound=least, of_class=True)

        start = min(starts, key=model.cost)
        found = traffic.search(model, self.request, start, better)
        self.offer(plan_of(self.uses, found.chosen))
        return self.outcome(bound=self._class_bound(model, found.bound, found.solver))

    def of_time(self) -> Outcome:
        """Search where cycles have a price too."""
        saved = savings(self.uses, BytePrices(into=1, out=1, unit=Fraction(1)))
        # Who is resident can be loaded ahead: have every operand resident that fits.
        starts = self._starts(saved.keep, 1.0 / self.uses.pages)
        if self.uses.step.size > _MOST_USES:
            self.notes.append(_TOO_LARGE)
            return self.outcome()
        prices, certificate = self._relaxation()
        known = self._bound_of_class(certificate)
        kept = self._bound_of_kept(prices, known)
        for each in (known, kept):
            if each is not None:
                self.enough = max(self.enough, each.value * (1 + self.request.tolerance))
        found = timed.search(self, prices, starts, saved.keep)
        if found is not None:
            self.offer(found.plan)
            self._note_rounding(found)
        # A part that would leave and be back in the next step just stays: no longer of that class.
        of_kept = kept is not None and self.value is not None and kept.value <= self.value
        if of_kept and self.plan is not None and not is_kept_whole(self.uses, self.plan):
            self.notes.append(_KEEPS_PARTS)
        return self.outcome(certificate=certificate, bound=kept if of_kept else known)

    def _note_rounding(self, found: TimedPlan) -> None:
        """Say what the program does not see, where the result is from it and this counts."""
        cost = found.built.value(found.answer.objective or 0.0)
        if found.value != self.value or not cost > 0:
            return
        lost = float(found.value) / cost - 1
        if lost > max(self.request.tolerance, _LEAST_LOSS):
            what = "whole pages and cycles"
            if self.instance.machine.dma_setup_cycles:
                what += " and the set-up of transfers"
            self.notes.append(LEFT_OUT.format(what=what, percent=f"{100 * lost:.2g} %"))

    def _starts(self, keep: Floats, enter: Floats) -> list[Retention]:
        """Keep what fits; and what the start plan keeps, then what fits beside it. Offer both."""
        tried = [Retention.nothing(self.uses)]
        own = self.request.start
        if own is not None and np.array_equal(own.steps.operation, self.line.order):
            tried.append(repaired(self.uses, Retention.of_plan(self.uses, own), keep))
        starts = [filled(self.uses, chosen, keep, enter) for chosen in tried]
        for chosen in starts:
            self.offer(plan_of(self.uses, chosen))
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
        """Return the prices of the relaxation in pages, and the bound that they prove."""
        request = self.request.part(bounds=True).share(_RELAXATION_SHARE)
        search = ColumnGeneration(self.instance, request)
        tolerance = max(_RELAXATION_GAP, request.tolerance)
        search.run(tolerance)
        self.cut_short = search.cut_short(tolerance)
        prices = search.prices or Multipliers.zero(search.coefficients)
        return prices, search.certificate

    def _bound_of_kept(self, prices: Multipliers, least: ClassBound | None) -> ClassBound | None:
        """Search charges on what is there in full steps, where the bound ``least`` leaves a gap."""
        enough = None if self.value is None else float(self.value) / (1 + self.request.tolerance)
        if self.instance.several_modes or least is None or enough is None or least.value >= enough:
            return None
        columns = self.nearby(prices).union(
            self.nearby(Multipliers.zero(self.coefficients)), self.line.steps
        )
        request = self.request.of_class().share(_RELAXATION_SHARE)
        search = KeptBound(self, columns, request)
        best = search.search(enough)
        proof = search.certificate()
        if best is None or proof is None or best.bound <= least.value * (1 + _LEAST_RISE):
            return None
        return ClassBound(
            value=best.bound, holds_for=KEPT_WHOLE, proved_by=_CHARGES, certificate=proof
        )

    def _bound_of_class(self, start: Certificate | None) -> ClassBound | None:
        """Search the relaxation without what cannot be resident whole, from prices ``start``."""
        request = replace(self.request.of_class().share(_RELAXATION_SHARE), prices=start)
        absent = partial(never_resident, self.instance.machine)
        search = ColumnGeneration(self.instance, request, absent=absent)
        search.run(max(_RELAXATION_GAP, request.tolerance))
        given = None if start is None else multipliers(start, search.coefficients)
        if given is not None:
            # They prove at least as much of the class as of all schedules; of several modes the
            # search follows one.
            search.offer_prices(given)
        if search.certificate is None:
            return None
        return ClassBound(
            value=search.bound,
            holds_for=WHOLE_TENSORS,
            proved_by=_PRICES,
            certificate=replace(search.certificate, holds_for=WHOLE_TENSORS),
        )
