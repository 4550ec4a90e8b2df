"""Orders of a list's operations by name, as users ask for them."""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import unknown
from spmopt.core.mappings import fitting_mappings, in_mappings, unfit
from spmopt.core.order import depth_first
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.solving.orders import search_orders
from spmopt.solving.run_parallel import AT_ONCE

LISTED, DEPTH_FIRST, SEARCHED = ORDERS = ("listed", "depth-first", "searched")
"""Orders by name; the first is the default."""


def order_named(problem: Problem, name: str, request: Request | None = None) -> Ints | None:
    """Return the operation that each step of an order runs; None for the layer-by-layer plan.

    ``searched`` is the best of several orders, the list and the depth-first one among them, by the
    time that their schedules take, and of those near it, within the time of a ``request``.
    Orders are compared in the first mappings that fit.

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
        found = depth_first(problem)
    else:
        request = request or Request()
        params = request.params.orders
        # Those that are compared first, and some moves from the best, have time.
        limit_s = min(params.order_s, request.time_limit_s / AT_ONCE**2)
        # To choose mappings for each order would take the limit of each.
        one = problem
        if problem.several_mappings and unfit(problem) is None:
            one = in_mappings(problem, fitting_mappings(problem))
        best = search_orders(one, request, work=params.moved_operations, limit_s=limit_s)
        found = np.arange(len(problem.operations)) if best is None else best.order
    # None, not the identity: schedules of another order are compared with other bounds.
    return None if np.array_equal(found, np.arange(found.size)) else found
