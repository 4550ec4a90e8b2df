"""Fusion plans that differ from another in one fused group or boundary.

Programs of groups know sums of bytes, not whole pages, nor the order of loads. So a plan for which
they promise no more may have the better schedule: one of more tiles, which take less room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf, log2

from formulations.fusion.paths import FusedGroupArcs
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan


class Neighborhood:
    """The neighbors of a fusion plan, the most promising first.

    A group is tiled in another way, merged with the next or cut in two, or a boundary between two
    moves by an operation.

    ``arcs``: costs of groups that find on chip what they need of others; ``alone``: of those that
    leave and find nothing. Most schedules are between the two.
    """

    def __init__(self, arcs: FusedGroupArcs, alone: FusedGroupArcs, fusion_plan: FusionPlan):
        self._arcs, self._alone = arcs, alone
        found = dict[FusionPlan, float]()
        for old, new, distance in _changes(arcs, fusion_plan):
            at = fusion_plan.index(old[0])
            plan = (*fusion_plan[:at], *new, *fusion_plan[at + len(old) :])
            if plan == fusion_plan:
                continue
            found[plan] = min(found.get(plan, inf), distance)
        # Of equal costs small changes come first, so that all groups have their turn.
        self._waiting = [
            (self._cost(plan), far, number, plan)
            for number, (plan, far) in enumerate(found.items())
        ]
        heapify(self._waiting)

    def next(self, most: float, stop: Callable[[], bool]) -> FusionPlan:
        """Return the next neighbor of which programs do not prove ``most``; empty if none is."""
        while self._waiting and not stop():
            cost, far, number, plan = heappop(self._waiting)
            if sum(_values(self._arcs, plan)) >= most:
                continue
            if all(each in self._alone.solved for each in plan):
                return plan
            self._arcs.solve(plan, self._alone)
            now = self._cost(plan)
            if now <= cost:
                return plan
            heappush(self._waiting, (now, far, number, plan))
        return ()

    def _cost(self, plan: FusionPlan) -> float:
        return sum(_values(self._arcs, plan)) + sum(_values(self._alone, plan))


def _values(arcs: FusedGroupArcs, plan: FusionPlan) -> Iterator[float]:
    return (float(arcs.value[arcs.place(each)]) for each in plan)


def _changes(
    arcs: FusedGroupArcs, fusion_plan: FusionPlan
) -> Iterator[tuple[FusionPlan, FusionPlan, float]]:
    """Yield groups of a plan, others in their place, and how far these are; some may not exist."""
    for one in fusion_plan:
        yield from (((one,), (new,), far) for new, far in _in_all_ways(arcs, one, one))
        yield from (
            ((one,), (replace(one, end=at), replace(one, begin=at)), 1.0)
            for at in range(one.begin + 1, one.end)
            if one.count > 1  # untiled groups are one problem, whatever their boundaries
        )
    for one, two in pairwise(fusion_plan):
        yield from (((one, two), (new,), far) for new, far in _in_all_ways(arcs, one, two))
        yield from (
            ((one, two), (replace(one, end=at), replace(two, begin=at)), 1.0)
            for at in (one.end - 1, one.end + 1)
            if one.begin < at < two.end
        )


def _in_all_ways(
    arcs: FusedGroupArcs, one: FusedGroup, two: FusedGroup
) -> Iterator[tuple[FusedGroup, float]]:
    """Yield a group of the operations of two in all ways to tile it, by factors from both."""
    listed = arcs.listed
    for way in range(len(listed.ways)):
        new = listed.fused_group(one.begin, two.end, way)
        if arcs.lengths.has(new):
            yield new, min(abs(log2(new.count / each.count)) for each in (one, two))
