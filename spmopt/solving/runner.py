"""Run schedulers on one instance: what each starts from, and is never worse than."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from spmopt.core.clock import cpu_s
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.moved_whole import moved_whole
from spmopt.core.order import other_order
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Incumbent, Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving.barriers import (
    NOTHING_BETTER,
    by_steps,
    no_worse,
    no_worse_than_list,
    replayed,
    with_barriers,
)
from spmopt.solving.bounds import Bounds
from spmopt.solving.checked_calls import LISTER, CheckedCalls
from spmopt.solving.orders import best_of_other_orders
from spmopt.solving.records import (
    Run,
    VerifiedSchedule,
    failure_of,
    of_other_class,
    proofs_of,
    within_class,
)
from spmopt.solving.windows import BY_WINDOWS, ORIGIN, improved_by_windows, with_merged_commands

_FEW = 5_000
"""Operations of a cover's instance on which policies are run beside: a second at most."""
_LIST_SHARE = 0.2
"""Of the time limit of who chooses a cover: for the list as given."""
_LIST_TOLERANCE = 1e-3
"""Of that list: covers differ by more."""
_COMMANDS_SHARE = 0.3
"""Of the time limit of who chooses a cover: for the commands of its schedule."""
_START_SHARE, _OTHER_SHARE = 0.25, 0.1
"""Of the time limit of who minimizes the replay: for ``page``, which is nearly always the best of
the optimizers that it starts from, and for each of the others."""


def _policy_key(entry: SchedulerEntry) -> tuple[str, int]:
    """Tell policies apart that bear one name, as all lambdas do."""
    return entry.name, 0 if isinstance(entry.target, str) else id(entry.target)


