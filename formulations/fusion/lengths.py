"""Fused groups with values of their own, and lower bounds on longer ones of a long list.

Tables of values have, of each end, the begins of the fused groups that are not longer than a list
of so many operations may have them (:func:`~spmopt.core.fusion.certificate.longest_valued`): all of
most lists. The value of a longer one is the sum over its blocks, runs that begin at multiples of
their length, and over the operations beside these. It is the difference of a figure of its end and
one of its begin, so that the best begin is the least in a window that slides along.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import longest_valued
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.table import Bools, Ints


class Lengths:
    """Places of fused groups in tables.

    Attributes
    ----------
    longest
        Operations of the longest fused group that has a place.
    first : (n + 1,)
        By end: begin of the fused group in the first column.
    width
        Columns.
    """

    def __init__(self, count: int, ways: int) -> None:
        self.count, self.longest = count, longest_valued(count, ways)
        self.width = count + 1 if self.all else self.longest
        self.first: Ints = np.maximum(np.arange(count + 1) - self.width, 0)

    @property
    def all(self) -> bool:
        """Whether all fused groups have places."""
        return self.longest == self.count

    def has(self, fused_group: FusedGroup) -> bool:
        """Return whether a fused group has a place."""
        return fused_group.end - fused_group.begin <= self.longest

    def column(self, fused_group: FusedGroup) -> int:
        """Return the column of a fused group that has a place."""
        return fused_group.begin - int(self.first[fused_group.end])

    def begins(self, figure: Floats) -> Floats:
        """Return (n + 1, width) a figure (n + 1,) of the begins of fused groups."""
        padded = np.concatenate((figure, np.zeros(self.width, figure.dtype)))
        found: Floats = np.lib.stride_tricks.sliding_window_view(padded, self.width)[self.first]
        return found

    def between(self, upto: Floats) -> Floats:
        """Return (n + 1, width) the increase of a figure (n + 1,) at ends of fused groups."""
        found: Floats = upto[:, None] - self.begins(upto)
        return found

    def none(self, reaches: Sequence[int]) -> Bools:
        """Return (n + 1, width) whether a place is of no fused group, by the farthest end (n,)."""
        end = np.arange(self.count + 1)
        reach = self.begins(np.array([*reaches, -1], float))
        found: Bools = (reach < end[:, None]) | (
            np.arange(self.width) >= (end - self.first)[:, None]
        )
        return found


@dataclass(frozen=True)
class Beyond:
    """Values of fused groups that are longer than those with places.

    Attributes
    ----------
    longest
        Operations of those.
    upto, before : (p, n + 1)
        By number of fusion tiles: a value is that of ``upto`` at its end, less ``before`` at its
        begin.
    first : (p, n + 1)
        By end: the first begin of such a fused group.
    """

    longest: int
    upto: Floats
    before: Floats
    first: Ints


def blocks(alone: Floats, proved: dict[int, float], length: int) -> tuple[Floats, Floats]:
    """Return (n + 1,) the figures of ends, and those of begins, of fused groups of some tiles.

    Parameters
    ----------
    alone : (n,) Lower bound on each operation.
    proved
        Lower bounds on blocks of a ``length``, by their number.
    """
    upto, place = np.concatenate(([0.0], np.cumsum(alone))), np.arange(alone.size + 1)
    block = np.diff(upto[::length])
    for number, value in proved.items():
        # A block costs at least its program, and at least its operations one by one.
        block[number] = max(block[number], value)
    whole = np.concatenate(([0.0], np.cumsum(block)))
    # Only whole blocks inside of the group count; the operations beside them count alone.
    last, following = place // length, np.minimum(-(-place // length), block.size)
    ends = whole[last] + upto - upto[last * length]
    begins = whole[following] - (upto[following * length] - upto)
    return ends, begins


def shortest_path(
    table: Floats,
    at: Sequence[int],
    make: Callable[[int, int, int], FusedGroup],
    beyond: Beyond | None = None,
) -> tuple[float, FusionPlan]:
    """Return the shortest path from the first to the last of some positions, by these.

    It is infinite, and empty, if there is none.

    Parameters
    ----------
    table : (len(at), p, width)
        Costs of fused groups, by end, number of fusion tiles, and begin: the last column is that
        before the end, or the first column the first position.
    make
        Of begin, end and number of fusion tiles, its place in the table.
    beyond
        Costs of longer fused groups; without it there are none.
    """
    width = table.shape[2]
    reached = np.full(len(at), np.inf)
    reached[0] = 0.0
    came = np.zeros((len(at), 2), np.int64)
    longer = None if beyond is None else _Windows(beyond, reached)
    for end in range(1, len(at)):
        first = max(end - width, 0)
        # Ends ascend, so that all distances before are final.
        arcs = table[end, :, : end - first] + reached[first:end]
        way, begin = divmod(int(arcs.argmin()), end - first)
        reached[end], came[end] = arcs[way, begin], (first + begin, way)
        if longer is not None:
            value, begin, way = longer.best(end)
            if value < reached[end]:
                reached[end], came[end] = value, (begin, way)
    fusion_plan, end = list[FusedGroup](), len(at) - 1
    while end and np.isfinite(reached[-1]):
        begin, way = came[end].tolist()
        fusion_plan.append(make(at[begin], at[end], way))
        end = begin
    return float(reached[-1]), tuple(reversed(fusion_plan))


class _Windows:
    """Best begins of long fused groups to ends that ascend one by one."""

    def __init__(self, beyond: Beyond, reached: Floats) -> None:
        self.beyond, self.reached = beyond, reached
        self.waiting: list[deque[tuple[float, int]]] = [deque() for _ in beyond.upto]
        self.upto, self.before, self.first = (
            each.tolist() for each in (beyond.upto, beyond.before, beyond.first)
        )

    def best(self, end: int) -> tuple[float, int, int]:
        """Return the least way to an end, the begin of its last group, and number of tiles."""
        found = np.inf, 0, 0
        begin = end - self.beyond.longest - 1
        if begin < 0:
            return found
        before = float(self.reached[begin])
        for way, waiting in enumerate(self.waiting):
            value, first = before - self.before[way][begin], self.first[way][end]
            # One that was worse before is never the best again.
            while waiting and waiting[-1][0] >= value:
                waiting.pop()
            waiting.append((value, begin))
            while waiting and waiting[0][1] < first:
                waiting.popleft()
            if waiting and waiting[0][0] + self.upto[way][end] < found[0]:
                found = waiting[0][0] + self.upto[way][end], waiting[0][1], way
        return found
