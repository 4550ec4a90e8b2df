"""Neighbors of a fusion plan: all of them, once, and none that programs rule out."""

from __future__ import annotations

from itertools import islice, takewhile

import numpy as np
import pytest

from formulations.fusion.neighbors import Neighborhood
from formulations.fusion.paths import FusedGroupArcs
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from tests.formulations.fusion.random_tileable_graph import drawn, fusion_plans
from tests.thorough import some


def _common(one: FusionPlan, two: FusionPlan) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def _way(each: FusedGroup) -> tuple[int, int]:
    return each.axis, each.count


def all_of(near: Neighborhood, most: float) -> list[FusionPlan]:
    """Return all neighbors that come."""
    found = list[FusionPlan]()
    while plan := near.next(most, bool):
        found.append(plan)
    return found


def are_neighbors(one: FusionPlan, two: FusionPlan) -> bool:
    """Return whether two plans differ in one group or boundary."""
    begin = _common(one, two)
    end = _common(one[begin:][::-1], two[begin:][::-1])
    old, new = one[begin : len(one) - end], two[begin : len(two) - end]
    match len(old), len(new):
        case (1, 1) | (2, 1):
            return True
        case (1, 2):
            return old[0].count > 1 and {_way(each) for each in new} == {_way(old[0])}
        case (2, 2):
            same = [_way(each) for each in old] == [_way(each) for each in new]
            return same and abs(old[0].end - new[0].end) == 1
    return False


@pytest.mark.parametrize("seed", some([3, 8, 11, 14, 21, 22, 30], 5))
def test_all_neighbors_come_but_those_that_programs_rule_out(seed: int) -> None:
    _, _, listed = drawn(seed, most=4, axes=2)
    every = [each for each in fusion_plans(listed.tileable) if all(map(listed.allows, each))]
    for plan in islice(every, 0, None, 1 + len(every) // 6):
        arcs = FusedGroupArcs(listed, float(listed.capacity))
        near = Neighborhood(arcs, FusedGroupArcs(listed, 0.0), plan)
        found = all_of(near, np.inf)
        arcs.solve(group for each in every for group in each)
        value = {each: sum(float(arcs.value[arcs.place(g)]) for g in each) for each in every}
        expected = [each for each in every if are_neighbors(plan, each) and value[each] < np.inf]
        assert len(found) == len(set(found))
        assert set(found) == set(expected)
        if not expected:
            continue
        most = float(np.median([value[each] for each in expected]))
        near = Neighborhood(arcs, FusedGroupArcs(listed, 0.0), plan)
        likely = set(all_of(near, most))
        assert likely == {each for each in expected if value[each] < most}


def test_none_comes_once_it_is_told_to_stop() -> None:
    _, _, listed = drawn(8, most=4)
    plan = next(each for each in fusion_plans(listed.tileable) if all(map(listed.allows, each)))
    arcs = FusedGroupArcs(listed, float(listed.capacity))
    near = Neighborhood(arcs, FusedGroupArcs(listed, 0.0), plan)
    assert near.next(np.inf, lambda: True) == ()
