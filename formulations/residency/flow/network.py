"""Which residency intervals fit together: a flow of least cost, and the dual values that prove it.

These are intervals of steps with a saving each, and each step has capacity for so many: the
matrix has consecutive ones in its columns. With the idle capacity of each step as a variable, the
difference of each row and the one before leaves one 1 and one -1 in a column: a network. Its
nodes are the boundaries of the steps; capacity flows from boundary to boundary, idle, and back
along an interval that it takes the place of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.reuse_intervals import pages_in_steps
from formulations.solver.apart import StoppedError, call
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_WORKER = "formulations.residency.flow.ortools_worker:cheapest"


@dataclass(frozen=True, kw_only=True, eq=False)
class Packing:
    """Residency intervals, and capacity for them.

    Attributes
    ----------
    capacity : (n,)
        Units that fit in each step.
    begin, end : (k,)
        Steps [begin, end) of each interval.
    most : (k,)
        Units of it.
    saving : (k,)
        Of each unit, at least 1.
    """

    capacity: Ints
    begin: Ints
    end: Ints
    most: Ints
    saving: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Packed:
    """An optimum: ``kept`` (k,) units of each interval; ``dual`` (n,) of a unit of capacity."""

    kept: Ints
    dual: Ints


def pack(packing: Packing, request: Request) -> Packed | None:
    """Keep the bytes that save most; None if the time was too short, or numbers are too large."""
    kept = packing.most
    # Where all fits there is nothing to decide.
    if (_use(packing, kept) > packing.capacity).any():
        found = _flow(packing, request)
        if found is None:
            return None
        kept = found
    return Packed(kept=kept, dual=np.diff(_potentials(packing, kept)))


def _use(packing: Packing, units: Ints) -> Ints:
    """Return (n,) the room that so many units of each interval take up."""
    return pages_in_steps(packing.capacity.size, packing.begin, packing.end, units)


def _flow(packing: Packing, request: Request) -> Ints | None:
    """Keep all units but those that make room: half the time of choosing the ones to keep."""
    steps = np.arange(packing.capacity.size)
    nothing = np.zeros_like(steps)
    tail = np.concatenate((steps, packing.end))
    head = np.concatenate((steps + 1, packing.begin))
    capacity = np.concatenate((packing.capacity, packing.most))
    # Without their common divisor costs are less likely to pass 64 bits.
    cost = np.concatenate((nothing, packing.saving // np.gcd.reduce(packing.saving)))
    # Consecutive ones: the difference of two steps' rows is a node of the network.
    supply = np.diff(packing.capacity - _use(packing, packing.most), prepend=0, append=0)
    limit = request.remaining_s()
    try:
        flow: Ints | None = call(
            _WORKER, tail, head, capacity, cost, supply, time_limit_s=limit, stop=request.stop
        )
    except StoppedError:
        return None
    return None if flow is None else packing.most - flow[steps.size :]


def _potentials(packing: Packing, kept: Ints) -> Ints:
    """Return (n + 1,) the potentials of an optimal flow: sums of dual values up to each boundary.

    The least that rise where there is no idle capacity and nowhere else, by at least its saving
    over an interval that could be longer and by at most its saving over one that could be less:
    longest paths, by rounds of the Bellman-Ford method over all arcs at once. In each round a
    running maximum hands the dual values on over any number of steps.
    """
    # Complementary slackness: idle capacity has no dual value.
    tight = _use(packing, kept) == packing.capacity
    node = np.concatenate(([0], np.cumsum(tight)))
    begin, end = node[packing.begin], node[packing.end]
    # A unit more would cost at least its saving, one less at most.
    more, less = kept < packing.most, kept > 0
    tail = np.concatenate((begin[more], end[less]))
    head = np.concatenate((end[more], begin[less]))
    rise = np.concatenate((packing.saving[more], -packing.saving[less]))
    order = np.argsort(head, kind="stable")
    tail, head, rise = tail[order], head[order], rise[order]
    # Arcs by their head, for one reduction a round.
    first = np.flatnonzero(np.diff(head, prepend=-1))
    target = head[first]
    level = np.zeros(int(node[-1]) + 1, np.int64)
    while target.size:
        longer = level.copy()
        longer[target] = np.maximum(level[target], np.maximum.reduceat(level[tail] + rise, first))
        np.maximum.accumulate(longer, out=longer)
        if np.array_equal(longer, level):
            break
        level = longer
    result: Ints = level[node]
    return result
