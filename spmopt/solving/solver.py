"""Solve a problem: run schedulers, verify each schedule, hold all against the best bound.

Nothing leaves here unverified: a schedule that breaks a rule, and a bound above the value of a
verified schedule, are errors of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.clock import cpu_s
from spmopt.core.errors import ContradictionError
from spmopt.core.moved_whole import move_whole
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Incumbent, Policy, Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, able, find
from spmopt.solving.barriers import (
    NOTHING_BETTER,
    by_steps,
    no_worse,
    no_worse_than_list,
    replay,
    with_barriers,
)
from spmopt.solving.case import Case
from spmopt.solving.checked_calls import RESIDENCY
from spmopt.solving.orders import best_of_other_orders
from spmopt.solving.params import SolveParams
from spmopt.solving.records import (
    Run,
    Stopwatch,
    VerifiedSchedule,
    all_failed,
    failed,
    of_other_class,
    order_key,
    proofs_of,
    require_true_bounds,
    result_of,
    within_class,
)
from spmopt.solving.windows import BY_WINDOWS, ORIGIN, improve_by_windows, with_merged_commands

DEFAULTS = SolveParams()


def solve(
    problem: Problem,
    scheduler: str | SchedulerEntry | Policy,
    request: Request,
    params: SolveParams = DEFAULTS,
) -> Result:
    """Schedule ``problem`` by one scheduler; otherwise as :func:`compare`."""
    return compare(problem, [scheduler], request, params)[0]


def compare(
    problem: Problem,
    schedulers: Sequence[str | SchedulerEntry | Policy],
    request: Request,
    params: SolveParams = DEFAULTS,
) -> list[Result]:
    """Run each scheduler, verify each schedule, hold all against the best certified bound.

    A schedule in another order than the problem's is compared with a bound of that order, from the
    relaxation of the problem so reordered. The time limit is for each scheduler. Once
    ``request.stop`` is true, the schedulers not yet begun are skipped, except the first.

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
    entries, features = [find(each) for each in schedulers], problem.machine.features
    for entry in entries:
        entry.require(request.objective, able(request.objective, features=features))
        entry.require_features(features)
    case, runs = Case.of(problem, request, params), list[Run]()
    for entry in entries:
        if not runs or not request.stop():
            runs.append(run_asked(case, entry))
    if all(run.failure is not None for run in runs):
        raise all_failed([run.failure for run in runs if run.failure is not None])

    listed = case.listed if any(run.fusion is not None for run in runs) else None
    every = [*runs, *([] if listed is None else [listed])]
    require_true_bounds(every)
    of_order, of_fusion_plans = (
        case.bounds.best_bounds(every),
        case.bounds.bound_of_fusion_plans(runs),
    )
    best = [
        case.bounds.bound_of_fusion_plan(run) if run.fusion else of_order.get(order_key(run.order))
        for run in runs
    ]
    results = [
        result_of(run, bound, request, of_fusion_plans, case.calls.faults)
        for run, bound in zip(runs, best, strict=True)
    ]
    if listed is None:
        return results
    beside = result_of(listed, of_order.get(order_key(listed.order)), request, of_fusion_plans)
    return [each if each.fusion is None else replace(each, beside=(beside,)) for each in results]


def run_asked(case: Case, entry: SchedulerEntry) -> Run:
    """Run a scheduler that was asked for; the faults of a foreign one do not end the others."""
    case.calls.asked = entry
    if not entry.fusion_plans:  # which begins with another
        case.calls.tell(Incumbent())
    watch = Stopwatch()
    try:
        found = run(case, entry)
        if not entry.is_own:
            for certificate, _ in proofs_of([found]):
                case.calls.require_proof(certificate)
    except Exception as error:  # whatever a policy does
        if entry.is_own:
            raise
        case.forget(entry)
        found = failed(entry, error, watch)
    if found.legal is not None:
        own_class = found.outcome is not None and found.outcome.class_bound is not None
        case.calls.tell_legal(found.legal, other_class=entry.replayed and not own_class)
    return found


