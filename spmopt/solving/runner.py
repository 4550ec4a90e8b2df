"""Run schedulers on one instance: their starts, checks, and bounds of each order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from time import monotonic

from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.clock import cpu_s
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.moved_whole import moved_whole
from spmopt.core.order import other_order, reordered
from spmopt.core.result import INTERRUPTED, OUT_OF_TIME, Certificate, Outcome
from spmopt.core.schedule import Plan, Schedule
from spmopt.core.scheduler import Incumbent, Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import BOUNDER, Kind, SchedulerEntry, find
from spmopt.solving.barriers import (
    NOTHING_BETTER,
    by_steps,
    no_worse,
    no_worse_than_list,
    replayed,
    with_barriers,
)
from spmopt.solving.order_moves import Schedule as Scheduling
from spmopt.solving.orders import JUDGE, Judges, searched
from spmopt.solving.records import (
    Bound,
    Key,
    Proof,
    Run,
    VerifiedSchedule,
    failure_of,
    of_other_class,
    order_key,
    proofs_of,
    within_class,
)
from spmopt.verifier import bound, require_legal
from spmopt.verifier.cover_bound import cover_bound

_MANY = 5_000
"""Operations above which a formulation starts from one attempt of one policy: all those of
``page`` take as long there as it takes to close the gap to 1 %."""
_FEW = 5_000
"""Operations of a cover's instance on which policies are run beside: a second at most."""
_LISTER = "page"
"""Schedules the list as given, from which who chooses a cover starts."""
_LIST_SHARE = 0.2
"""Of the time limit of who chooses a cover: for the list as given."""
_LIST_TOLERANCE = 1e-3
"""Of that list: covers differ by more."""
_START_SHARE = 0.25
"""Of the time limit of who minimizes the replay: for each optimizer that it starts from."""
_ORDER_SHARE, _LARGE_ORDER_SHARE, _FEW_TO_ORDER = 0.25, 0.9, 100
"""Of that limit, to search orders: where more operations than those there is no other search."""
_ORDER_WORK = 1e6
"""Of moves of operations: as much as there is time for."""
_FINISH_S = 7e-5
"""Of an operation: to assemble a schedule, to verify it, and to evaluate its bound."""


def _policy_key(entry: SchedulerEntry) -> tuple[str, int]:
    """Tell policies apart that bear one name, as all lambdas do."""
    return entry.name, 0 if isinstance(entry.target, str) else id(entry.target)


