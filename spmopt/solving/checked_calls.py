"""One scheduler on one problem: called, its schedule verified, its bounds evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from time import monotonic

from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.clock import cpu_s
from spmopt.core.errors import (
    ContradictionError,
    InfeasibleError,
    InputError,
    ScheduleError,
    SolverError,
)
from spmopt.core.params import SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, End, Result, Status
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.core.scheduler import Incumbent, Request
from spmopt.schedulers.registry import BOUNDER, Kind, SchedulerEntry, find
from spmopt.solving.records import Bound
from spmopt.verifier import bound, require_legal

RESIDENCY = "residency"
"""Schedules the layer-by-layer plan, from which a fusion search starts."""
TENSORS = "residency:granularity=tensor"
"""The same with whole tensors."""
_REFUSED = "no bound: its certificate proves nothing ({}); please report this error of the program"
_WITHOUT = "{} (page size or costs too large); the schedule is the best one found without it"


class CheckedCalls:
    """Calls schedulers, each from explicit inputs alone, and checks their results.

    Attributes
    ----------
    remainder
        The problem without tensors that bypass the scratchpad; schedulers see only this.
    asked
        Scheduler that news are reported for.
    faults
        Notes on certificates of the program that the verifier refuses.
    proved
        Values of certificates that were evaluated, by identity and class: that takes a while.
    """

    def __init__(self, problem: Problem, request: Request) -> None:
        self.faults: list[str] = []
        self.proved: dict[tuple[int, str], Bound] = {}  # which hold the certificates
        self.problem = problem
        self.remainder = without_bypass(problem)
        self.request = request
        self.asked = find(BOUNDER)

    @property
    def params(self) -> SolveParams:
        """Parameters of the search."""
        return self.request.params

    @property
    def many(self) -> bool:
        """Whether there are more operations than all policies are run on."""
        return len(self.problem.operations) > self.params.all_policies_operations

    def call(
        self,
        entry: SchedulerEntry,
        starts: Sequence[Result] = (),
        spent_s: float = 0.0,
        *,
        duals: Certificate | None = None,
        first: Callable[[bool], Result] | None = None,
    ) -> Result:
        """Run one scheduler from the plans of ``starts``, the best first, and verify its schedule.

        ``spent_s`` of its time limit are over; ``duals``: those to search from, in place of the
        request's; ``first``: as of a request, which may add to ``starts``.
        """

        def report(message: str, done: float | None) -> None:
            self.request.report(f"{entry.name}: {message}", done)

        report("scheduling", None)
        scheduler = entry.load()
        wall, cpu = monotonic(), cpu_s()
        plans = [each.residency_plan for each in starts if each.residency_plan is not None]
        limit_s, count = self.request.time_limit_s, len(self.problem.operations)
        # Verification and exact bounds take seconds on large problems, outside the scheduler.
        finish_s = self.params.finish_s * count if self.many else 0.0
        request = replace(
            self.request,
            # Never less than half: a short limit would else leave the scheduler nothing.
            time_limit_s=max(limit_s - finish_s, limit_s / 2),
            started=wall - spent_s,
            start=plans[0] if plans else None,
            others=tuple(plans[1:]),
            duals=duals or self.request.duals,
            first=first,
            report=report,
            on_incumbent=self._tell_of_remainder,
        )
        try:
            answer = self._certify(scheduler(self.remainder.problem, request))
        except InfeasibleError as error:
            answer = Result(status=Status.INFEASIBLE, notes=(str(error),))
        except SolverError as error:
            # ``starts`` may have grown.
            plan = starts[0].residency_plan if starts else None
            answer = Result(residency_plan=plan, notes=(_WITHOUT.format(error),))
        # Nothing but decisions and proofs is taken from a scheduler.
        found = Result(
            scheduler=entry.name,
            objective=self.request.objective,
            status=Status.INFEASIBLE if answer.status is Status.INFEASIBLE else Status.UNKNOWN,
            solve_s=monotonic() - wall,
            cpu_s=cpu_s() - cpu,
            certificate=answer.certificate,
            class_bound=answer.class_bound,
            notes=answer.notes,
            fused=answer.fused,
            fusion_certificate=answer.fusion_certificate,
            cut_short=answer.cut_short,
            end=self._end_of(entry, request, answer),
        )
        plan, schedule = answer.residency_plan, answer.schedule
        if plan is None and schedule is None:
            return found
        if schedule is None:  # an optimizer may return a start of its own
            for start in starts:
                # Identity: the same plan needs no second verification.
                if start.verified and start.residency_plan is plan:
                    return found.with_schedule_of(start)
        report("verifying", None)
        if schedule is not None:
            return found.with_schedule_of(self.check(entry.name, self.problem, schedule, None))
        on = self.problem if found.fused is None else found.fused
        return found.with_schedule_of(self.check(entry.name, on, None, plan))

    def _end_of(self, entry: SchedulerEntry, request: Request, answer: Result) -> End:
        """Return why a scheduler that has just answered ended; only searches end for a reason."""
        if entry.kind is Kind.POLICY:
            return End.NONE
        if answer.end is End.NONE and not answer.cut_short and request.remaining_s() > 0:
            return End.EXHAUSTED
        return End.STOPPED if request.stop() else End.LIMIT

    def _certify(self, answer: Result) -> Result:
        """Replace the value of a class bound by the exact bound of its dual values."""
        known = answer.class_bound
        if known is None:
            return answer
        if known.certificate is None:
            # The scheduler bounded the remainder; bypassing tensors cost the same in each schedule.
            streams = float(self.remainder.streams.value(self.request.objective))
            return replace(answer, class_bound=replace(known, value=known.value + streams))
        proved = self.evaluate(known.certificate, known.holds_for)
        bound = None if proved is None else replace(known, value=float(proved.value))
        return replace(answer, class_bound=bound)

    def check(
        self,
        origin: str,
        problem: Problem,
        schedule: Schedule | None,
        residency_plan: ResidencyPlan | None,
    ) -> Result:
        """Verify a schedule, or the one that follows from a plan, and value it.

        Raises
        ------
        ContradictionError
            It breaks a rule.
        """
        try:
            if schedule is None:
                assert residency_plan is not None
                schedule = assemble(problem, residency_plan)
            totals = require_legal(problem, schedule).totals
        except ScheduleError as error:
            raise ContradictionError(f"scheduler {origin}: {error}") from None
        # Unreachable if the verifier is right; never value a schedule without its totals.
        if totals is None:
            raise ContradictionError(f"scheduler {origin}: the verifier gave no totals")
        return Result(
            scheduler=origin,
            origin=origin,
            objective=self.request.objective,
            residency_plan=residency_plan,
            schedule=schedule,
            totals=totals,
            value=totals.value(self.request.objective),
            verified=True,
        )

    def value_of_proof(self, evaluate: Callable[[], Fraction]) -> Fraction | None:
        """Return the bound of a certificate of the program; None, with a note, if it is refused.

        A faulty certificate does not make its schedule illegal.
        """
        try:
            return evaluate()
        # A faulty certificate may also overflow or divide by zero; its schedule stays legal.
        except (InputError, ArithmeticError) as error:
            fault = _REFUSED.format(" ".join(str(error).split()))
            self.faults += [] if fault in self.faults else [fault]
            return None

    def evaluate(self, certificate: Certificate, holds_for: str = "") -> Bound | None:
        """Evaluate a certificate exactly; None if it is refused, see :meth:`value_of_proof`."""
        value = self.value_of_proof(lambda: self.require_proof(certificate, holds_for))
        return None if value is None else Bound(value=value, certificate=certificate)

    def require_proof(self, certificate: Certificate, holds_for: str = "") -> Fraction:
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
        key = id(certificate), holds_for
        if key in self.proved:
            return self.proved[key].value
        self.request.report("checking the bound", None)
        value = bound(self.problem, certificate, holds_for)
        self.proved[key] = Bound(value=value, certificate=certificate)
        if holds_for:
            self.tell(Incumbent(bound=value, of_class=True, certified=True))
        elif certificate.order is None:
            told = Incumbent(bound=value, certified=True)
            asked = RESIDENCY if self.asked.fusion_plans else self.asked.name
            self.request.on_incumbent(replace(told, scheduler=asked))
        return value

    def _tell_of_remainder(self, news: Incumbent) -> None:
        """Tell news of a search that does not know of the streams that are left out."""
        streams = self.remainder.streams.value(self.request.objective)
        if streams:
            value = None if news.value is None else Fraction(news.value) + streams
            bound = None if news.bound is None else Fraction(news.bound) + streams
            news = replace(news, value=value, bound=bound)
        self.tell(news)

    def tell(self, news: Incumbent) -> None:
        """Report news of the scheduler that was asked for."""
        asked = self.asked
        self.request.on_incumbent(
            replace(news, scheduler=asked.name, of_fusion_plans=asked.fusion_plans)
        )

    def tell_schedule(self, result: Result, *, other_class: bool = False) -> None:
        """Tell of a verified schedule."""
        other_order = result.order is not None
        news = Incumbent(value=result.value, verified=True, other_order=other_order)
        self.tell(replace(news, other_class=other_class))
