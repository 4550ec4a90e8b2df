"""Fusion plans next to one.

A boundary taken out, put in or moved, or another number of tiles or stripes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from formulations.fusion.search import FusionPlanSearch
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan


def neighbors(search: FusionPlanSearch, fusion_plan: FusionPlan) -> Iterator[FusionPlan]:
    """Yield fusion plans next to ``fusion_plan``.

    Those that the search's values promise most of the first.
    """
    ranked = list[tuple[float, int, FusionPlan, FusionPlan]]()
    for number, (new, old) in enumerate(_moves(search, fusion_plan)):
        if search.stop():
            return
        ranked.append((-search.gain(new, old), number, new, old))
    for _, _, new, old in sorted(ranked, key=lambda each: each[:2]):
        first, last = fusion_plan.index(old[0]), fusion_plan.index(old[-1])
        yield (*fusion_plan[:first], *new, *fusion_plan[last + 1 :])


def _moves(
    search: FusionPlanSearch, fusion_plan: FusionPlan
) -> Iterator[tuple[FusionPlan, FusionPlan]]:
    """Yield alternatives to some fused groups in a row, and these."""
    boundaries, listed = search.boundaries, search.listed

    def legal(*fused_groups: FusedGroup) -> bool:
        return all(map(listed.allows, fused_groups)) and all(
            map(search.held.lengths.has, fused_groups)
        )

    for each in filter(search.held.lengths.has, fusion_plan):
        for way in range(len(listed.micro_batches)):
            other = listed.fused_group(each.begin, each.end, way)
            if other != each and legal(other):
                yield (other,), (each,)
        at = bisect_left(boundaries, each.begin + 1), bisect_left(boundaries, each.end)
        for boundary in boundaries[at[0] : at[1]]:
            parts = replace(each, end=boundary), replace(each, begin=boundary)
            if legal(*parts):
                yield parts, (each,)
    for one, two in pairwise(fusion_plan):
        if not legal(one, two):
            continue  # The program of a long fused group takes too long.
        for merged in {replace(one, end=two.end), replace(two, begin=one.begin)}:
            if legal(merged):
                yield (merged,), (one, two)
        place = bisect_left(boundaries, one.end)
        # Two positions either way: a boundary moves little once a plan is good.
        for boundary in boundaries[max(place - 2, 0) : place + 3]:
            if one.begin < boundary < two.end and boundary != one.end:
                parts = replace(one, end=boundary), replace(two, begin=boundary)
                if legal(*parts):
                    yield parts, (one, two)
