"""A flow of least cost in OR-Tools; only for the process of :mod:`formulations.solver.apart`."""

from __future__ import annotations

import numpy as np
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from spmopt.core.table import Ints


def cheapest(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> Ints | None:
    """Return (arcs,) flow of least cost that brings ``supply`` (nodes,) to where it is negative.

    By cost scaling and push-relabel (Goldberg, Journal of Algorithms 22, 1997). None where
    numbers are too large for 64 bits.
    """
    network = SimpleMinCostFlow()
    arcs = network.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, cost)
    network.set_nodes_supplies(np.arange(supply.size), supply)
    if network.solve() != network.OPTIMAL:
        return None
    return np.asarray(network.flows(arcs), np.int64)
