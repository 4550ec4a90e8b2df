"""Fusion plans next to one.

A boundary taken out, put in or moved, or another number of tiles or stripes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from formulations.fusion.search import FusionPlanSearch
from formulations.fusion.tileable import Listed
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

    if all(each.count == 1 for each in fusion_plan):
        # No single boundary or number of tiles leads from layer by layer to a fused group.
        for each in filter(search.held.lengths.has, fusion_plan):
            yield from ((parts, (each,)) for parts in _tiled_parts(listed, each) if legal(*parts))
    for each in filter(search.held.lengths.has, fusion_plan):
        for way in range(len(listed.ways)):
            other = listed.fused_group(each.begin, each.end, way)
            if other != each and legal(other):
                yield (other,), (each,)
        at = bisect_left(boundaries, each.begin + 1), bisect_left(boundaries, each.end)
        for boundary in boundaries[at[0] : at[1]]:
            parts = replace(each, end=boundary), replace(each, begin=boundary)
            if legal(*parts):
                yield parts, (each,)
    for one, two in pairwise(fusion_plan):
        if legal(one, two):  # else the program of a long fused group takes too long
            yield from ((new, (one, two)) for new in _moves_of(boundaries, one, two) if legal(*new))


def _moves_of(boundaries: list[int], one: FusedGroup, two: FusedGroup) -> Iterator[FusionPlan]:
    """Yield two groups as one, and with another boundary between them."""
    for merged in {replace(one, end=two.end), replace(two, begin=one.begin)}:
        yield (merged,)
    place = bisect_left(boundaries, one.end)
    # Two positions either way: a boundary moves little once a plan is good.
    for boundary in boundaries[max(place - 2, 0) : place + 3]:
        if one.begin < boundary < two.end and boundary != one.end:
            yield replace(one, end=boundary), replace(two, begin=boundary)


def _tiled_parts(listed: Listed, fused_group: FusedGroup) -> Iterator[FusionPlan]:
    """Yield cuts of an untiled group in two, of which one is in fusion tiles."""
    begin, end = fused_group.begin, fused_group.end
    for boundary in (each for each in listed.boundaries if begin < each < end):
        for way in range(1, len(listed.ways)):
            first = listed.fused_group(begin, boundary, way)
            yield first, replace(fused_group, begin=boundary)
            last = listed.fused_group(boundary, end, way)
            yield replace(fused_group, end=boundary), last
