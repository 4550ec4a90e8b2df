"""The best order of a list's operations that is found: list scheduling, then moves from there.

No order here is proved best: :mod:`spmopt.verifier.any_order` bounds the cost of all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import inf
from operator import attrgetter
from time import monotonic

from spmopt.core.joint_size import decide_together
from spmopt.core.order import reorder
from spmopt.core.params import OrderParams
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.solving.barriers import with_barriers
from spmopt.solving.checked_calls import RESIDENCY, CheckedCalls
from spmopt.solving.list_scheduling import candidates
from spmopt.solving.order_moves import Ordered, OrderMoves, ScheduleAll
from spmopt.solving.run_parallel import AT_ONCE, Case, schedule_all

_JUDGE = "belady-size:granularity=page"
"""Who compares orders first: a policy takes a second where ``page`` takes a minute. Then the best
of each kind, and the layer-by-layer plan, by ``page``: the policy alone takes an order of GNMT
forward on 24 MB for 2 % better than the list that is 6 % worse."""


def search_orders(
    problem: Problem,
    request: Request,
    *,
    work: float,
    value: Callable[[Result], Fraction | None] = attrgetter("value"),
    limit_s: float | None = None,
) -> Ordered | None:
    """Return the best order found within a request's time; None where nothing can be scheduled.

    Parameters
    ----------
    work
        Of moves, see :class:`~spmopt.solving.order_moves.OrderMoves`.
    value
        Function of a run to minimize; None without a schedule.
    limit_s
        Of the time to schedule an order; None: the rest of the request's.
    """

    def by(name: str) -> ScheduleAll:
        def schedule(cases: Sequence[Case]) -> list[Result | None]:
            return schedule_all(name, cases, threads=request.threads, limit_s=limit_s)

        return schedule

    near, judge = by(RESIDENCY), by(_JUDGE)
    best: dict[float, tuple[Fraction | float, Ints]] = {}
    different = _different(problem, request.params.orders)
    while some := list(islice(different, AT_ONCE)):
        # At least one round, however late: the caller needs a best order.
        if best and request.remaining_s() <= 0:
            break
        runs = judge([(reorder(problem, order), request) for _, order in some])
        for (kind, order), run in zip(some, runs, strict=True):
            known = None if run is None else value(run)
            found = inf if known is None else known
            if kind not in best or found < best[kind][0]:
                best[kind] = found, order
    # Orders of several kinds differ by more than this, so that tight gaps would be wasted.
    loose = replace(request, tolerance=max(request.params.orders.compared_gap, request.tolerance))
    moves = OrderMoves(problem, near, loose, work=inf, value=value)
    tried = moves.try_all([order for _, order in best.values()])
    final = [each for each in tried if each is not None]
    if not final:
        return None
    closer = OrderMoves(problem, near, request, work=work, value=value)
    return closer.improve(min(final, key=lambda each: each.value))


def _different(problem: Problem, params: OrderParams) -> Iterator[tuple[float, Ints]]:
    """Yield orders with their kind, each once, as many as it takes no minutes to compare."""
    known = set[bytes]()
    for kind, order in candidates(problem):
        if order.tobytes() in known:
            continue
        if len(known) >= AT_ONCE and (len(known) + 1) * order.size > params.compared_operations:
            break
        known.add(order.tobytes())
        yield kind, order


def best_of_other_orders(calls: CheckedCalls, spent_s: float) -> Result | None:
    """Search orders by an optimizer of steps, for a scheduler that decides the order too.

    ``spent_s`` of the time limit are over. Returns the best result, valued by the objective asked
    for; its certificate is of steps in its order.
    """
    objective, request = calls.request.objective, with_barriers(calls.request)
    if decide_together(calls.problem):  # all of it runs in this process, where work is counted
        request = request.anew().share(calls.params.orders_fraction)
    else:
        left_s = max(0.0, request.time_limit_s - spent_s)
        limit_s = calls.params.orders_large_fraction * left_s
        request = replace(request, time_limit_s=limit_s, started=monotonic())
    calls.request.report("searching orders", None)
    best = search_orders(
        calls.problem,
        request,
        work=inf,  # as long as there is time
        value=lambda run: run.value_for(objective),
    )
    if best is None or best.run.schedule is None:
        return None
    found, plan = best.run, best.run.residency_plan
    steps = best.run.schedule.steps
    # The run numbers operations of the reordered problem; the result those of the original.
    own = replace(steps, operation=best.order[steps.operation])
    schedule = replace(best.run.schedule, steps=own)
    origin = f"{RESIDENCY} in another order"
    checked = calls.check(origin, calls.problem, schedule, plan and replace(plan, steps=own))
    return replace(found.with_schedule_of(checked), objective=objective)
