"""One instance under a replacement: its schedule, verified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

from spmopt.assemble import assemble
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.result import Status, Totals
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request
from spmopt.gradients.case import DOUBLE_BUFFER
from spmopt.schedulers.entry import Entry, Kind
from spmopt.schedulers.registry import find
from spmopt.solve import solve
from spmopt.verify import require_legal


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A legal schedule and its figures; ``order_bound`` where the replacement proves one."""

    schedule: Schedule
    totals: Totals
    status: Status
    solve_s: float
    order_bound: Fraction | None = None
    notes: tuple[str, ...] = ()


def solved(instance: Instance, replacement: Entry, request: Request) -> Solved | None:
    """By a policy without a bound, which would take longer; by an optimiser with its own.

    An optimiser that stops above its tolerance is held against double buffering, which is none of
    the policies that it starts from, and is never worse.

    Returns
    -------
    None where no schedule is found.

    Raises
    ------
    ScheduleError
        An illegal schedule, which is an error in the replacement.
    """
    if replacement.kind is Kind.POLICY:
        return _by_policy(instance, replacement, request)
    result = solve(instance, replacement.name, request)
    if result.schedule is None or result.totals is None:
        return None
    found = Solved(
        schedule=result.schedule,
        totals=result.totals,
        status=result.status,
        solve_s=result.solve_s,
        order_bound=result.bound,
        notes=result.notes,
    )
    if result.status is Status.OPTIMAL or replacement.granularity == "contiguous":
        return found  # double buffering uses any pages
    return _against_double_buffering(found, instance, request)


def _against_double_buffering(found: Solved, instance: Instance, request: Request) -> Solved:
    other = _by_policy(instance, find(DOUBLE_BUFFER), request)
    if other is None:
        return found
    value, bound = other.totals.value(request.objective), found.order_bound
    if value >= found.totals.value(request.objective):
        return found
    proved = bound is not None and value <= bound * (1 + Fraction(request.tolerance))
    return replace(
        other,
        status=Status.OPTIMAL if proved else Status.FEASIBLE,
        solve_s=found.solve_s + other.solve_s,
        order_bound=bound,
        notes=(*found.notes, f"nothing better found than {DOUBLE_BUFFER}, whose schedule this is"),
    )


def _by_policy(instance: Instance, policy: Entry, request: Request) -> Solved | None:
    begin = monotonic()
    outcome = policy.load()(instance, request)
    taken = monotonic() - begin
    schedule = outcome.schedule
    if schedule is None:
        if outcome.plan is None:
            return None
        schedule = assemble(instance, outcome.plan)
    totals = require_legal(instance, schedule).totals
    if totals is None:
        raise ScheduleError(f"{instance.name}: {policy.name}: the verifier gave no totals")
    return Solved(schedule=schedule, totals=totals, status=Status.FEASIBLE, solve_s=taken)
