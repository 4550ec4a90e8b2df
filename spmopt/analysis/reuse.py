"""Reuse: each use of contents that were on chip before, its scope.

And whether a schedule captures it. A *reuse interval* lies between two uses of the same contents of
a tensor: from one access to the next, if that one reads. Keeping the tensor through the interval
spares its bytes one way over the DRAM boundary. Intervals are sorted into the five scopes of Tsai
(2021), section 3.3, each into the first that applies:

1. forward-backward: the uses are of different passes;
2. intra-layer: both uses are in one layer, with no other layer between them; and, within one
   operation, the fetches after the first over an operand that is not on chip;
3. recurrent weight: of a weight or of its gradient, by operations of one kind (a layer unrolled
   in time, or shared);
4. adjacent-layer: the layer that runs next;
5. block: any later layer of the same pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spmopt.analysis.layers import StepLayers
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.schedule import Residency
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier import ScheduleArrays

_WEIGHTS = (TensorKind.WEIGHT, TensorKind.WEIGHT_GRADIENT)


class Scope(IntEnum):
    """Reuse scopes, shorter ones first."""

    INTRA_LAYER = 0
    ADJACENT_LAYER = 1
    BLOCK = 2
    RECURRENT_WEIGHT = 3
    FORWARD_BACKWARD = 4

    @property
    def words(self) -> str:
        """As the paper spells it."""
        joined = self in (Scope.INTRA_LAYER, Scope.ADJACENT_LAYER, Scope.FORWARD_BACKWARD)
        return self.name.lower().replace("_", "-" if joined else " ")


@dataclass(frozen=True, kw_only=True, eq=False)
class Reuse:
    """Intervals and repeated fetches, (a,) each: the interval of an access is the one after it.

    Attributes
    ----------
    scope
        :class:`Scope` of the interval, or -1 where the contents are not used again.
    possible_bytes, captured_bytes
        Bytes of the interval (the tensor's size, or 0), and how many of them stay on chip
        throughout.
    repeated_bytes, spared_bytes
        Bytes that the fetches after the first would move with nothing on chip, and how many of
        them the resident part spares. They belong to the intra-layer scope.
    """

    scope: Ints
    possible_bytes: Ints
    captured_bytes: Ints
    repeated_bytes: Ints
    spared_bytes: Ints


def reuse(view: ScheduleArrays, of: StepLayers) -> Reuse:
    """Classify every interval of a legal schedule, and measure its captured bytes."""
    line = view.timeline
    scope = scopes(view.problem, line, of)
    interval = np.flatnonzero(scope >= 0)
    size = line.size_bytes[line.tensor]
    captured = np.zeros_like(size)
    tensor, begin, end = line.tensor[interval], line.step[interval], line.step[line.next[interval]]
    first, last = view.rows.last(tensor, begin), view.rows.last(tensor, end)
    captured[interval] = least_resident(view.schedule.residency, first, last, begin, end)
    times = repeats(line)
    return Reuse(
        scope=scope,
        possible_bytes=np.where(scope >= 0, size, 0),
        captured_bytes=captured,
        repeated_bytes=times * size,
        spared_bytes=times * view.resident_bytes,
    )


def scopes(problem: Problem, line: Timeline, of: StepLayers) -> Ints:
    """Return (a,) :class:`Scope` of the interval after each access, or -1."""
    scope = np.full(line.step.size, -1, np.int64)
    interval = np.flatnonzero((line.next >= 0) & line.live_after)
    begin, end = line.step[interval], line.step[line.next[interval]]
    distance = of.run[end] - of.run[begin]
    weight = np.array([tensor.kind in _WEIGHTS for tensor in problem.tensors], bool)
    kind = _kinds(problem, line)
    scope[interval] = np.select(
        [
            of.backward[begin] != of.backward[end],
            distance == 0,
            weight[line.tensor[interval]] & (kind[begin] == kind[end]),
            distance == 1,
        ],
        [Scope.FORWARD_BACKWARD, Scope.INTRA_LAYER, Scope.RECURRENT_WEIGHT, Scope.ADJACENT_LAYER],
        Scope.BLOCK,
    )
    return scope


def bytes_needed(view: ScheduleArrays, found: Reuse) -> int:
    """Return bytes that must come in from DRAM, given captured and resident bytes.

    Those of first reads, of intervals where they are not captured, and of repeated fetches.
    Whatever a schedule brings in beyond that, it drops before it is used.
    """
    line = view.timeline
    size = line.size_bytes[line.tensor]
    first = (line.previous < 0) & (line.kind != Access.WRITE)
    inward, _ = _directions(line)
    again = inward * (size - view.resident_bytes)
    missed = found.possible_bytes - found.captured_bytes
    return int(missed.sum() + size[first].sum() + again.sum())


def repeats(line: Timeline) -> Ints:
    """Count (a,) how often a byte that is not on chip crosses the boundary after the first time."""
    inward, outward = _directions(line)
    return inward + outward


def _directions(line: Timeline) -> tuple[Ints, Ints]:
    """Return repeats into the scratchpad and out of it (rules R3 and R4).

    A read of ``p`` passes has ``p - 1``; so have a result and its partial sums each, unless it
    is dead afterwards.
    """
    times = np.where(line.required_resident, 0, line.fetches - 1)
    inward = (line.kind != Access.WRITE) | line.live_after
    outward = (line.kind != Access.READ) & line.live_after
    return times * inward, times * outward


def least_resident(table: Residency, first: Ints, last: Ints, begin: Ints, end: Ints) -> Ints:
    """Return the fewest resident bytes of a tensor in steps begin to end, both included, per pair.

    ``first`` and ``last`` are the rows with the latest begin at or before these steps, or -1.
    """
    result = np.zeros(begin.size, np.int64)
    held = np.flatnonzero(first >= 0)
    low, high = first[held], last[held]
    # The first row may have ended before the interval, the last one within it.
    through = (table.end[low] > begin[held]) & (table.end[high] > end[held])
    through &= _unbroken(table, low, high)
    held, low, high = held[through], low[through], high[through]
    result[held] = over_ranges(np.minimum, table.size_bytes, low, high)
    return result


def over_ranges(combined: np.ufunc, values: Ints, first: Ints, last: Ints) -> Ints:
    """Combine ``values[first]`` to ``values[last]``, both included, per pair."""
    ends = np.stack((first, last + 1), axis=1).ravel()
    found: Ints = combined.reduceat(np.append(values, 0), ends)[::2]
    return found


def _unbroken(table: Residency, low: Ints, high: Ints) -> Bools:
    """Whether rows low to high of one tensor follow each other without a step between."""
    breaks = np.zeros(len(table) + 1, np.int64)
    breaks[1:-1] = np.cumsum(table.end[:-1] != table.begin[1:])
    unbroken: Bools = breaks[high] == breaks[low]
    return unbroken


def _kinds(problem: Problem, line: Timeline) -> Ints:
    """Number (n,) the kind of each step's operation; those without one are all distinct."""
    kinds = [problem.operations[index].kind for index in line.order.tolist()]
    names = [kind or f"\0{step}" for step, kind in enumerate(kinds)]
    return np.unique(names, return_inverse=True)[1]
