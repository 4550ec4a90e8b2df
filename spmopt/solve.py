"""The one wiring function: schedulers run, the verifier checks, one bound holds for each order.

Nothing leaves here unverified: a schedule that breaks a rule, and a bound above the value of a
verified schedule, are errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

from spmopt.assemble import assemble
from spmopt.core.clock import cpu_s
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import REPLAY
from spmopt.core.order import other_order, reordered
from spmopt.core.plan import Plan
from spmopt.core.result import (
    INTERRUPTED,
    OUT_OF_TIME,
    Certificate,
    Outcome,
    Result,
    Status,
    Totals,
)
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import BOUNDER, Entry, Kind, able, find, start_names
from spmopt.verify import bound, require_legal


def solve(instance: Instance, scheduler: str, request: Request) -> Result:
    """Schedule ``instance`` by one scheduler; otherwise as :func:`compare`."""
    return compare(instance, [scheduler], request)[0]


def compare(instance: Instance, schedulers: Sequence[str], request: Request) -> list[Result]:
    """Run each scheduler, verify each schedule, hold all against the best certified bound.

    A schedule that runs the operations in another order than the instance's is held against a
    bound of that order instead, from the relaxation of the instance so reordered.

    An optimiser starts from the best policy and returns nothing worse. The time limit is for
    each scheduler. Once ``request.stop`` is true, the schedulers not yet begun are left out,
    except the first.

    Raises
    ------
    InputError
        An unknown scheduler, or one that does not know the objective.
    ScheduleError
        An illegal schedule or an untrue bound, which is an error in a scheduler.
    """
    entries = [find(name) for name in schedulers]
    for entry in entries:
        banks = bool(instance.machine.banks)
        entry.require(request.objective, able(request.objective, banks=banks))
        entry.require_banks(banks)
    bench = _Bench(instance, request)
    runs: list[_Run] = []
    for entry in entries:
        if not runs or not request.stop():
            runs.append(bench.run(entry))
    best = bench.best_bounds(runs)
    return [_result(run, best.get(_key(run.order)), request) for run in runs]


@dataclass(frozen=True, kw_only=True)
class _Legal:
    """A verified schedule, and which scheduler it is from."""

    origin: str
    plan: Plan | None
    schedule: Schedule
    totals: Totals
    value: Fraction


@dataclass(frozen=True, kw_only=True)
class _Run:
    """What a scheduler did; ``outcome`` is None when it proved that no schedule exists."""

    entry: Entry
    outcome: Outcome | None
    legal: _Legal | None
    solve_s: float
    cpu_s: float
    notes: tuple[str, ...]

    @property
    def order(self) -> Ints | None:
        """Of the schedule; None for the instance's own."""
        return None if self.legal is None else other_order(self.legal.schedule.steps.operation)


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """A certificate and what it proves; a note where its search ended early."""

    value: Fraction
    certificate: Certificate
    notes: tuple[str, ...] = ()


_Proof = tuple[Certificate, bool]
"""A certificate not yet evaluated, and whether the search for it was cut short."""
_SOLVER_ROUNDING = Fraction(1, 10**6)  # relative, in a bound that is not certified
_Key = bytes | None
"""An order; None for the instance's own."""