class ScheduleRunner:
    """Runs schedulers on one instance, each policy once."""

    def __init__(self, instance: Instance, request: Request) -> None:
        self._instance = instance
        self._remainder = without_bypass(instance)
        self._request = request
        self._policies: dict[tuple[str, int], Run] = {}
        self._page: Run | None = None
        self._replayed: dict[str, Run] = {}
        self._of_steps: dict[str, Certificate] = {}
        self._steps: ScheduleRunner | None = None
        self._asked = find(BOUNDER)

    def run_asked(self, entry: SchedulerEntry) -> Run:
        """Run a scheduler that was asked for; news of those that it starts from are its own."""
        self._asked = entry
        if not entry.covers:  # which begins with another
            self._tell(Incumbent())
        found = self.run(entry) if entry.is_own else self._run_foreign(entry)
        if found.legal is not None:
            own_class = found.outcome is not None and found.outcome.class_bound is not None
            self._tell_legal(found.legal, other_class=entry.replayed and not own_class)
        return found

    def _run_foreign(self, entry: SchedulerEntry) -> Run:
        """Run a scheduler of a package or a user, whose faults do not end the others."""
        wall, cpu = monotonic(), cpu_s()
        try:
            found = self.run(entry)
            for certificate, _ in proofs_of([found]):
                self._evaluate(certificate)
        except Exception as error:  # whatever a policy does
            failure = failure_of(entry.name, error)
        else:
            return found
        self._policies.pop(_policy_key(entry), None)
        return Run(
            entry=entry,
            outcome=None,
            legal=None,
            solve_s=monotonic() - wall,
            cpu_s=cpu_s() - cpu,
            notes=(str(failure).removeprefix(f"scheduler {entry.name}: "),),
            failure=failure,
        )

    def _tell_of_remainder(self, news: Incumbent) -> None:
        """Tell news of a search that does not know of the streams that are left out."""
        streams = self._remainder.streams.value(self._request.objective)
        if streams:
            value = None if news.value is None else Fraction(news.value) + streams
            bound = None if news.bound is None else Fraction(news.bound) + streams
            news = replace(news, value=value, bound=bound)
        self._tell(news)

    def _tell(self, news: Incumbent) -> None:
        asked = self._asked
        self._request.on_incumbent(replace(news, scheduler=asked.name, of_covers=asked.covers))

    def _tell_legal(self, legal: VerifiedSchedule, *, other_class: bool = False) -> None:
        other_order = legal.order is not None
        news = Incumbent(value=legal.value, verified=True, other_order=other_order)
        self._tell(replace(news, other_class=other_class))

    def run(self, entry: SchedulerEntry) -> Run:
        """Run one scheduler and verify its schedule."""
        if by_steps(entry, self._request.objective):
            self._replayed[entry.name] = found = self._run_by_steps(entry)
            return found
        if entry.covers:
            return self._cover(entry)
        if entry.kind is Kind.FORMULATION:
            found = self._optimize(entry)
            self._page = found if entry.name == _LISTER else self._page
            return found
        if entry.kind is Kind.RELAXATION:
            return self._call(entry)
        key = _policy_key(entry)
        if key not in self._policies:
            self._policies[key] = self._call(entry)
        return self._policies[key]

    def alone(self, entry: SchedulerEntry) -> Run:
        """Run one scheduler from nothing but the prices of the request, and verify its schedule."""
        return self._call(entry)

    def _run_by_steps(self, entry: SchedulerEntry, share: float = 1.0) -> Run:
        """Run an optimizer of steps, in a share of the time, and value what it finds by the replay.

        It is no worse than the policies that it starts from there either.
        """
        objective = self._request.objective
        request = with_barriers(self._request)
        runner = ScheduleRunner(
            self._instance, replace(request, time_limit_s=share * request.time_limit_s)
        )
        if self._steps is not None:
            runner._policies, runner._page = self._steps._policies, self._steps._page
        self._steps = runner if share == 1 else self._steps
        made = runner.run(entry)
        self._keep_prices(made)
        run = replayed(made, objective)
        if entry.covers:
            self._keep_prices(runner._page)
            self._page = None if runner._page is None else replayed(runner._page, objective)
            return no_worse_than_list(run, self._page)
        if entry.granularity == "contiguous":  # whose addresses no policy has
            return run
        return no_worse(run, runner._legal(entry), objective)

    def _keep_prices(self, run: Run | None) -> None:
        """Keep prices of steps, to begin those of the replay from."""
        if run is not None and run.outcome is not None and run.outcome.certificate is not None:
            self._of_steps[run.entry.name] = run.outcome.certificate

    def best_bounds(self, runs: Sequence[Run]) -> dict[Key, Bound]:
        """Evaluate every certificate exactly; the best one of each order.

        The relaxation is asked for one of each order that has schedules but no certificate.
        """
        proofs: dict[Key, list[Proof]] = {}
        for proof in proofs_of(runs):
            proofs.setdefault(order_key(proof[0].order), []).append(proof)
        for run in runs:
            known = run.pieces is not None or order_key(run.order) in proofs
            if run.legal is not None and not known:
                proofs[order_key(run.order)] = self._relax(
                    run.order, self._of_steps.get(run.entry.name)
                )
        return {key: self._best(found) for key, found in proofs.items() if found}

    def bound_of_cover(self, run: Run) -> Bound | None:
        """Evaluate what a run proves of the instance of its cover."""
        if run.pieces is None or run.outcome is None:
            return None
        if self._request.objective.replayed:
            runner = ScheduleRunner(run.pieces.instance, self._request.part(bounds=False))
            proofs = runner._relax(None, self._of_steps.get(run.entry.name))
            return runner._best(proofs) if proofs else None
        if run.outcome.certificate is None:
            return None
        value = bound(run.pieces.instance, run.outcome.certificate)
        cut_short = (INTERRUPTED if self._request.stop() else OUT_OF_TIME,)
        notes = cut_short if run.outcome.cut_short else ()
        return Bound(value=value, certificate=run.outcome.certificate, notes=notes)

    def bound_of_covers(self, runs: Sequence[Run]) -> Fraction | None:
        """Evaluate what runs prove of all covers, exactly; the best of it."""
        found = []
        for run in runs:
            if run.pieces is not None and run.pieces.certificate is not None:
                self._request.report("checking the bound over all covers", None)
                found.append(cover_bound(run.pieces.listing, run.pieces.certificate))
        return max(found, default=None)

    def _relax(self, order: Ints | None, prices: Certificate | None = None) -> list[Proof]:
        if order is None:
            return proofs_of([self._call(find(BOUNDER), prices=prices)])
        request = self._request.part(bounds=False)  # news are of the listed order
        runner = ScheduleRunner(reordered(self._instance, order), request)
        found = proofs_of([runner.run(find(BOUNDER))])
        return [(replace(certificate, order=order), cut_short) for certificate, cut_short in found]

    def _best(self, proofs: Sequence[Proof]) -> Bound:
        """The best one; a search that was finished leaves little to be raised by the others."""
        found = [self._evaluate(certificate) for certificate, _ in proofs]
        best = max(found, key=lambda each: each.value)
        if not all(cut_short for _, cut_short in proofs):
            return best
        return replace(best, notes=(INTERRUPTED if self._request.stop() else OUT_OF_TIME,))

    def _evaluate(self, certificate: Certificate, holds_for: str = "") -> Bound:
        if certificate.objective != self._request.objective:
            raise ScheduleError("a certificate is for another objective than the one asked for")
        self._request.report("checking the bound", None)
        value = bound(self._instance, certificate, holds_for)
        if holds_for:
            self._tell(Incumbent(bound=value, of_class=True, certified=True))
        elif certificate.order is None:
            told = Incumbent(bound=value, certified=True)
            asked = _LISTER if self._asked.covers else self._asked.name
            self._request.on_incumbent(replace(told, scheduler=asked))
        return Bound(value=value, certificate=certificate)

    def _optimize(self, entry: SchedulerEntry) -> Run:
        """From the best start on, and never worse; those that it asks for count in its seconds."""
        starts = [self._call(replace(entry, target=entry.alone))] if entry.alone else []
        if starts and starts[0].legal is not None:
            return starts[0]
        spent_s = sum(run.solve_s for run in starts)
        spent_s += self._run_starts(entry, starts)
        legal, wall, cpu = self._legal(entry, starts), monotonic(), cpu_s()
        if entry.replayed:
            legal = sorted([*legal, *self._of_other_orders()], key=lambda each: each.value)
        wall, cpu = monotonic() - wall, cpu_s() - cpu
        starts_count = legal and entry.granularity != "contiguous"  # whose addresses no policy has
        if starts_count:
            of_class = not entry.replayed or moved_whole(self._instance, legal[0].schedule)
            self._tell_legal(legal[0], other_class=not of_class)
        many = len(self._instance.operations) > _MANY
        run = self._call(entry, legal, spent_s + wall, attempt=many and not legal)
        run = replace(
            run,
            solve_s=run.solve_s + wall + sum(start.solve_s for start in starts),
            cpu_s=run.cpu_s + cpu + sum(start.cpu_s for start in starts),
        )
        return self._no_worse(run, legal[0]) if starts_count else run

    def _of_other_orders(self) -> list[VerifiedSchedule]:
        """Search orders by an optimizer of steps, for who decides the order too."""
        few = len(self._instance.operations) <= _FEW_TO_ORDER
        share = _ORDER_SHARE if few else _LARGE_ORDER_SHARE
        objective, request = self._request.objective, with_barriers(self._request)
        limit_s = share * self._request.time_limit_s
        request = replace(request, time_limit_s=limit_s, started=monotonic())
        self._request.report("searching orders", None)

        def by(name: str) -> Scheduling:
            return lambda on, asked: ScheduleRunner(on, asked).alone(find(name))

        def value(run: Run) -> Fraction | None:
            return None if run.legal is None else run.legal.totals.value(objective)

        judges = Judges(quick=by(JUDGE), near=by(_LISTER), value=value)
        best = searched(self._instance, judges, request, work=_ORDER_WORK)
        if best is None or best.run.legal is None:
            return []
        self._keep_prices(best.run)
        found = best.run.legal
        steps = found.schedule.steps
        own = replace(steps, operation=best.order[steps.operation])
        plan = None if found.plan is None else replace(found.plan, steps=own)
        schedule = replace(found.schedule, steps=own)
        return [self._check(f"{_LISTER} in another order", plan, schedule, self._instance)]

    def _run_starts(self, entry: SchedulerEntry, starts: list[Run]) -> float:
        """Run what ``entry`` starts from, into ``starts``; return the seconds of its limit spent.

        Optimizers that have run before, and policies, take none of them.
        """
        many, spent_s = len(self._instance.operations) > _MANY, 0.0
        for start in map(find, self._starts(entry)):
            optimizes = start.kind is not Kind.POLICY
            if many and not optimizes:
                continue
            if self._request.stop() and any(run.legal is not None for run in starts):
                break
            known = self._replayed.get(start.name)
            if known is None:
                known = self._run_by_steps(start, _START_SHARE) if optimizes else self.run(start)
                spent_s += known.solve_s if optimizes else 0.0
            starts.append(known)
        return spent_s

    def _no_worse(self, run: Run, best: VerifiedSchedule) -> Run:
        """Return a run of an optimizer, with its best start where it has found nothing better."""
        joint = run.entry.replayed  # searches a class that its starts need not be of
        is_start = joint and run.legal is best
        if run.legal is not None and run.legal.value <= best.value and not is_start:
            return run
        if run.outcome is None:
            raise ScheduleError(f"scheduler {run.entry.name}: infeasible, but {best.origin} is not")
        outcome, notes = within_class(run.outcome, best.value), list(run.notes)
        known = run.outcome.class_bound
        if joint and known is not None and not moved_whole(self._instance, best.schedule):
            outcome = replace(outcome, class_bound=None)
            notes.append(of_other_class(known, self._request.objective.unit))
        notes.append(NOTHING_BETTER.format(best.origin))
        return replace(run, outcome=outcome, legal=best, notes=tuple(notes))

    @property
    def listed(self) -> Run | None:
        """What was found of the list as given; None if nobody has asked for it."""
        return self._page

    def _cover(self, entry: SchedulerEntry) -> Run:
        """Choose a cover, starting from the list as given, and never worse."""
        page, spent_s = self._page, 0.0
        if page is None:
            page = self._page = self._list()
            spent_s = page.solve_s
        self._asked = entry
        self._tell(Incumbent())
        starts = [] if page.legal is None else [page.legal]
        for start in starts:
            self._tell_legal(start)
        prices = None if page.outcome is None else page.outcome.certificate
        run = self._no_worse_than_policies(self._call(entry, starts, spent_s, prices=prices))
        seconds = replace(run, solve_s=run.solve_s + page.solve_s, cpu_s=run.cpu_s + page.cpu_s)
        if run.legal is None or not starts or run.legal.value <= starts[0].value:
            return seconds
        raise ScheduleError(f"scheduler {entry.name}: worse than {_LISTER}, from which it started")

    def _no_worse_than_policies(self, run: Run) -> Run:
        """Take the schedule of a policy on the cover that was chosen, where it costs less.

        Of a few pages and operations one rounds luckier than the program: 48 cycles, not 50.
        """
        if run.pieces is None or run.legal is None or self._request.stop():
            return run
        instance, began = run.pieces.instance, cpu_s()
        if len(instance.operations) > _FEW:
            return run
        runner = ScheduleRunner(instance, self._request.part(bounds=False))
        for name in find(_LISTER).starts:
            other = runner.run(find(name)).legal
            if other is not None and other.order is None and other.value < run.legal.value:
                run = replace(run, legal=other)
        return replace(run, cpu_s=run.cpu_s + cpu_s() - began)

    def _list(self) -> Run:
        """Schedule the list as given, in a part of the time."""
        request = replace(
            self._request,
            tolerance=max(self._request.tolerance, _LIST_TOLERANCE),
            time_limit_s=_LIST_SHARE * self._request.time_limit_s,
            started=monotonic(),
        )
        runner = ScheduleRunner(self._instance, request)
        runner._policies = self._policies
        found = runner.run_asked(find(_LISTER))
        for certificate, _ in proofs_of([found]):
            runner._evaluate(certificate)
        return found

    def _starts(self, entry: SchedulerEntry) -> list[str]:
        """Return the policies to start from that take this machine."""
        features = self._instance.machine.features
        return [name for name in entry.starts if find(name).takes_features(features)]

    def _attempt(self, entry: SchedulerEntry) -> list[Plan]:
        """One attempt of the first policy that ``entry`` starts from; not verified."""
        free = self._request.objective.replayed  # its optimizer decides the order too
        for name in self._starts(entry)[:1]:
            self._request.report(f"{name}: one attempt", None)
            try:
                plan = find(name).load()(self._remainder.instance, self._limited(0.0)).plan
            except InfeasibleError:
                continue
            if plan is not None and (free or other_order(plan.steps.operation) is None):
                return [plan]
        return []

    def _limited(self, time_limit_s: float) -> Request:
        return replace(self._request, time_limit_s=time_limit_s, started=monotonic())

    def _legal(self, entry: SchedulerEntry, starts: Sequence[Run] = ()) -> list[VerifiedSchedule]:
        """Schedules of policies that ``entry`` can start from, the best first.

        Who decides the order too starts from those of optimizers as well, ``starts`` among them.
        """
        runs, free = list(self._policies.values()), self._request.objective.replayed
        if free:
            others = [run for run in self._replayed.values() if run.pieces is None]
            runs += others + [run for run in starts if run.entry.kind is not Kind.POLICY]
        else:
            pages = entry.granularity == "contiguous"
            kept = ("whole", "page" if pages else entry.granularity)
            runs = [run for run in runs if run.entry.granularity in kept and run.order is None]
        legal = [run.legal for run in runs if run.legal is not None]
        return sorted(legal, key=lambda schedule: schedule.value)

    def _call(
        self,
        entry: SchedulerEntry,
        starts: Sequence[VerifiedSchedule] = (),
        spent_s: float = 0.0,
        *,
        attempt: bool = False,
        prices: Certificate | None = None,
    ) -> Run:
        def report(message: str, done: float | None) -> None:
            self._request.report(f"{entry.name}: {message}", done)

        report("scheduling", None)
        scheduler = entry.load()
        wall, cpu = monotonic(), cpu_s()
        plans = [start.plan for start in starts if start.plan is not None]
        plans += self._attempt(entry) if attempt else []
        start, others = (plans[0] if plans else None), tuple(plans[1:])
        limit_s, count = self._request.time_limit_s, len(self._instance.operations)
        finish_s = _FINISH_S * count if count > _MANY else 0.0
        request = replace(
            self._request,
            time_limit_s=max(limit_s - finish_s, limit_s / 2),
            started=wall - spent_s,
            start=start,
            others=others,
            prices=prices or self._request.prices,
            report=report,
            on_incumbent=self._tell_of_remainder,
        )
        outcome: Outcome | None = None
        notes: tuple[str, ...] = ()
        try:
            outcome = self._certified(scheduler(self._remainder.instance, request))
            notes = outcome.notes
        except InfeasibleError as error:
            notes = (str(error),)
        wall, cpu = monotonic() - wall, cpu_s() - cpu
        legal = None
        if outcome is not None and outcome.schedule is not None:
            report("verifying", None)
            legal = self._check(entry.name, None, outcome.schedule, self._instance)
        elif outcome is not None and outcome.plan is not None:
            if starts and outcome.plan is starts[0].plan:
                legal = starts[0]  # verified already
            else:
                report("verifying", None)
                on = self._instance if outcome.pieces is None else outcome.pieces.instance
                legal = self._verify(entry.name, outcome.plan, on)
        return Run(entry=entry, outcome=outcome, legal=legal, solve_s=wall, cpu_s=cpu, notes=notes)

    def _certified(self, outcome: Outcome) -> Outcome:
        """Put what its prices prove, exactly, in place of the value of a class bound."""
        known = outcome.class_bound
        if known is None:
            return outcome
        if known.certificate is None:
            streams = float(self._remainder.streams.value(self._request.objective))
            return replace(outcome, class_bound=replace(known, value=known.value + streams))
        proved = self._evaluate(known.certificate, known.holds_for).value
        return replace(outcome, class_bound=replace(known, value=float(proved)))

    def _verify(self, origin: str, plan: Plan, instance: Instance) -> VerifiedSchedule:
        try:
            schedule = assemble(instance, plan)
        except ScheduleError as error:
            raise ScheduleError(f"scheduler {origin}: {error}") from None
        return self._check(origin, plan, schedule, instance)

    def _check(
        self, origin: str, plan: Plan | None, schedule: Schedule, instance: Instance
    ) -> VerifiedSchedule:
        try:
            totals = require_legal(instance, schedule).totals
        except ScheduleError as error:
            raise ScheduleError(f"scheduler {origin}: {error}") from None
        if totals is None:
            raise ScheduleError(f"scheduler {origin}: the verifier gave no totals")
        value = totals.value(self._request.objective)
        return VerifiedSchedule(
            origin=origin, plan=plan, schedule=schedule, totals=totals, value=value
        )
