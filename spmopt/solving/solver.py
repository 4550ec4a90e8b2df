"""Solve a problem: run schedulers, verify each schedule, hold all against the best bound.

Nothing leaves here unverified: a schedule that breaks a rule, and a bound above the value of a
verified schedule, are errors of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.joint_size import decide_together
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Incumbent, OnIncumbent, Policy, Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving.barriers import by_steps, no_worse_than_list
from spmopt.solving.case import Case
from spmopt.solving.records import Bound, all_failed, judge
from spmopt.solving.runs import run_each

JOINT = "joint"


def solve(
    problem: Problem,
    scheduler: str | SchedulerEntry | Policy,
    request: Request,
) -> Result:
    """Schedule ``problem`` by one scheduler; otherwise as :func:`compare`."""
    return compare(problem, [scheduler], request)[0]


def solve_by_default(
    problem: Problem,
    entry: SchedulerEntry,
    request: Request,
) -> Result:
    """Schedule ``problem`` where no scheduler is named: a small one also by ``joint``.

    Without barriers between steps only ``joint`` decides order and times of transfers. It begins
    with the schedule of ``entry``, which optimizes steps, and has half of the limit. Of a short
    limit ``entry`` has all: half as long a search of steps loses more than ``joint`` gains.
    """
    joint = find(JOINT)
    long_s = request.params.joint_operation_s * len(problem.operations)
    together = by_steps(entry, request.objective) and decide_together(problem)
    together &= request.time_limit_s >= long_s
    if not together or not joint.takes_features(problem.machine.features):
        return solve(problem, entry, request)
    half = replace(request, time_limit_s=request.time_limit_s / 2)
    found, *others = compare(problem, [entry, joint], half)
    for other in others:  # none once stopped
        best, worse = (other, found) if _is_below(other, found) else (found, other)
        note = f"the better of two: {worse.scheduler} ends at {_speak(worse)}"
        found = replace(best, notes=(*best.notes, note)).plus(worse.solve_s, worse.cpu_s)
    return found


def _is_below(one: Result, other: Result) -> bool:
    return one.value is not None and (other.value is None or one.value < other.value)


def _speak(result: Result) -> str:
    value = result.value
    return "no schedule" if value is None else f"{float(value):,.0f} {result.objective.unit}"


def compare(
    problem: Problem,
    schedulers: Sequence[str | SchedulerEntry | Policy],
    request: Request,
) -> list[Result]:
    """Run each scheduler, verify each schedule, hold all against the best certified bound.

    A schedule in another order than the problem's is compared with a bound of that order, from the
    relaxation of the problem so reordered. The time limit is for each scheduler. Once
    ``request.stop`` is true, the schedulers not yet begun are skipped, except the first.

    One that schedules another problem of the same network is held against the bound of that.

    Raises
    ------
    InputError
        An unknown scheduler, or one that does not support the objective.
    ScheduleError
        All schedulers failed. One of a package or a user that fails beside others has a result of
        status ``failed``, with the reason in its notes.
    ContradictionError
        An illegal schedule or an untrue bound of a scheduler of the program.
    """
    entries = [find(each) for each in schedulers]
    problems = [entry.rewrite_problem(problem) for entry in entries]
    pairs = list(zip(entries, problems, strict=True))
    own = [entry for entry, each in pairs if each is problem]
    others = [_compare_on(each, entry, request) for entry, each in pairs if each is not problem]
    if not others:
        return _compare(problem, own, request)
    left, made = iter(others), iter(_compare(problem, own, request) if own else [])
    results = [next(made if each is problem else left, None) for each in problems]
    return [each for each in results if each is not None]


def _compare_on(other: Problem, entry: SchedulerEntry, request: Request) -> Result:
    """Schedule another problem of the network; its bound holds for no other schedule."""

    def tell(news: Incumbent) -> None:
        request.on_incumbent(replace(news, bound=None))

    (found,) = _compare(other, [entry], replace(request, on_incumbent=tell))
    return replace(found, instead=other)


def _compare(problem: Problem, entries: Sequence[SchedulerEntry], request: Request) -> list[Result]:
    features = problem.machine.features
    for entry in entries:
        entry.require(request.objective, features)
        entry.require_features(features)
    case = Case(problem, request)
    results = run_each(case, entries)
    if len(case.failures) == len(results):
        raise all_failed(case.failures)

    # Residency may have run after a fusion search, and longer than its start.
    results = [no_worse_than_list(each, case.listed) for each in results]
    # The layer-by-layer start of a fusion search is a result too, and its bounds hold.
    listed = case.listed if any(each.fused is not None for each in results) else None
    every = [*results, *([] if listed is None else [listed])]
    of_order = case.bounds.best_bounds(every)
    of_fusion_plans = case.bounds.bound_of_fusion_plans(results)

    own = of_order.get(None)
    best = [
        _bound_of_plan(case, each, own) if each.fused else of_order.get(each.order_key)
        for each in results
    ]
    results = [
        judge(each, bound, request, of_fusion_plans, case.faults)
        for each, bound in zip(results, best, strict=True)
    ]
    if listed is None:
        return results
    beside = (judge(listed, of_order.get(listed.order_key), request, of_fusion_plans),)
    return [each if each.fused is None else replace(each, beside=beside) for each in results]


def _bound_of_plan(case: Case, result: Result, listed: Bound | None) -> Bound | None:
    """Return the bound of a fusion plan; without tiles the layer-by-layer one holds, too."""
    found = case.bounds.bound_of_fusion_plan(result)
    assert result.fused is not None
    if listed is None or any(group.count > 1 for group in result.fused.fusion_plan):
        return found
    return listed if found is None or listed.value > found.value else found


def compare_fused(
    problem: Problem,
    entries: Sequence[SchedulerEntry],
    request: Request,
    given: Problem | None = None,
) -> list[Result]:
    """Run schedulers layer by layer, on a fusion plan, and those that choose one.

    Parameters
    ----------
    given
        A fusion plan for all schedulers; without it policies run on the best one found.

    Returns
    -------
    list
        Results layer by layer, of the fusion plan, and of those that chose one. Of ``entries``
        some may be missing at the end, where the request was stopped.
    """
    results = compare(problem, entries, request)
    pairs = list(zip(results, entries, strict=False))
    listed = [result for result, entry in pairs if not entry.fusion_plans]
    chosen = [result for result, entry in pairs if entry.fusion_plans]
    best = next((each for each in chosen if each.fused is not None), None)
    # Without a chosen plan there is nothing to run policies on.
    if best is None or best.fused is None or request.stop():
        return [*listed, *chosen]
    of_fusion_plans = best.fusion_bound
    if given is not None:
        able = [e for _, e in pairs if not e.fusion_plans and e.kind is not Kind.RELAXATION]
        able = [entry for entry in able if not entry.rewrite]
        found = compare_on(
            given,
            able,
            request,
            certificate=best.fusion_certificate,
            of_fusion_plans=of_fusion_plans,
        )
        beside = (*best.beside, best)
        return [*listed, *(replace(each, beside=beside) for each in found), *chosen]
    able = [entry for _, entry in pairs if entry.kind is Kind.POLICY and not entry.rewrite]
    # Untiled groups only: the policies have run on the same operations layer by layer.
    if not able or all(fused_group.micro_batches == 1 for fused_group in best.fused.fusion_plan):
        return [*listed, *chosen]
    bound = None
    if best.bound is not None and best.certificate is not None:
        bound = Bound(value=best.bound, certificate=best.certificate)
    found = compare_on(
        best.fused,
        able,
        request,
        bound=bound,
        certificate=best.fusion_certificate,
        of_fusion_plans=of_fusion_plans,
    )
    return [*listed, *found, *chosen]


def compare_on(
    fused: Problem,
    schedulers: Sequence[str | SchedulerEntry | Policy],
    request: Request,
    *,
    bound: Bound | None = None,
    certificate: FusionCertificate | None = None,
    of_fusion_plans: Fraction | None = None,
) -> list[Result]:
    """Run schedulers on the problem of a fusion plan; otherwise as :func:`compare`.

    Parameters
    ----------
    fused
        Problem of the fusion plan.
    bound
        A bound on schedules of the residency plan; without it the schedulers prove one.
    certificate, of_fusion_plans
        Dual values and the bound over the fusion space that they prove, for the results.
    """
    own = replace(request, on_incumbent=_on_fusion_plan(request))
    case = Case(fused, own)
    results = run_each(case, [find(each) for each in schedulers])
    listed = [each for each in results if each.order is None]
    best = bound or case.bounds.best_bounds(listed).get(None)
    return [
        judge(
            replace(each, fused=fused, fusion_certificate=certificate)
            if each.status is Status.UNKNOWN
            else each,
            best if each.order is None else None,
            request,
            of_fusion_plans,
            case.faults,
        )
        for each in results
    ]


def _on_fusion_plan(request: Request) -> OnIncumbent:
    """Tell of schedules of a fusion plan; their bounds hold for no others."""

    def tell(news: Incumbent) -> None:
        name = f"{news.scheduler} on the fusion plan"
        request.on_incumbent(replace(news, scheduler=name, bound=None, of_fusion_plans=True))

    return tell
