"""One scheduler on one problem: called, its schedule verified, its bounds evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from time import monotonic

from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.clock import cpu_s
from spmopt.core.errors import ContradictionError, InfeasibleError, InputError, ScheduleError
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Outcome
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.core.scheduler import Incumbent, Request
from spmopt.schedulers.registry import BOUNDER, SchedulerEntry, find
from spmopt.solving.params import SolveParams
from spmopt.solving.records import Bound, Run, VerifiedSchedule
from spmopt.verifier import bound, require_legal

RESIDENCY = "residency"
"""Schedules the layer-by-layer plan, from which who chooses a fusion plan starts."""
_REFUSED = "no bound: its certificate proves nothing ({}); please report this error of the program"


class CheckedCalls:
    """Calls schedulers, each from nothing but what it is given, and checks what they return.

    Attributes
    ----------
    remainder
        The problem without what bypasses the scratchpad, which schedulers do not see.
    asked
        Whom news are of.
    faults
        Notes on certificates of the program that the verifier refuses.
    """

    def __init__(self, problem: Problem, request: Request, params: SolveParams) -> None:
        self.params = params
        self.faults: list[str] = []
        self.problem = problem
        self.remainder = without_bypass(problem)
        self.request = request
        self.asked = find(BOUNDER)

    @property
    def many(self) -> bool:
        """Whether there are more operations than all policies are run on."""
        return len(self.problem.operations) > self.params.all_policies_operations

    @property
    def commands_cost(self) -> bool:
        """Whether time is the objective, step by step, and commands have a set-up time."""
        aim = self.request.objective
        timed = aim.weighted == {"cycle"} and not aim.replayed
        return timed and self.problem.machine.dma_setup_cycles > 0

    def call(
        self,
        entry: SchedulerEntry,
        starts: Sequence[VerifiedSchedule | ResidencyPlan] = (),
        spent_s: float = 0.0,
        *,
        duals: Certificate | None = None,
    ) -> Run:
        """Run one scheduler from the plans of ``starts``, the best first, and verify its schedule.

        ``starts``: verified schedules, or plans that are not. ``spent_s`` of its time limit are
        over; ``duals``: those to search from, in place of the request's.
        """

        def report(message: str, done: float | None) -> None:
            self.request.report(f"{entry.name}: {message}", done)

        report("scheduling", None)
        scheduler = entry.load()
        wall, cpu = monotonic(), cpu_s()
        known = {
            id(start.residency_plan): start
            for start in starts
            if isinstance(start, VerifiedSchedule)
        }
        residency_plans = [
            residency_plan
            for start in starts
            if (
                residency_plan := start
                if isinstance(start, ResidencyPlan)
                else start.residency_plan
            )
            is not None
        ]
        start, others = (
            (residency_plans[0] if residency_plans else None),
            tuple(residency_plans[1:]),
        )
        limit_s, count = self.request.time_limit_s, len(self.problem.operations)
        finish_s = self.params.finish_s * count if self.many else 0.0
        request = replace(
            self.request,
            time_limit_s=max(limit_s - finish_s, limit_s / 2),
            started=wall - spent_s,
            start=start,
            others=others,
            duals=duals or self.request.duals,
            report=report,
            on_incumbent=self._tell_of_remainder,
        )
        outcome: Outcome | None = None
        notes: tuple[str, ...] = ()
        try:
            outcome = self._certify(scheduler(self.remainder.problem, request))
            notes = outcome.notes
        except InfeasibleError as error:
            notes = (str(error),)
        wall, cpu = monotonic() - wall, cpu_s() - cpu
        legal = None
        if outcome is not None and outcome.schedule is not None:
            report("verifying", None)
            legal = self.check(entry.name, None, outcome.schedule, self.problem)
        elif outcome is not None and outcome.residency_plan is not None:
            legal = known.get(id(outcome.residency_plan))
            if legal is None:
                report("verifying", None)
                on = self.problem if outcome.fusion is None else outcome.fusion.problem
                legal = self._verify(entry.name, outcome.residency_plan, on)
        return Run(entry=entry, outcome=outcome, legal=legal, solve_s=wall, cpu_s=cpu, notes=notes)

    def _certify(self, outcome: Outcome) -> Outcome:
        """Put what its dual values prove, exactly, in place of the value of a class bound."""
        known = outcome.class_bound
        if known is None:
            return outcome
        if known.certificate is None:
            streams = float(self.remainder.streams.value(self.request.objective))
            return replace(outcome, class_bound=replace(known, value=known.value + streams))
        proved = self.evaluate(known.certificate, known.holds_for)
        if proved is None:
            return replace(outcome, class_bound=None)
        return replace(outcome, class_bound=replace(known, value=float(proved.value)))

    def _verify(
        self, origin: str, residency_plan: ResidencyPlan, problem: Problem
    ) -> VerifiedSchedule:
        try:
            schedule = assemble(problem, residency_plan)
        except ScheduleError as error:
            raise ContradictionError(f"scheduler {origin}: {error}") from None
        return self.check(origin, residency_plan, schedule, problem)

    def check(
        self,
        origin: str,
        residency_plan: ResidencyPlan | None,
        schedule: Schedule,
        problem: Problem,
    ) -> VerifiedSchedule:
        """Verify a schedule, and value it.

        Raises
        ------
        ContradictionError
            It breaks a rule.
        """
        try:
            totals = require_legal(problem, schedule).totals
        except ScheduleError as error:
            raise ContradictionError(f"scheduler {origin}: {error}") from None
        if totals is None:
            raise ContradictionError(f"scheduler {origin}: the verifier gave no totals")
        value = totals.value(self.request.objective)
        return VerifiedSchedule(
            origin=origin,
            residency_plan=residency_plan,
            schedule=schedule,
            totals=totals,
            value=value,
        )

    def proved(self, evaluate: Callable[[], Fraction]) -> Fraction | None:
        """Return the bound of a certificate of the program; None, with a note, if it is refused.

        Whatever is wrong with a certificate, its schedule is legal all the same.
        """
        try:
            return evaluate()
        except (InputError, ArithmeticError) as error:
            fault = _REFUSED.format(" ".join(str(error).split()))
            self.faults += [] if fault in self.faults else [fault]
            return None

    def evaluate(self, certificate: Certificate, holds_for: str = "") -> Bound | None:
        """Evaluate a certificate exactly; None if it is refused, see :meth:`proved`."""
        found: list[Bound] = []

        def evaluated() -> Fraction:
            found.append(self.require_proof(certificate, holds_for))
            return found[0].value

        self.proved(evaluated)
        return found[0] if found else None

    def require_proof(self, certificate: Certificate, holds_for: str = "") -> Bound:
        """Evaluate a certificate exactly; for a class if ``holds_for`` names one.

        Raises
        ------
        InputError
            It proves nothing.
        ContradictionError
            It is for another objective.
        """
        if certificate.objective != self.request.objective:
            raise ContradictionError(
                "a certificate is for another objective than the one asked for"
            )
        self.request.report("checking the bound", None)
        value = bound(self.problem, certificate, holds_for)
        if holds_for:
            self.tell(Incumbent(bound=value, of_class=True, certified=True))
        elif certificate.order is None:
            told = Incumbent(bound=value, certified=True)
            asked = RESIDENCY if self.asked.fusion_plans else self.asked.name
            self.request.on_incumbent(replace(told, scheduler=asked))
        return Bound(value=value, certificate=certificate)

    def _tell_of_remainder(self, news: Incumbent) -> None:
        """Tell news of a search that does not know of the streams that are left out."""
        streams = self.remainder.streams.value(self.request.objective)
        if streams:
            value = None if news.value is None else Fraction(news.value) + streams
            bound = None if news.bound is None else Fraction(news.bound) + streams
            news = replace(news, value=value, bound=bound)
        self.tell(news)

    def tell(self, news: Incumbent) -> None:
        """Tell news of who was asked."""
        asked = self.asked
        self.request.on_incumbent(
            replace(news, scheduler=asked.name, of_fusion_plans=asked.fusion_plans)
        )

    def tell_legal(self, legal: VerifiedSchedule, *, other_class: bool = False) -> None:
        """Tell of a verified schedule."""
        other_order = legal.order is not None
        news = Incumbent(value=legal.value, verified=True, other_order=other_order)
        self.tell(replace(news, other_class=other_class))
