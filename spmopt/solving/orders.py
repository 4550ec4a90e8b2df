"""The best order of a list's operations that is found: list scheduling, then moves from there.

No order here is proved best: what any order costs at least is in
:mod:`spmopt.verifier.any_order`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.order import reordered
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.solving.list_scheduling import candidates
from spmopt.solving.order_moves import Ordered, OrderMoves, Schedule
from spmopt.solving.records import Run

JUDGE = "belady-size:granularity=page"
"""Who compares orders first: a policy takes a second where ``page`` takes a minute. Then the best
of each kind, and the list as given, by ``page``: the policy alone takes an order of GNMT
forward on 24 MB for 2 % better than the list that is 6 % worse."""
_TOLERANCE = 0.01
"""The gap of ``page`` where it compares orders of several kinds."""
_WORK = 60_000
"""Operations that are scheduled in all orders compared, but for the first few: a minute on GNMT
with 22,000 operations, seconds on most networks."""
_FEW = 3
"""Orders that are compared however many operations there are."""
_NEVER = Fraction(10**30)


@dataclass(frozen=True, kw_only=True)
class Judges:
    """Who schedules an instance in the order of its list: quickly, and near the optimum.

    ``value``: of a run, what is to be least; None without a schedule.
    """

    quick: Schedule
    near: Schedule
    value: Callable[[Run], Fraction | None]


def searched(instance: Instance, by: Judges, request: Request, *, work: float) -> Ordered | None:
    """Return the best order found within a request's time; None where nothing can be scheduled.

    ``work``: of moves, see :class:`~spmopt.solving.order_moves.OrderMoves`.
    """
    known = set[bytes]()
    best: dict[float, tuple[Fraction, Ints]] = {}
    for kind, order in candidates(instance):
        if order.tobytes() in known:
            continue
        if len(known) >= _FEW and (len(known) + 1) * order.size > _WORK:
            break
        if known and request.remaining_s() <= 0:
            break
        known.add(order.tobytes())
        value = by.value(by.quick(reordered(instance, order), request))
        value = _NEVER if value is None else value
        if kind not in best or value < best[kind][0]:
            best[kind] = value, order
    loose = replace(request, tolerance=max(_TOLERANCE, request.tolerance))
    moves = OrderMoves(instance, by.near, loose, work=float("inf"), value=by.value)
    final = [each for _, order in best.values() if (each := moves.tried(order)) is not None]
    if not final:
        return None
    closer = OrderMoves(instance, by.near, request, work=work, value=by.value)
    return closer.improved(min(final, key=lambda each: each.value))
