"""Run schedulers on one problem: policies, relaxations, and formulations from the best starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from spmopt.assemble import assemble
from spmopt.core.clock import cpu_s
from spmopt.core.errors import ContradictionError
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Incumbent, Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving.barriers import (
    NOTHING_BETTER,
    by_steps,
    no_worse,
    no_worse_than_list,
    on_whole_plan,
    replay,
    with_barriers,
)
from spmopt.solving.case import Case
from spmopt.solving.checked_calls import RESIDENCY
from spmopt.solving.records import (
    failure_of,
    of_other_class,
    within_class,
)
from spmopt.solving.spare_traffic import with_less_traffic

_LIST_SLACK = 1.5
"""How much longer than counted the layer-by-layer schedule may take from which fusion starts."""


def run_each(case: Case, entries: Sequence[SchedulerEntry]) -> list[Result]:
    """Run schedulers one after the other, until the request is stopped."""
    results = list[Result]()
    for entry in entries:
        # The first one runs even if stopped: each call returns some result.
        if not results or not case.request.stop():
            found = run_asked(case, entry)
            if entry.fusion_plans or entry.name == RESIDENCY:
                found = with_less_traffic(case, found)
            results.append(found)
    return results


def run_asked(case: Case, entry: SchedulerEntry) -> Result:
    """Run a scheduler that was asked for; the faults of a foreign one do not end the others."""
    case.asked = entry
    if not entry.fusion_plans:  # which begins with another
        case.tell(Incumbent())
    wall, cpu = monotonic(), cpu_s()
    try:
        found = run(case, entry)
        # Duals of our own schedulers are evaluated later, for all results together.
        if not entry.is_own and found.certificate is not None and found.fused is None:
            case.require_proof(found.certificate)
    except Exception as error:  # a policy may raise anything
        if entry.is_own:
            raise
        case.forget(entry)
        case.failures.append(failure_of(entry.name, error))
        note = str(case.failures[-1]).removeprefix(f"scheduler {entry.name}: ")
        found = Result(scheduler=entry.name, status=Status.FAILED, notes=(note,))
        found = found.plus(monotonic() - wall, cpu_s() - cpu)
    if found.verified:
        other_class = entry.replayed and found.class_bound is None
        case.tell_schedule(found, other_class=other_class)
    return found


def run_alone(problem: Problem, entry: SchedulerEntry, request: Request) -> Result:
    """Run one scheduler and verify its schedule; prove no bound."""
    return run_asked(Case(problem, request), entry)


def run(case: Case, entry: SchedulerEntry) -> Result:
    """Run one scheduler and verify its schedule."""
    if by_steps(entry, case.request.objective):
        case.replayed[entry.name] = found = run_by_steps(case, entry)
        if case.listed is not None:  # a search for fusion begins with it
            case.replayed.setdefault(RESIDENCY, case.listed)
        return found
    match entry.kind:
        case Kind.POLICY:
            return case.policy_run(entry)
        case Kind.RELAXATION:
            return case.call(entry)
    if entry.fusion_plans:
        return choose_fusion(case, entry)
    found = optimize(case, entry)
    if entry.name == RESIDENCY:
        case.listed = found
    return found


def optimize(case: Case, entry: SchedulerEntry) -> Result:
    """Optimize from the best start on, and never return anything worse."""
    starts = list[Result]()
    spent_s = run_starts(case, entry, starts)
    wall, cpu = monotonic(), cpu_s()
    known = case.schedules_for(entry, starts)
    if entry.replayed:
        known = improve_starts(case, known, spent_s)
    wall, cpu = monotonic() - wall, cpu_s() - cpu
    no_worse_than_start = bool(known) and entry.granularity != "contiguous"
    if no_worse_than_start:  # no policy has the addresses of a contiguous schedule
        case.tell_schedule(
            known[0], other_class=entry.replayed and not is_moved_whole(case.problem, known[0])
        )
    found = case.call(
        entry, known or (case.attempt(entry) if case.many else []), spent_s + wall
    ).plus(wall, cpu)
    for each in starts:
        found = found.plus(each.solve_s, each.cpu_s)
    return best_of(case, entry, found, known[0]) if no_worse_than_start else found


def is_moved_whole(problem: Problem, result: Result) -> bool:
    """Return whether a result has a schedule that moves whole tensors."""
    from spmopt.core.moved_whole import move_whole

    return result.schedule is not None and move_whole(problem, result.schedule)


def run_starts(case: Case, entry: SchedulerEntry, starts: list[Result]) -> float:
    """Run the starts of an optimizer, into ``starts``; return the seconds of its limit spent.

    Policies, and optimizers that have run before, take none of them.
    """
    spent_s, params = 0.0, case.params
    for start in map(find, case.starts_of(entry)):
        optimizes = start.kind is not Kind.POLICY
        if case.many and not optimizes:
            continue
        if case.request.stop() and any(each.verified for each in starts):
            break
        known = case.replayed.get(start.name)
        # Policies are quick: their time is not counted against the limit.
        if known is None and optimizes:
            is_page = start.name == RESIDENCY
            part = params.replay_page_fraction if is_page else params.replay_start_fraction
            known = run_by_steps(case, start, part)
            spent_s += known.solve_s
        starts.append(known or case.policy_run(start))
    return spent_s


def improve_starts(case: Case, known: list[Result], spent_s: float) -> list[Result]:
    """Search other orders, for a scheduler that decides the order too."""
    # Few schedulers search orders, which take long to load.
    from spmopt.solving.orders import best_of_other_orders

    other = best_of_other_orders(case, spent_s)
    if other is not None:
        # The bound of the replay starts from duals of steps, in any order.
        case.bounds.keep_duals(other)
        valued = [(each.value, each) for each in (*known, other) if each.value is not None]
        known = [each for _, each in sorted(valued, key=lambda pair: pair[0])]
    if not known:
        return known
    best = place_in_time(case, known[0])
    return known if best is known[0] else [best, *known]


def place_in_time(case: Case, result: Result) -> Result:
    """Give a plan the addresses for which operations wait least, where it then replays sooner."""
    plan, machine = result.residency_plan, case.problem.machine
    if plan is None or machine.banks or machine.bypass:
        return result
    plan = replace(plan, ranges=None)
    schedule = assemble(case.problem, plan, in_time=True)
    other = case.check(result.origin, case.problem, schedule, plan)
    assert result.value is not None
    assert other.value is not None
    return other if other.value < result.value else result


def best_of(case: Case, entry: SchedulerEntry, found: Result, start: Result) -> Result:
    """Return the result of an optimizer, with its best start where it has found nothing better."""
    assert start.value is not None
    # A returned start must get its own notes and class below, not those of the optimizer.
    is_start = entry.replayed and found.schedule is start.schedule
    if found.value is not None and found.value <= start.value and not is_start:
        return found
    if found.status is Status.INFEASIBLE:
        said = f"scheduler {found.scheduler}: infeasible, but {start.origin} is not"
        raise ContradictionError(said)
    known, notes = found.class_bound, list(found.notes)
    found = within_class(found, start.value)
    # It searches a class that its starts need not be of.
    if entry.replayed and known is not None and not is_moved_whole(case.problem, start):
        found = replace(found, class_bound=None)
        notes.append(of_other_class(known, case.request.objective.unit))
    notes.append(NOTHING_BETTER.format(start.origin))
    return replace(found.with_schedule_of(start), notes=tuple(notes))


def run_by_steps(case: Case, entry: SchedulerEntry, part: float = 1.0) -> Result:
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


def choose_fusion(case: Case, entry: SchedulerEntry) -> Result:
    """Choose a fusion plan, starting layer by layer, and never worse than that."""
    starts, page = list[Result](), find(RESIDENCY)

    def first(in_first_mappings: bool) -> Result:
        params = case.params
        own = case.request.anew()
        request = replace(
            # More of the time is worth more to fusion plans than to the start.
            own.phase(params.list_fraction * own.time_limit_s, slack=_LIST_SLACK),
            tolerance=max(case.request.tolerance, params.list_gap),
            first_mappings=in_first_mappings,
        )
        layers = case.layer_by_layer(request, page)
        listed = run_asked(layers, page)
        # Where time is short, fusion comes first; the bound is evaluated in the end.
        is_soon = listed.solve_s < params.list_fraction * own.time_limit_s / 2
        if is_soon and not in_first_mappings and listed.certificate is not None:
            layers.evaluate(listed.certificate)
        # Results of the full request win over those of its part.
        case.policies = layers.policies | case.policies
        case.listed = case.listed or listed
        case.asked = entry
        case.tell(Incumbent())
        if listed.verified:
            case.tell_schedule(listed)
        starts.append(listed)
        return listed

    found = case.call(entry, starts, first=first)
    asked = bool(starts)
    listed = starts[0] if asked else first(False)
    found = better_of_policies(case, found)
    if found.fused is None and found.verified:  # no time for any other plan
        found = on_whole_plan(found, listed, case.problem)
    worse = found.value is not None and listed.value is not None and found.value > listed.value
    if worse and asked:
        raise ContradictionError(f"scheduler {entry.name}: worse than {RESIDENCY}, its start")
    return no_worse_than_list(found, case.listed)


def better_of_policies(case: Case, found: Result) -> Result:
    """Take the schedule of a policy on the chosen fusion plan, where it costs less.

    Of a few pages and operations one rounds luckier than the program: 48 cycles, not 50.
    """
    if found.fused is None or found.value is None or case.request.is_over():
        return found
    on = Case(found.fused, case.request.part(bounds=False))
    if on.many:
        return found
    began, best = cpu_s(), found.value
    # The policies from which residency starts: those without a fusion plan of their own.
    for name in find(RESIDENCY).starts:
        other = on.policy_run(find(name))
        if other.value is not None and other.order is None and other.value < best:
            found, best = found.with_schedule_of(other), other.value
    return found.plus(0.0, cpu_s() - began)
