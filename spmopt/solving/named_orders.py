"""Orders of a list's operations by name, as users ask for them."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

import numpy as np

from spmopt.core.errors import unknown
from spmopt.core.instance import Instance
from spmopt.core.order import depth_first
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import find
from spmopt.solving.order_moves import Schedule
from spmopt.solving.orders import JUDGE, Judges, searched
from spmopt.solving.records import Run
from spmopt.solving.runner import ScheduleRunner

LISTED, DEPTH_FIRST, SEARCHED = ORDERS = ("listed", "depth-first", "searched")
"""Orders by name; the first is the default."""
_FINAL_S = 10.0
"""Seconds of ``page`` for each order."""
_MOVES = 3_000
"""The work of moves (:class:`~spmopt.solving.order_moves.OrderMoves`): some seconds."""


def order_named(instance: Instance, name: str) -> Ints | None:
    """Return the operation that each step of an order runs; None for the list as given.

    ``searched`` is the best of several orders, the list and the depth-first one among them, by the
    time that their schedules take, and of those near it.

    Raises
    ------
    InputError
        There is no order of that name.
    """
    if name not in ORDERS:
        raise unknown("order", name, ORDERS)
    if name == LISTED:
        return None
    if name == DEPTH_FIRST:
        found = depth_first(instance)
    else:
        best = searched(instance, _judges(), Request(time_limit_s=float("inf")), work=_MOVES)
        found = np.arange(len(instance.operations)) if best is None else best.order
    return None if np.array_equal(found, np.arange(found.size)) else found


def _judges() -> Judges:
    def run(name: str) -> Schedule:
        def schedule(instance: Instance, request: Request) -> Run:
            own = replace(request, started=monotonic(), time_limit_s=_FINAL_S)
            return ScheduleRunner(instance, own).alone(find(name))

        return schedule

    return Judges(
        quick=run(JUDGE),
        near=run("page"),
        value=lambda run: None if run.legal is None else run.legal.value,
    )
