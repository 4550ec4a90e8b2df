"""Fusion plans of least sum of values: a shortest path over fused groups; all plans, best first.

Fused groups are arcs from boundary to boundary. Their values are in a table of all begins, ends and
numbers of fusion tiles, or in a list of those that there are: of the fused groups of a training
step one in twenty can be, as no other reads the sums of one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from formulations.fusion.lengths import Beyond
from formulations.solver.program import Floats
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.table import Bools, Ints


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
    return float(reached[-1]), trace(reached, came, at, make)


def trace(
    reached: Floats, came: Ints, at: Sequence[int], make: Callable[[int, int, int], FusedGroup]
) -> FusionPlan:
    """Return the fused groups of a shortest path, none if there is no path.

    Parameters
    ----------
    reached : (n,)
        Distance of each position.
    came : (n, 2)
        Position before it on the path, and number of fusion tiles on the way.
    """
    fusion_plan, end = list[FusedGroup](), len(at) - 1
    while end and np.isfinite(reached[-1]):
        begin, way = came[end].tolist()
        fusion_plan.append(make(at[begin], at[end], way))
        end = begin
    return tuple(reversed(fusion_plan))


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


class SparseArcs:
    """Fused groups (a,) by their ends, the number of fusion tiles and the begin.

    Parameters
    ----------
    there : (n + 1, p, width)
        Whether there is one, by end, way to tile it and begin, as in a table of values.
    first : (n + 1,)
        By end: the begin in the first column.

    Attributes
    ----------
    place, end, column, begin : (a,)
        Their places in that table, in ascending order, and their values.
    """

    def __init__(self, there: Bools, first: Ints) -> None:
        self.count = there.shape[0] - 1
        self.place: Ints = np.flatnonzero(there)
        self.end, self._way, self.column = np.unravel_index(self.place, there.shape)
        self.begin = self.column + first[self.end]
        self._first = np.searchsorted(self.end, np.arange(self.count + 2)).tolist()

    def of(self, table: Floats) -> Floats:
        """Return (a,) their entries in a table."""
        found: Floats = table.reshape(-1)[self.place]
        return found

    def steps(self, tiles: Ints) -> Ints:
        """Return (a,) the steps of each, by the number of fusion tiles of each way."""
        found: Ints = tiles[self._way] * (self.end - self.begin)
        return found

    def groups(self, arcs: Ints | slice = slice(None)) -> list[tuple[int, int, int]]:
        """Return begin, end and way of some."""
        found = np.stack((self.begin[arcs], self.end[arcs], self._way[arcs]), axis=1)
        return [(begin, end, way) for begin, end, way in found.tolist()]

    def index(self, places: Ints) -> Ints:
        """Return which ones are at places of the table."""
        found: Ints = np.searchsorted(self.place, places)
        return found

    def shortest(
        self, cost: Floats, make: Callable[[int, int, int], FusedGroup]
    ) -> tuple[float, FusionPlan]:
        """Return the shortest path from the first boundary to the last; infinite if there is none.

        As :func:`shortest_path`, of costs (a,).
        """
        # Arcs go forward, so that one pass over the ends finds all shortest paths.
        reached = np.full(self.count + 1, np.inf)
        reached[0] = 0.0
        came = np.zeros((self.count + 1, 2), np.int64)
        for end in range(1, self.count + 1):
            first, last = self._first[end], self._first[end + 1]
            if first == last:
                continue
            arcs = cost[first:last] + reached[self.begin[first:last]]
            least = int(arcs.argmin())
            arc = first + least
            reached[end], came[end] = arcs[least], (self.begin[arc], self._way[arc])
        return float(reached[-1]), trace(reached, came, range(self.count + 1), make)

    def ascending(self, cost: Floats, most: Callable[[], float]) -> Iterator[tuple[float, Ints]]:
        """Yield paths and their costs, in ascending order of these, below the ``most`` at a time.

        Costs (a,) may rise in between: a path that then costs more comes again. Best first: the
        bound of a beginning is its cost and the least that can follow, so that the search is A*
        with a perfect heuristic. Of about equal ones the latest goes on: layers are alike, and of
        5e16 paths 5e10 may cost the same. An empty path now and then says that none came for a
        while.
        """
        order = np.argsort(self.begin, kind="stable")
        firsts = np.searchsorted(self.begin[order], np.arange(self.count + 2))
        rest = np.full(self.count + 1, np.inf)
        rest[self.count] = 0.0
        for at in range(self.count - 1, -1, -1):
            arcs = order[firsts[at] : firsts[at + 1]]
            rest[at] = (cost[arcs] + rest[self.end[arcs]]).min(initial=np.inf)
        unit = _EQUAL * float(rest[0]) or 1.0
        number, waiting = 0, [(0.0, 0, float(rest[0]), 0, _Path(None, -1))]
        since = 0
        while waiting and waiting[0][2] < most():
            _, _, known, at, path = heappop(waiting)
            since += 1
            if since == _WHILE:
                yield known, np.empty(0, np.int64)
                since = 0
            if at < self.count:
                arcs = order[firsts[at] : firsts[at + 1]]
                every = float(cost[path.arcs()].sum()) + cost[arcs] + rest[self.end[arcs]]
                further = [
                    (each, int(self.end[arc]), _Path(path, int(arc)))
                    for each, arc in zip(every.tolist(), arcs.tolist(), strict=True)
                    if each < most()
                ]
            else:
                arcs = path.arcs()
                if float(cost[arcs].sum()) <= known:
                    since = 0
                    yield known, arcs
                now = float(cost[arcs].sum())
                further = [(now, at, path)] if now > known else []
            for least, end, longer in further:
                number -= 1  # it breaks ties: paths are not ordered
                heappush(waiting, (round(least / unit), number, least, end, longer))


_EQUAL = 1e-9
"""Of the least cost: differences that are rounding errors."""
_WHILE = 64
"""Beginnings of paths that are continued, at most, before a search tells that it goes on."""


class _Path(NamedTuple):
    """The last arc of a path, and the path to it."""

    before: _Path | None
    arc: int

    def arcs(self) -> Ints:
        found, at = list[int](), self
        while at.before is not None:
            found.append(at.arc)
            at = at.before
        return np.array(found[::-1], np.int64)