class _Bench:
    """Runs schedulers on one instance, each policy once."""

    def __init__(self, instance: Instance, request: Request) -> None:
        self._instance = instance
        self._request = request
        self._policies: dict[str, _Run] = {}

    def run(self, entry: Entry) -> _Run:
        """Run one scheduler and verify its schedule."""
        if entry.kind is Kind.FORMULATION:
            return self._optimise(entry)
        if entry.kind is Kind.RELAXATION:
            return self._call(entry)
        if entry.name not in self._policies:
            self._policies[entry.name] = self._call(entry)
        return self._policies[entry.name]

    def best_bounds(self, runs: Sequence[_Run]) -> dict[_Key, _Bound]:
        """Evaluate every certificate exactly; the best one of each order.

        The relaxation is asked for one of each order that has schedules but no certificate.
        """
        proofs: dict[_Key, list[_Proof]] = {}
        for proof in _proofs(runs):
            proofs.setdefault(_key(proof[0].order), []).append(proof)
        if self._request.objective.replayed:
            return {}  # prices of steps prove nothing about it
        for run in runs:
            if run.legal is not None and _key(run.order) not in proofs:
                proofs[_key(run.order)] = self._relax(run.order)
        return {key: self._best(found) for key, found in proofs.items() if found}

    def _relax(self, order: Ints | None) -> list[_Proof]:
        if order is None:
            return _proofs([self.run(find(BOUNDER))])
        bench = _Bench(reordered(self._instance, order), self._request)
        found = _proofs([bench.run(find(BOUNDER))])
        return [(replace(certificate, order=order), cut_short) for certificate, cut_short in found]

    def _best(self, proofs: Sequence[_Proof]) -> _Bound:
        """The best one; a search that was finished leaves little to be raised by the others."""
        found = [self._evaluate(certificate) for certificate, _ in proofs]
        best = max(found, key=lambda each: each.value)
        if not all(cut_short for _, cut_short in proofs):
            return best
        return replace(best, notes=(INTERRUPTED if self._request.stop() else OUT_OF_TIME,))

    def _evaluate(self, certificate: Certificate) -> _Bound:
        if certificate.objective != self._request.objective:
            raise ScheduleError("a certificate is for another objective than the one asked for")
        self._request.report("checking the bound", None)
        return _Bound(value=bound(self._instance, certificate), certificate=certificate)

    def _optimise(self, entry: Entry) -> _Run:
        """From the best policy on, and never worse; those that it asks for count in its seconds."""
        starts = [self._call(replace(entry, target=entry.alone))] if entry.alone else []
        if starts and starts[0].legal is not None:
            return starts[0]
        spent_s = sum(run.solve_s for run in starts)
        for name in start_names(entry):
            if not self._request.stop() or all(run.legal is None for run in starts):
                starts.append(self.run(find(name)))
        legal = self._legal(entry)
        run = self._call(entry, legal, spent_s)
        run = replace(
            run,
            solve_s=run.solve_s + sum(start.solve_s for start in starts),
            cpu_s=run.cpu_s + sum(start.cpu_s for start in starts),
        )
        if not legal or entry.granularity == "contiguous":  # no policy has such addresses
            return run
        best = legal[0]
        if run.legal is not None and run.legal.value <= best.value:
            return run
        if run.outcome is None:
            raise ScheduleError(f"scheduler {entry.name}: infeasible, but {best.origin} is not")
        note = f"nothing better found than {best.origin}, whose schedule this is"
        outcome = _within_class(run.outcome, best.value)
        return replace(run, outcome=outcome, legal=best, notes=(*run.notes, note))

    def _legal(self, entry: Entry) -> list[_Legal]:
        """Schedules of policies that ``entry`` can start from, the best first."""
        free = self._request.objective == REPLAY  # its optimiser decides the order too
        pages = free or entry.granularity == "contiguous"
        kept = ("whole", "page" if pages else entry.granularity)
        runs = [run for run in self._policies.values() if run.entry.granularity in kept]
        legal = [run.legal for run in runs if run.legal is not None and (free or run.order is None)]
        return sorted(legal, key=lambda schedule: schedule.value)

    def _call(self, entry: Entry, starts: Sequence[_Legal] = (), spent_s: float = 0.0) -> _Run:
        def report(message: str, done: float | None) -> None:
            self._request.report(f"{entry.name}: {message}", done)

        report("scheduling", None)
        scheduler = entry.load()
        wall, cpu = monotonic(), cpu_s()
        plans = [start.plan for start in starts if start.plan is not None]
        start, others = (plans[0] if plans else None), tuple(plans[1:])
        request = replace(
            self._request, started=wall - spent_s, start=start, others=others, report=report
        )
        outcome: Outcome | None = None
        notes: tuple[str, ...] = ()
        try:
            outcome = scheduler(self._instance, request)
            notes = outcome.notes
        except InfeasibleError as error:
            notes = (str(error),)
        wall, cpu = monotonic() - wall, cpu_s() - cpu
        legal = None
        if outcome is not None and outcome.schedule is not None:
            report("verifying", None)
            legal = self._check(entry.name, None, outcome.schedule)
        elif outcome is not None and outcome.plan is not None:
            if starts and outcome.plan is starts[0].plan:
                legal = starts[0]  # verified already
            else:
                report("verifying", None)
                legal = self._verify(entry.name, outcome.plan)
        return _Run(entry=entry, outcome=outcome, legal=legal, solve_s=wall, cpu_s=cpu, notes=notes)

    def _verify(self, origin: str, plan: Plan) -> _Legal:
        try:
            schedule = assemble(self._instance, plan)
        except ScheduleError as error:
            raise ScheduleError(f"scheduler {origin}: {error}") from None
        return self._check(origin, plan, schedule)

    def _check(self, origin: str, plan: Plan | None, schedule: Schedule) -> _Legal:
        try:
            totals = require_legal(self._instance, schedule).totals
        except ScheduleError as error:
            raise ScheduleError(f"scheduler {origin}: {error}") from None
        if totals is None:
            raise ScheduleError(f"scheduler {origin}: the verifier gave no totals")
        value = totals.value(self._request.objective)
        return _Legal(origin=origin, plan=plan, schedule=schedule, totals=totals, value=value)


def _within_class(outcome: Outcome, value: Fraction) -> Outcome:
    """Without the bound of a class that a schedule of this value is not of."""
    known = outcome.class_bound
    if known is None or Fraction(known.value) <= value * (1 + _SOLVER_ROUNDING):
        return outcome
    return replace(outcome, class_bound=None)


def _key(order: Ints | None) -> _Key:
    return None if order is None or other_order(order) is None else order.tobytes()


def _proofs(runs: Sequence[_Run]) -> list[_Proof]:
    outcomes = [run.outcome for run in runs if run.outcome is not None]
    return [(each.certificate, each.cut_short) for each in outcomes if each.certificate is not None]


def _result(run: _Run, best: _Bound | None, request: Request) -> Result:
    result = Result(
        scheduler=run.entry.name,
        objective=request.objective,
        status=Status.UNKNOWN,
        solve_s=run.solve_s,
        cpu_s=run.cpu_s,
        bound=None if best is None else best.value,
        certificate=None if best is None else best.certificate,
        class_bound=None if run.outcome is None else run.outcome.class_bound,
        notes=(*run.notes, *(() if best is None else best.notes)),
        tolerance=request.tolerance,
    )
    if run.outcome is None:
        return replace(result, status=Status.INFEASIBLE)
    if run.legal is None:
        return result
    plan, totals, value = run.legal.schedule, run.legal.totals, run.legal.value
    result = replace(result, schedule=plan, totals=totals, value=value, verified=True)
    gap = result.gap
    if best is not None and best.value > value:
        raise ScheduleError(
            f"the bound {float(best.value):.9g} is above the schedule of {run.legal.origin}, "
            f"{float(value):.9g} {request.objective.unit}: one of them is wrong"
        )
    if gap is not None and gap <= request.tolerance:
        return replace(result, status=Status.OPTIMAL, notes=run.notes)
    return replace(result, status=Status.FEASIBLE)
