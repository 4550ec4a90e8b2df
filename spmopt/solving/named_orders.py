"""Orders of a list's operations by name, as users ask for them."""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import unknown
from spmopt.core.instance import Instance
from spmopt.core.order import depth_first
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.solving.orders import searched

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
        unlimited = Request(time_limit_s=float("inf"))
        best = searched(instance, unlimited, work=_MOVES, limit_s=_FINAL_S)
        found = np.arange(len(instance.operations)) if best is None else best.order
    return None if np.array_equal(found, np.arange(found.size)) else found
