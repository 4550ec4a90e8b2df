"""Seconds of schedulers to a certified gap; every schedule passes the verifier, outside of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from results.shared.bench import Case, Figures, peak_mb, timed
from spmopt.assemble import assemble
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import Objective, objective_named
from spmopt.core.order import other_order, reorder
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result, Totals
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import BOUNDER, find
from spmopt.verifier import bound, require_legal

Scheduled = tuple[Result, Schedule, Totals, Figures]


def staged(problem: Problem, scheduler: str, request: Request) -> Scheduled:
    """Schedule, assemble and verify, each timed; raises ScheduleError where that is not possible.

    ``wall_s``, ``cpu_s`` and ``peak_mb`` are the scheduler's, from the problem in memory;
    ``check_cpu_s`` are CPU seconds of assembling and verifying.
    """
    scheduled = find(scheduler).load()
    outcome, taken = timed(lambda: scheduled(problem, request))
    peak, residency_plan = peak_mb(), outcome.residency_plan
    if residency_plan is None:
        raise ScheduleError(f"{scheduler}: no schedule within {request.time_limit_s:g} s")
    schedule, assembling = timed(lambda: assemble(problem, residency_plan))
    report, verifying = timed(lambda: require_legal(problem, schedule))
    if report.totals is None:
        raise ScheduleError(f"{scheduler}: the verifier gave no totals")
    figures = {
        "operations": len(problem.operations),
        **taken,
        "peak_mb": peak,
        "peak_checked_mb": peak_mb(),
        "assemble_s": assembling["wall_s"],
        "verify_s": verifying["wall_s"],
        "check_cpu_s": assembling["cpu_s"] + verifying["cpu_s"],
        "verified": report.legal,
    }
    return outcome, schedule, report.totals, figures


def reach(
    case: Case,
    scheduler: str,
    objective: str,
    tolerance: float,
    limit_s: float,
    *,
    threads: int = Request.threads,
) -> Figures:
    """Measure one scheduler to a gap of ``tolerance``, from the problem in memory.

    ``gap`` is certified: the verifier's value of the schedule against the exact bound.
    ``class_gap`` is against the bound that the solver reports for the scheduler's own class.
    ``lower_cpu_s`` are CPU seconds from the name of the network to the problem, ``bound_cpu_s``
    those of the exact bound; ``peak_checked_mb`` is when all that is checked.

    Raises
    ------
    ScheduleError
        No schedule within the limit, an illegal one, or one below the bound.
    """
    problem, mapper = timed(case.problem)
    goal = objective_named(objective, problem.machine)
    request = Request(objective=goal, tolerance=tolerance, time_limit_s=limit_s, threads=threads)
    outcome, schedule, totals, figures = staged(problem, scheduler, request)
    value, known = totals.value(goal), outcome.class_bound
    duals = outcome.certificate or certificate(problem, goal, schedule)
    least, bounding = timed(lambda: bound(problem, duals))
    if least > value:
        raise ScheduleError(f"{scheduler}: the bound is above the schedule, one of them is wrong")
    return {
        **figures,
        "lower_cpu_s": mapper["cpu_s"],
        "bound_cpu_s": bounding["cpu_s"],
        "peak_checked_mb": peak_mb(),
        "gap": float(value / least - 1),
        "class_gap": None if known is None else float(value / Fraction(known.value) - 1),
        "value": float(value),
    }


def certificate(problem: Problem, objective: Objective, schedule: Schedule) -> Certificate:
    """Find dual values of the relaxation in the schedule's order, for one that came without."""
    order = other_order(schedule.steps.operation)
    listed = problem if order is None else reorder(problem, order)
    outcome = find(BOUNDER).load()(listed, Request(objective=objective, tolerance=1e-5))
    if outcome.certificate is None:
        raise ScheduleError(f"{BOUNDER}: no bound")
    return replace(outcome.certificate, order=order)