class ScheduleRunner:
    """Runs schedulers on one instance, each policy once."""

    def __init__(self, instance: Instance, request: Request) -> None:
        self._calls = CheckedCalls(instance, request)
        self.bounds = Bounds(self._calls)
        self._policies: dict[tuple[str, int], Run] = {}
        self._page: Run | None = None
        self._replayed: dict[str, Run] = {}
        self._of_steps: dict[tuple[str, int], Run] = {}
        self._steps: ScheduleRunner | None = None

    def run_asked(self, entry: SchedulerEntry) -> Run:
        """Run a scheduler that was asked for; news of those that it starts from are its own."""
        self._calls.asked = entry
        if not entry.covers:  # which begins with another
            self._calls.tell(Incumbent())
        found = self.run(entry) if entry.is_own else self._run_foreign(entry)
        if found.legal is not None:
            own_class = found.outcome is not None and found.outcome.class_bound is not None
            self._calls.tell_legal(found.legal, other_class=entry.replayed and not own_class)
        return found

    def _run_foreign(self, entry: SchedulerEntry) -> Run:
        """Run a scheduler of a package or a user, whose faults do not end the others."""
        wall, cpu = monotonic(), cpu_s()
        try:
            found = self.run(entry)
            for certificate, _ in proofs_of([found]):
                self._calls.evaluate(certificate)
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

    def run(self, entry: SchedulerEntry) -> Run:
        """Run one scheduler and verify its schedule."""
        if by_steps(entry, self._calls.request.objective):
            self._replayed[entry.name] = found = self._run_by_steps(entry)
            return found
        if entry.covers:
            return self._cover(entry)
        if entry.kind is Kind.FORMULATION:
            found = self._optimize(entry)
            if entry.name in (LISTER, "whole"):
                found = with_merged_commands(self._calls, found, found.solve_s)
            self._page = found if entry.name == LISTER else self._page
            return found
        if entry.kind is Kind.RELAXATION:
            return self._calls.call(entry)
        key = _policy_key(entry)
        if key not in self._policies:
            self._policies[key] = self._calls.call(entry)
        return self._policies[key]

    def _run_by_steps(self, entry: SchedulerEntry, share: float = 1.0) -> Run:
        """Run an optimizer of steps, in a share of the time, and value what it finds by the replay.

        It is no worse than the policies that it starts from there either.
        """
        objective = self._calls.request.objective
        request = with_barriers(self._calls.request)
        runner = ScheduleRunner(
            self._calls.instance, request if share == 1 else request.anew().share(share)
        )
        runner._policies = self._of_steps  # whoever runs them
        if self._steps is not None:
            runner._page = self._steps._page
        self._steps = runner if share == 1 else self._steps
        made = runner.run(entry)
        self.bounds.keep_prices(made)
        run = replayed(made, objective)
        if entry.covers:
            self.bounds.keep_prices(runner._page)
            self._page = None if runner._page is None else replayed(runner._page, objective)
            return no_worse_than_list(run, self._page)
        if entry.granularity == "contiguous":  # whose addresses no policy has
            return run
        return no_worse(run, runner._legal(entry), objective)

    def _optimize(self, entry: SchedulerEntry) -> Run:
        """From the best start on, and never worse; those that it asks for count in its seconds."""
        starts = [self._calls.call(replace(entry, target=entry.alone))] if entry.alone else []
        if starts and starts[0].legal is not None:
            return starts[0]
        spent_s = sum(run.solve_s for run in starts)
        spent_s += self._run_starts(entry, starts)
        legal, wall, cpu = self._legal(entry, starts), monotonic(), cpu_s()
        if entry.replayed:
            other = best_of_other_orders(self._calls, spent_s)
            if other is not None:
                self.bounds.keep_prices(other[0])
                legal = sorted([*legal, other[1]], key=lambda each: each.value)
            if legal:
                better = improved_by_windows(self._calls, legal[0], spent_s + monotonic() - wall)
                legal = legal if better is None else [better, *legal]
        wall, cpu = monotonic() - wall, cpu_s() - cpu
        starts_count = legal and entry.granularity != "contiguous"  # whose addresses no policy has
        if starts_count:
            of_class = not entry.replayed or moved_whole(self._calls.instance, legal[0].schedule)
            self._calls.tell_legal(legal[0], other_class=not of_class)
        plans = legal or (self._attempt(entry) if self._calls.many else [])
        run = self._calls.call(entry, plans, spent_s + wall)
        run = replace(
            run,
            solve_s=run.solve_s + wall + sum(start.solve_s for start in starts),
            cpu_s=run.cpu_s + cpu + sum(start.cpu_s for start in starts),
        )
        return self._no_worse(run, legal[0]) if starts_count else run

    def _run_starts(self, entry: SchedulerEntry, starts: list[Run]) -> float:
        """Run what ``entry`` starts from, into ``starts``; return the seconds of its limit spent.

        Optimizers that have run before, and policies, take none of them.
        """
        spent_s = 0.0
        for start in map(find, self._starts(entry)):
            optimizes = start.kind is not Kind.POLICY
            if self._calls.many and not optimizes:
                continue
            if self._calls.request.stop() and any(run.legal is not None for run in starts):
                break
            known = self._replayed.get(start.name)
            if known is None:
                share = _START_SHARE if start.name == LISTER else _OTHER_SHARE
                known = self._run_by_steps(start, share) if optimizes else self.run(start)
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
        if joint and known is not None and not moved_whole(self._calls.instance, best.schedule):
            outcome = replace(outcome, class_bound=None)
            notes.append(of_other_class(known, self._calls.request.objective.unit))
        windows = best.origin == ORIGIN
        notes.append(BY_WINDOWS if windows else NOTHING_BETTER.format(best.origin))
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
        self._calls.asked = entry
        self._calls.tell(Incumbent())
        starts = [] if page.legal is None else [page.legal]
        for start in starts:
            self._calls.tell_legal(start)
        prices = None if page.outcome is None else page.outcome.certificate
        kept_s = (
            _COMMANDS_SHARE * self._calls.request.time_limit_s if self._calls.commands_cost else 0
        )
        run = self._calls.call(entry, starts, spent_s + kept_s, prices=prices)
        run = self._no_worse_than_policies(run)
        spent_s += run.solve_s
        run = replace(run, solve_s=run.solve_s + page.solve_s, cpu_s=run.cpu_s + page.cpu_s)
        run = with_merged_commands(self._calls, run, spent_s)
        if run.legal is None or not starts or run.legal.value <= starts[0].value:
            return run
        raise ScheduleError(f"scheduler {entry.name}: worse than {LISTER}, from which it started")

    def _no_worse_than_policies(self, run: Run) -> Run:
        """Take the schedule of a policy on the cover that was chosen, where it costs less.

        Of a few pages and operations one rounds luckier than the program: 48 cycles, not 50.
        """
        if run.pieces is None or run.legal is None or self._calls.request.stop():
            return run
        instance, began = run.pieces.instance, cpu_s()
        if len(instance.operations) > _FEW:
            return run
        runner = ScheduleRunner(instance, self._calls.request.part(bounds=False))
        for name in find(LISTER).starts:
            other = runner.run(find(name)).legal
            if other is not None and other.order is None and other.value < run.legal.value:
                run = replace(run, legal=other)
        return replace(run, cpu_s=run.cpu_s + cpu_s() - began)

    def _list(self) -> Run:
        """Schedule the list as given, in a part of the time."""
        request = replace(
            self._calls.request.anew().share(_LIST_SHARE),
            tolerance=max(self._calls.request.tolerance, _LIST_TOLERANCE),
        )
        runner = ScheduleRunner(self._calls.instance, request)
        runner._policies = self._policies
        found = runner.run_asked(find(LISTER))
        for certificate, _ in proofs_of([found]):
            runner._calls.evaluate(certificate)
        return found

    def _starts(self, entry: SchedulerEntry) -> list[str]:
        """Return the policies to start from that take this machine."""
        features = self._calls.instance.machine.features
        return [name for name in entry.starts if find(name).takes_features(features)]

    def _attempt(self, entry: SchedulerEntry) -> list[Plan]:
        """One attempt of the first policy that ``entry`` starts from; not verified."""
        free = self._calls.request.objective.replayed  # its optimizer decides the order too
        for name in self._starts(entry)[:1]:
            self._calls.request.report(f"{name}: one attempt", None)
            try:
                plan = find(name).load()(self._calls.remainder.instance, self._limited(0.0)).plan
            except InfeasibleError:
                continue
            if plan is not None and (free or other_order(plan.steps.operation) is None):
                return [plan]
        return []

    def _limited(self, time_limit_s: float) -> Request:
        return replace(self._calls.request, time_limit_s=time_limit_s, started=monotonic())

    def _legal(self, entry: SchedulerEntry, starts: Sequence[Run] = ()) -> list[VerifiedSchedule]:
        """Schedules of policies that ``entry`` can start from, the best first.

        Who decides the order too starts from those of optimizers as well, ``starts`` among them.
        """
        runs, free = list(self._policies.values()), self._calls.request.objective.replayed
        if free:
            others = [run for run in self._replayed.values() if run.pieces is None]
            runs += others + [run for run in starts if run.entry.kind is not Kind.POLICY]
        else:
            pages = entry.granularity == "contiguous"
            kept = ("whole", "page" if pages else entry.granularity)
            runs = [run for run in runs if run.entry.granularity in kept and run.order is None]
        legal = [run.legal for run in runs if run.legal is not None]
        return sorted(legal, key=lambda schedule: schedule.value)
