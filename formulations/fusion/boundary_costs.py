"""Costs of a fusion plan with one boundary less, or elsewhere, and with other numbers of tiles.

Fused groups are estimated by the mean of two programs, one that begins and ends with nothing on
chip and one with all that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from time import monotonic

from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.fusion.fused_groups import BoundaryCost, FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective


def boundary_costs(
    tileable: TileableGraph,
    fusion_plan: FusionPlan,
    fusion_space: FusionSpace,
    objective: Objective,
    *,
    limit_s: float,
    own: Sequence[float],
) -> list[BoundaryCost]:
    """Return the costs of changes of a fusion plan of ``fusion_space``, in units of the objective.

    Those of each fused group and of the boundary at its end, the first fused groups first; changes
    not evaluated after ``limit_s`` seconds are left out.

    Parameters
    ----------
    own
        Cost of each fused group in the schedule; infinite where that is not known.
    """
    values, until = _Values(tileable, fusion_space, objective), monotonic() + limit_s
    found = list[BoundaryCost]()
    first = [(each, 1) for each in fusion_space.micro_batches]
    first += [(tileable.batch, stripes) for stripes in fusion_space.stripes[1:]]
    ways = [first, *([(1, 1), *((each, 1) for each in n)] for n in fusion_space.others)]
    for index, fused_group in enumerate(fusion_plan):
        following = fusion_plan[index + 1] if index + 1 < len(fusion_plan) else None
        if tileable.outside(fusion_space, fusion_plan[index : index + 2]):
            continue
        for change, new in _changes(fused_group, following, ways):
            if monotonic() > until:
                return found
            if tileable.outside(fusion_space, new) or any(tileable.obstacle(each) for each in new):
                continue
            both = following is not None and change != "fusion"
            old = (fused_group, following) if both and following is not None else (fused_group,)
            spent, cost = sum(own[index : index + len(old)]), values.sum(new) - values.sum(old)
            if not isfinite(cost):
                continue  # an operation does not fit in such fusion tiles
            found.append(
                BoundaryCost(
                    fused_group=index,
                    change=change,
                    fusion_plan=new,
                    cost=cost,
                    least=values.least(new) - spent,
                )
            )
    return found


def _changes(
    fused_group: FusedGroup,
    following: FusedGroup | None,
    every: Sequence[Sequence[tuple[int, int]]],
) -> Iterator[tuple[str, FusionPlan]]:
    """Yield alternatives to a fused group, or to it and the next.

    ``every``: by axis numbers of fusion tiles and of stripes of each, the coarsest first.
    """
    ways = every[fused_group.axis]
    at = ways.index((fused_group.micro_batches, fused_group.stripes))
    for micro_batches, stripes in ways[max(at - 1, 0) : at + 2]:
        if (micro_batches, stripes) != ways[at]:
            yield "fusion", (replace(fused_group, micro_batches=micro_batches, stripes=stripes),)
    if following is None:
        return
    for merged in dict.fromkeys(
        (replace(fused_group, end=following.end), replace(following, begin=fused_group.begin))
    ):
        yield "merged", (merged,)
    if following.end - following.begin > 1:
        boundary = fused_group.end + 1
        yield "later", (replace(fused_group, end=boundary), replace(following, begin=boundary))
    if fused_group.end - fused_group.begin > 1:
        boundary = fused_group.end - 1
        yield "earlier", (replace(fused_group, end=boundary), replace(following, begin=boundary))


class _Values:
    """Values of fused groups with nothing on chip at both ends, and with all that fits."""

    def __init__(
        self, tileable: TileableGraph, fusion_space: FusionSpace, objective: Objective
    ) -> None:
        listed = Listed(tileable, objective, fusion_space)
        self._empty, self._full = (FusedGroupArcs(listed, held) for held in (0.0, listed.capacity))

    def sum(self, fused_groups: FusionPlan) -> float:
        """Return the costs of fused groups, by estimate; infinite where one does not fit."""
        self._full.solve(fused_groups, empty=self._empty)
        # The truth lies between an empty and a full scratchpad at both ends; the mean ranks plans
        # well.
        both = (self._empty, self._full)
        return sum(arcs.solved[each].value / 2 for each in fused_groups for arcs in both)

    def least(self, fused_groups: FusionPlan) -> float:
        """Return the least that fused groups cost, whatever is on chip at their ends."""
        self._full.solve(fused_groups, empty=self._empty)
        return sum(self._full.solved[each].value for each in fused_groups)
