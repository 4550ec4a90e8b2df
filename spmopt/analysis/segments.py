"""The segments of a schedule in pieces: what each takes, and why it ends where it does.

A segment ends where it must, because what follows cannot be computed in its pieces, or because of
cost: what it would cost to go on, or to move the border, is an estimate by the values of segments
(:mod:`formulations.covers.border_costs`), which are no schedules and no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol, cast

import numpy as np

from spmopt.analysis.steps import StepFigures
from spmopt.core.objective import Objective
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing, Pieces
from spmopt.core.pieces.segments import BorderCost, Cover, Segment

_COSTS = "formulations.covers.border_costs", "border_costs"
_LIMIT_S = 5.0
"""For all estimates."""


class _Costs(Protocol):
    def __call__(
        self, listing: Listing, cover: Cover, family: Family, objective: Objective, limit_s: float
    ) -> Sequence[BorderCost]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFigures:
    """One segment of a schedule.

    Attributes
    ----------
    first, last
        Names of its operations.
    begin_step, end_step
        Its steps: [begin, end).
    cycles, stall_cycles, moved_bytes
        Sums over its steps.
    obstacles
        What it cannot be with the next one, in the pieces of either, and why.
    costs
        What changes of it, or of the border at its end, would cost by estimate.
    """

    segment: Segment
    first: str
    last: str
    begin_step: int
    end_step: int
    cycles: int
    stall_cycles: int
    moved_bytes: int
    obstacles: tuple[tuple[Segment, str], ...] = ()
    costs: tuple[BorderCost, ...] = ()

    def least(self, *changes: str) -> BorderCost | None:
        """Return the cheapest of some changes, where they are known."""
        known = [each for each in self.costs if each.change in changes]
        return min(known, key=lambda each: each.cost, default=None)


def segment_figures(
    figures: StepFigures, pieces: Pieces, objective: Objective
) -> list[SegmentFigures]:
    """Measure the segments of a schedule that runs the operations of its cover in their order."""
    listing, cover = pieces.listing, pieces.cover
    family = listing.family() if pieces.certificate is None else pieces.certificate.family
    module, name = _COSTS
    costs = cast("_Costs", getattr(import_module(module), name))
    estimates = costs(listing, cover, family, objective, _LIMIT_S)
    steps = [(each.end - each.begin) * each.pieces * each.bands for each in cover]
    edges = np.concatenate(([0], np.cumsum(steps))).tolist()
    moved = figures.dram_in_bytes + figures.dram_out_bytes
    return [
        SegmentFigures(
            segment=segment,
            first=listing.operations[segment.begin].name,
            last=listing.operations[segment.end - 1].name,
            begin_step=begin,
            end_step=end,
            cycles=int(figures.cycles[begin:end].sum()),
            stall_cycles=int(figures.stall_cycles[begin:end].sum()),
            moved_bytes=int(moved[begin:end].sum()),
            obstacles=_obstacles(listing, family, cover[number : number + 2]),
            costs=tuple(each for each in estimates if each.segment == number),
        )
        for number, (segment, begin, end) in enumerate(
            zip(cover, edges[:-1], edges[1:], strict=True)
        )
    ]


def _obstacles(listing: Listing, family: Family, both: Cover) -> tuple[tuple[Segment, str], ...]:
    """Say why two segments in a row cannot be one, in the pieces of either."""
    if len(both) < 2:
        return ()
    one, other = both
    found = []
    for each in both:
        merged = replace(each, begin=one.begin, end=other.end)
        why = listing.obstacle(merged) or listing.outside(family, (merged,))
        if why and (merged, why) not in found:
            found.append((merged, why))
    return tuple(found)