def run_alone(problem: Problem, entry: SchedulerEntry, request: Request) -> Run:
    """Run one scheduler and verify its schedule; prove no bound."""
    return run_asked(Case.of(problem, request, DEFAULTS), entry)


def run(case: Case, entry: SchedulerEntry) -> Run:
    """Run one scheduler and verify its schedule."""
    if by_steps(entry, case.request.objective):
        case.replayed[entry.name] = found = run_by_steps(case, entry)
        return found
    match entry.kind:
        case Kind.POLICY:
            return case.policy_run(entry)
        case Kind.RELAXATION:
            return case.calls.call(entry)
    if entry.fusion_plans:
        return choose_fusion(case, entry)
    found = optimize(case, entry)
    if entry.name in (RESIDENCY, "whole"):
        found = with_merged_commands(case.calls, found, found.solve_s)
    if entry.name == RESIDENCY:
        case.listed = found
    return found


def optimize(case: Case, entry: SchedulerEntry) -> Run:
    """Optimize from the best start on, and never return anything worse."""
    starts = [case.calls.call(replace(entry, target=entry.alone))] if entry.alone else []
    if starts and starts[0].legal is not None:
        return starts[0]
    spent_s = sum(each.solve_s for each in starts) + run_starts(case, entry, starts)
    watch = Stopwatch()
    legal = case.schedules_for(entry, starts)
    if entry.replayed:
        legal = improve_starts(case, legal, spent_s)
    watch.stop()
    no_worse_than_start = bool(legal) and entry.granularity != "contiguous"
    if no_worse_than_start:  # no policy has the addresses of a contiguous schedule
        of_class = not entry.replayed or move_whole(case.problem, legal[0].schedule)
        case.calls.tell_legal(legal[0], other_class=not of_class)
    residency_plans = legal or (case.attempt(entry) if case.calls.many else [])
    found = case.calls.call(entry, residency_plans, spent_s + watch.wall_s)
    found = found.plus(watch.wall_s, watch.cpu_s)
    for each in starts:
        found = found.plus(each.solve_s, each.cpu_s)
    return best_of(case, found, legal[0]) if no_worse_than_start else found


def run_starts(case: Case, entry: SchedulerEntry, starts: list[Run]) -> float:
    """Run the starts of an optimizer, into ``starts``; return the seconds of its limit spent.

    Policies, and optimizers that have run before, take none of them.
    """
    spent_s, params = 0.0, case.calls.params
    for start in map(find, case.starts_of(entry)):
        optimizes = start.kind is not Kind.POLICY
        if case.calls.many and not optimizes:
            continue
        if case.request.stop() and any(each.legal is not None for each in starts):
            break
        known = case.replayed.get(start.name)
        if known is None and optimizes:
            is_page = start.name == RESIDENCY
            part = params.replay_page_fraction if is_page else params.replay_start_fraction
            known = run_by_steps(case, start, part)
            spent_s += known.solve_s
        starts.append(known or case.policy_run(start))
    return spent_s


def improve_starts(
    case: Case, legal: list[VerifiedSchedule], spent_s: float
) -> list[VerifiedSchedule]:
    """Search other orders and windows of steps, for a scheduler that decides the order too."""
    watch = Stopwatch()
    other = best_of_other_orders(case.calls, spent_s)
    if other is not None:
        case.bounds.keep_duals(other[0])
        legal = sorted([*legal, other[1]], key=lambda each: each.value)
    if not legal:
        return legal
    better = improve_by_windows(case.calls, legal[0], spent_s + watch.elapsed_s())
    return legal if better is None else [better, *legal]


