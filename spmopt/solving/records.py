"""What comes of running a scheduler: a verified schedule, proofs, a result."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from time import monotonic

from spmopt.core.clock import cpu_s
from spmopt.core.errors import ContradictionError, ScheduleError, SpmoptError
from spmopt.core.fusion.tileable_graph import FusionResult
from spmopt.core.order import other_order
from spmopt.core.result import (
    EVERY_SCHEDULE,
    Certificate,
    ClassBound,
    Outcome,
    Result,
    Status,
    Totals,
    is_optimal,
)
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import SchedulerEntry

_SOLVER_ROUNDING = Fraction(1, 10**6)  # relative, in a bound that is not certified
_FLOAT_ROUNDING = Fraction(1, 10**12)  # the same, of one that was exact before it was a float


@dataclass(frozen=True, kw_only=True)
class VerifiedSchedule:
    """A verified schedule, and which scheduler it is from."""

    origin: str
    residency_plan: ResidencyPlan | None
    schedule: Schedule
    totals: Totals
    value: Fraction

    @property
    def order(self) -> Ints | None:
        """Of its steps; None for the problem's own."""
        return other_order(self.schedule.steps.operation)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a scheduler did; ``outcome`` is None when it proved that no schedule exists.

    With ``failure`` there is none either: the scheduler is at fault, and ``notes`` say how.
    """

    entry: SchedulerEntry
    outcome: Outcome | None
    legal: VerifiedSchedule | None
    solve_s: float
    cpu_s: float
    notes: tuple[str, ...]
    failure: ScheduleError | None = None

    @property
    def order(self) -> Ints | None:
        """Of the schedule; None for the problem's own."""
        return None if self.legal is None else self.legal.order

    @property
    def fusion(self) -> FusionResult | None:
        """The fusion plan that its schedule is of; None for the problem's own list."""
        return None if self.outcome is None else self.outcome.fusion

    def plus(self, wall_s: float, cpu_s: float) -> Run:
        """Return the run with more seconds."""
        return replace(self, solve_s=self.solve_s + wall_s, cpu_s=self.cpu_s + cpu_s)


class Stopwatch:
    """Wall and CPU seconds from now on, until it is stopped."""

    def __init__(self) -> None:
        self._wall, self._cpu = monotonic(), cpu_s()
        self.wall_s = self.cpu_s = 0.0

    def elapsed_s(self) -> float:
        """Return the wall seconds so far."""
        return monotonic() - self._wall

    def stop(self) -> None:
        """Keep the seconds so far."""
        self.wall_s, self.cpu_s = self.elapsed_s(), cpu_s() - self._cpu


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A certificate and what it proves; a note where its search ended early."""

    value: Fraction
    certificate: Certificate
    notes: tuple[str, ...] = ()


Proof = tuple[Certificate, bool]
"""A certificate not yet evaluated, and whether the search for it was cut short."""
Key = bytes | None
"""An order; None for the problem's own."""


def failure_of(name: str, error: Exception) -> ScheduleError:
    """Return the error of the scheduler called ``name`` for whatever it raised, in one line."""
    if isinstance(error, SpmoptError):
        text = str(error)
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        text = f"raised {said} ({Path(last.filename).name}, line {last.lineno})"
    head = f"scheduler {name}: "
    failure = ScheduleError(text if text.startswith(head) else head + text)
    failure.__cause__ = error
    return failure


def failed(entry: SchedulerEntry, error: Exception, watch: Stopwatch) -> Run:
    """Return the run of a scheduler of a package or a user that is at fault."""
    failure = failure_of(entry.name, error)
    watch.stop()
    return Run(
        entry=entry,
        outcome=None,
        legal=None,
        solve_s=watch.wall_s,
        cpu_s=watch.cpu_s,
        notes=(str(failure).removeprefix(f"scheduler {entry.name}: "),),
        failure=failure,
    )


def all_failed(failures: Sequence[ScheduleError]) -> SpmoptError:
    """Return one error for those of all schedulers of a run; of a single one its own."""
    if len(failures) == 1:
        cause = failures[0].__cause__
        return cause if isinstance(cause, SpmoptError) else failures[0]
    return ScheduleError("; ".join(map(str, failures)))


