"""Fusion plans of the same number of fusion tiles throughout."""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.tileable_graph import TileableGraph


def uniform_plan(
    tileable: TileableGraph,
    micro_batches: int,
    fusion_space: FusionSpace | None = None,
    *,
    stripes: int = 1,
) -> FusionPlan:
    """Return the fusion plan of the fewest groups in ``micro_batches``.

    Other operations are untiled. Operations that cannot be cut into ``stripes`` are in one.
    ``fusion_space``: that it is of; any fusion plan by default.
    """
    # From the finest to untiled, which has no obstacle.
    ways = dict.fromkeys([(micro_batches, stripes), (micro_batches, 1), (1, 1)])
    singles = list[FusedGroup]()
    for at in range(len(tileable.operations)):
        every = (FusedGroup(begin=at, end=at + 1, micro_batches=k, stripes=r) for k, r in ways)
        singles.append(next(each for each in every if not tileable.obstacle(each)))
    fusion_plan = list[FusedGroup]()
    while not fusion_plan or fusion_plan[-1].end < len(singles):
        one = singles[fusion_plan[-1].end if fusion_plan else 0]
        most = one.end
        while (
            most < len(singles)
            and one.micro_batches == micro_batches
            and (singles[most].micro_batches, singles[most].stripes)
            == (one.micro_batches, one.stripes)
        ):
            most += 1
        fusion_plan.append(_longest(tileable, one, most, fusion_space))
    return tuple(fusion_plan)


def _longest(
    tileable: TileableGraph, one: FusedGroup, most: int, fusion_space: FusionSpace | None
) -> FusedGroup:
    """Return the longest fused group from an operation on, to ``most``; none beyond it is any.

    Its end is found by steps that double, and then halve: a list of 10,000 takes seconds.
    """
    step, grows = 1, True
    while one.end < most and step:
        longer = replace(one, end=min(one.end + step, most))
        outside = fusion_space is not None and tileable.outside(fusion_space, (longer,))
        if not outside and not tileable.obstacle(longer):
            one = longer
        else:
            grows = False
        # Obstacles are monotone: a longer group has all obstacles of a shorter one.
        step = step * 2 if grows else step // 2
    return one
