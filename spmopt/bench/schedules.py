"""Measures of schedulers; every schedule passes the verifier, outside the seconds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from spmopt.assemble import assemble
from spmopt.bench.clock import peak_mb, timed
from spmopt.bench.suite import Figure, Figures
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective, objective_named
from spmopt.core.order import other_order, reordered
from spmopt.core.result import Certificate
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import BOUNDER, find
from spmopt.solve import compare
from spmopt.verify import View, bound, replay, require_legal


def reach(
    instance: Instance, *, scheduler: str, objective: str, tolerance: float, limit_s: float
) -> Figures:
    """Seconds of one scheduler to a gap of ``tolerance``, from the instance in memory.

    ``gap`` is certified: the verifier's value of the schedule against the exact bound.
    ``class_gap`` is against the bound that the solver reports for the scheduler's own class.

    Raises
    ------
    ScheduleError
        No schedule within the limit, an illegal one, or one below the bound.
    """
    request = Request(
        objective=objective_named(objective, instance.machine),
        tolerance=tolerance,
        time_limit_s=limit_s,
    )
    run = find(scheduler).load()
    outcome, taken = timed(lambda: run(instance, request))
    peak = peak_mb()
    plan = outcome.plan
    if plan is None:
        raise ScheduleError(f"{scheduler}: no schedule within {limit_s:g} s")
    schedule, assembling = timed(lambda: assemble(instance, plan))
    report, verifying = timed(lambda: require_legal(instance, schedule))
    if report.totals is None:
        raise ScheduleError(f"{scheduler}: the verifier gave no totals")
    value = report.totals.value(request.objective)
    least = bound(instance, outcome.certificate or _certificate(instance, request.objective, plan))
    if least > value:
        raise ScheduleError(f"{scheduler}: the bound is above the schedule, one of them is wrong")
    known = outcome.class_bound
    return {
        "operations": len(instance.operations),
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
        "peak_mb": peak,
        "peak_checked_mb": peak_mb(),
        "gap": float(value / least - 1),
        "class_gap": None if known is None else float(value / Fraction(known.value) - 1),
        "assemble_s": assembling.wall_s,
        "verify_s": verifying.wall_s,
        "value": float(value),
        "verified": report.legal,
    }


def walk(instance: Instance, *, policy: str) -> Figures:
    """Seconds of each stage from the instance to the replayed schedule, one after the other.

    ``verify_s`` is all that the verifier does, the replay included; ``replay_s`` is a second
    replay by itself.
    """
    run = find(policy).load()
    outcome, scheduling = timed(lambda: run(instance, Request()))
    plan = outcome.plan
    if plan is None:
        raise ScheduleError(f"{policy}: no schedule")
    schedule, assembling = timed(lambda: assemble(instance, plan))
    report, verifying = timed(lambda: require_legal(instance, schedule))
    _, replaying = timed(lambda: replay(View.of(instance, schedule)))
    return {
        "operations": len(instance.operations),
        "policy_s": scheduling.wall_s,
        "assemble_s": assembling.wall_s,
        "verify_s": verifying.wall_s,
        "replay_s": replaying.wall_s,
        "peak_mb": peak_mb(),
        "verified": report.legal,
    }


def gaps(instance: Instance, *, schedulers: str, limit_s: float) -> Figures:
    """Certified gap of each of ``schedulers`` (separated by commas), objective time."""
    names = schedulers.split(",")
    results = compare(instance, names, Request(time_limit_s=limit_s))
    figures: dict[str, Figure] = {"operations": len(instance.operations)}
    for name, result in zip(names, results, strict=True):
        figures[f"{name}_gap"] = result.gap
        figures[f"{name}_s"] = result.solve_s
    least = results[0].bound
    cycles_per_ms = Fraction(instance.machine.clock_hz, 1000)
    figures["bound_ms"] = None if least is None else float(least / cycles_per_ms)
    figures["verified"] = all(result.verified for result in results)
    return figures


def contiguity(instance: Instance, *, tolerance: float, limit_s: float) -> Figures:
    """Cost of one range of addresses a tensor, against pages anywhere; objective time.

    ``cost`` is the step time of the best schedule found over that of the best one in pages.
    """
    request = Request(tolerance=tolerance, time_limit_s=limit_s)
    paged, ranges = compare(instance, ["page", "contiguous"], request)
    first, second = paged.totals, ranges.totals
    if first is None or second is None or paged.gap is None or ranges.gap is None:
        raise ScheduleError("page or contiguous: no schedule, or no bound")
    per_ms = instance.machine.clock_hz / 1000
    return {
        "operations": len(instance.operations),
        "page_ms": first.makespan_cycles / per_ms,
        "ms": second.makespan_cycles / per_ms,
        "cost": second.makespan_cycles / first.makespan_cycles - 1,
        "page_gap": paged.gap,
        "gap": ranges.gap,
        "traffic": second.traffic_bytes / first.traffic_bytes - 1,
        "page_s": paged.solve_s,
        "wall_s": ranges.solve_s,
        "cpu_s": ranges.cpu_s,
        "verified": paged.verified and ranges.verified,
    }


def _certificate(instance: Instance, objective: Objective, plan: Plan) -> Certificate:
    """Prices of the relaxation in the plan's order, for a schedule that came without."""
    order = other_order(plan.operation)
    listed = instance if order is None else reordered(instance, order)
    outcome = find(BOUNDER).load()(listed, Request(objective=objective, tolerance=1e-5))
    if outcome.certificate is None:
        raise ScheduleError(f"{BOUNDER}: no bound")
    return replace(outcome.certificate, order=order)