def best_of(case: Case, found: Run, start: VerifiedSchedule) -> Run:
    """Return the run of an optimizer, with its best start where it has found nothing better."""
    joint = found.entry.replayed  # searches a class that its starts need not be of
    is_start = joint and found.legal is start
    if found.legal is not None and found.legal.value <= start.value and not is_start:
        return found
    if found.outcome is None:
        said = f"scheduler {found.entry.name}: infeasible, but {start.origin} is not"
        raise ContradictionError(said)
    outcome, notes = within_class(found.outcome, start.value), list(found.notes)
    known = found.outcome.class_bound
    if joint and known is not None and not move_whole(case.problem, start.schedule):
        outcome = replace(outcome, class_bound=None)
        notes.append(of_other_class(known, case.request.objective.unit))
    notes.append(BY_WINDOWS if start.origin == ORIGIN else NOTHING_BETTER.format(start.origin))
    return replace(found, outcome=outcome, legal=start, notes=tuple(notes))


def run_by_steps(case: Case, entry: SchedulerEntry, part: float = 1.0) -> Run:
    """Run an optimizer of steps, in a part of the time, and value its schedule by the replay.

    It is no worse than the policies that it starts from there either.
    """
    objective, request = case.request.objective, with_barriers(case.request)
    steps = case.with_barriers(request if part == 1 else request.anew().share(part))
    if part == 1:
        case.steps = steps
    made = run(steps, entry)
    case.bounds.keep_duals(made)
    found = replay(made, objective)
    if entry.fusion_plans:
        case.bounds.keep_duals(steps.listed)
        case.listed = None if steps.listed is None else replay(steps.listed, objective)
        return no_worse_than_list(found, case.listed)
    if entry.granularity == "contiguous":  # no policy has its addresses
        return found
    return no_worse(found, steps.schedules_for(entry), objective)


def choose_fusion(case: Case, entry: SchedulerEntry) -> Run:
    """Choose a fusion plan, starting layer by layer, and never worse than that."""
    calls, params = case.calls, case.calls.params
    page = find(RESIDENCY)
    request = replace(
        case.request.anew().share(params.list_fraction),
        tolerance=max(case.request.tolerance, params.list_gap),
    )
    tileable = case.layer_by_layer(request, page)
    listed = run_asked(tileable, page)
    for certificate, _ in proofs_of([listed]):
        tileable.calls.evaluate(certificate)
    case.policies = tileable.policies | case.policies
    case.listed = case.listed or listed
    calls.asked = entry
    calls.tell(Incumbent())
    starts = [] if listed.legal is None else [listed.legal]
    for start in starts:
        calls.tell_legal(start)
    kept_s = params.commands_fraction * case.request.time_limit_s if calls.commands_cost else 0
    duals = None if listed.outcome is None else listed.outcome.certificate
    found = calls.call(entry, starts, listed.solve_s + kept_s, duals=duals)
    found = better_of_policies(case, found)
    spent_s = listed.solve_s + found.solve_s
    found = found.plus(listed.solve_s, listed.cpu_s)
    found = with_merged_commands(calls, found, spent_s)
    if found.legal is not None and starts and found.legal.value > starts[0].value:
        raise ContradictionError(f"scheduler {entry.name}: worse than {RESIDENCY}, its start")
    return no_worse_than_list(found, case.listed)


def better_of_policies(case: Case, found: Run) -> Run:
    """Take the schedule of a policy on the chosen fusion plan, where it costs less.

    Of a few pages and operations one rounds luckier than the program: 48 cycles, not 50.
    """
    if found.fusion is None or found.legal is None or case.request.stop():
        return found
    on = Case.of(found.fusion.problem, case.request.part(bounds=False), case.calls.params)
    if on.calls.many:
        return found
    began = cpu_s()
    for name in find(RESIDENCY).starts:
        other = on.policy_run(find(name)).legal
        if other is not None and other.order is None and other.value < found.legal.value:
            found = replace(found, legal=other)
            assert found.legal is not None
    return found.plus(0.0, cpu_s() - began)