def within_class(outcome: Outcome, value: Fraction) -> Outcome:
    """Without the bound of a class that a schedule of this value is below, and so not of."""
    known = outcome.class_bound
    if known is None or known.holds_for == EVERY_SCHEDULE:
        return outcome
    slack = 0 if known.certified else _SOLVER_ROUNDING
    if Fraction(known.value) <= value * (1 + slack):
        return outcome
    return replace(outcome, class_bound=None)


def require_true_bounds(runs: Sequence[Run]) -> None:
    """Hold bounds of every schedule that no dual values prove against all schedules of the list.

    Raises
    ------
    ContradictionError
        One is above a schedule's value.
    """
    listed = [run for run in runs if run.fusion is None]
    legal = [run.legal for run in listed if run.legal is not None and run.order is None]
    best = min(legal, key=lambda each: each.value, default=None)
    for run in listed:
        known = None if run.outcome is None else run.outcome.class_bound
        if best is None or known is None or known.holds_for != EVERY_SCHEDULE:
            continue
        if Fraction(known.value) > best.value * (1 + _FLOAT_ROUNDING):
            raise ContradictionError(
                f"the bound {known.value:.9g} of {known.proved_by} is above the schedule of "
                f"{best.origin}, {float(best.value):.9g}: one of them is wrong"
            )


def of_other_class(known: ClassBound, unit: str) -> str:
    """Return the note on a bound that says nothing of the schedule, which is not of its class."""
    least = (
        f"at least {known.value:,.10g} {unit} for {known.holds_for} (bound of {known.proved_by})"
    )
    return f"{least}; this schedule is not one of these"


def order_key(order: Ints | None) -> Key:
    """Name an order; the problem's own has one name only."""
    return None if order is None or other_order(order) is None else order.tobytes()


def proofs_of(runs: Sequence[Run]) -> list[Proof]:
    """All certificates of some runs for the problem's own list."""
    outcomes = [run.outcome for run in runs if run.outcome is not None and run.fusion is None]
    return [(each.certificate, each.cut_short) for each in outcomes if each.certificate is not None]


def result_of(
    run: Run,
    best: Bound | None,
    request: Request,
    of_fusion_plans: Fraction | None = None,
    faults: Sequence[str] = (),
) -> Result:
    """What is reported of a run, compared with the best bound of its order.

    ``of_fusion_plans``: the best bound over the fusion space of the tileable graph; ``faults``:
    notes on certificates that prove nothing.

    Raises
    ------
    ContradictionError
        A bound is above the schedule's value.
    """
    if run.failure is not None:
        best = None
    result = Result(
        scheduler=run.entry.name,
        objective=request.objective,
        status=Status.UNKNOWN,
        solve_s=run.solve_s,
        cpu_s=run.cpu_s,
        bound=None if best is None else best.value,
        certificate=None if best is None else best.certificate,
        class_bound=None if run.outcome is None else run.outcome.class_bound,
        notes=(*run.notes, *(() if best is None else best.notes), *faults),
        tolerance=request.tolerance,
        fusion=run.fusion,
        fusion_bound=of_fusion_plans if run.order is None else None,
    )
    if run.failure is not None:
        return replace(result, status=Status.FAILED)
    if run.outcome is None:
        return replace(result, status=Status.INFEASIBLE)
    if run.legal is None:
        return result
    residency_plan, totals, value = run.legal.schedule, run.legal.totals, run.legal.value
    result = replace(result, schedule=residency_plan, totals=totals, value=value, verified=True)
    for bound in (result.bound, result.fusion_bound):
        if bound is not None and bound > value:
            raise ContradictionError(
                f"the bound {float(bound):.9g} is above the schedule of {run.legal.origin}, "
                f"{float(value):.9g} {request.objective.unit}: one of them is wrong"
            )
    gap = result.gap if run.fusion is None else result.fusion_gap
    if is_optimal(gap, request.tolerance) or result.is_enumerated:
        return replace(result, status=Status.OPTIMAL, notes=(*run.notes, *faults))
    return replace(result, status=Status.FEASIBLE)
