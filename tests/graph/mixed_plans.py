"""Fusion plans at random, whose groups are tiled along any axis."""

from __future__ import annotations

from random import Random

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph


def mixed_plan(found: TileableGraph, chosen: Random) -> FusionPlan:
    """Return a fusion plan of random groups along random axes, each as long as chance has it."""
    plan, begin, count = list[FusedGroup](), 0, len(found.operations)
    while begin < count:
        ways = [
            (axis, tiles)
            for axis, graph in enumerate(found.axes)
            for tiles in graph.operations[begin].mappings
            if tiles > 1
        ]
        axis, tiles = chosen.choice(ways) if ways and chosen.random() < 0.9 else (0, 1)
        end = begin + 1
        while end < count and chosen.random() < 0.8:
            longer = FusedGroup(begin=begin, end=end + 1, micro_batches=tiles, axis=axis)
            if found.obstacle(longer):
                break
            end += 1
        group = FusedGroup(begin=begin, end=end, micro_batches=tiles, axis=axis)
        if found.obstacle(group):
            group = FusedGroup(begin=begin, end=end)
        plan.append(group)
        begin = end
    return tuple(plan)


def whole_bytes(found: TileableGraph, fusion_plan: FusionPlan) -> bool:
    """Return whether the parts of all tensors are whole bytes."""
    try:
        found.problem(fusion_plan)
    except InputError as error:
        assert "do not divide into" in str(error)  # noqa: PT017
        return False
    return True
