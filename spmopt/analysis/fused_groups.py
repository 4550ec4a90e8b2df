"""The fused groups of a fused schedule: the costs of each, and the reason for its end.

A fused group ends where it must, because later operations cannot be computed in its fusion tiles,
or because of cost: the cost of going on, or of moving the boundary, is an estimate by the values of
fused groups (:mod:`formulations.fusion.boundary_costs`), which are no schedules and no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf
from typing import Protocol, cast

from spmopt.analysis.steps import StepFigures
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import BoundaryCost, FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.tileable_graph import TileableGraph, source_graph
from spmopt.core.objective import Objective
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule

_COSTS = "formulations.fusion.boundary_costs", "boundary_costs"
_LIMIT_S = 5.0  # for all estimates


class _Costs(Protocol):
    def __call__(
        self,
        tileable: TileableGraph,
        fusion_plan: FusionPlan,
        fusion_space: FusionSpace,
        objective: Objective,
        *,
        limit_s: float,
        own: Sequence[float],
    ) -> Sequence[BoundaryCost]: ...


@dataclass(frozen=True, kw_only=True)
class FusedGroupSpan:
    """A fused group of a schedule.

    Attributes
    ----------
    first, last
        Names of its operations.
    begin_step, end_step
        Its steps: [begin, end).
    axes
        Names of the axes of its graph.
    """

    fused_group: FusedGroup
    first: str
    last: str
    begin_step: int
    end_step: int
    axes: tuple[str, ...] = ("the batch",)

    @property
    def blocks(self) -> range:
        """First steps of its blocks: of each micro-batch, and in it of each stripe."""
        # Every block runs all operations of the group.
        return range(self.begin_step, self.end_step, self.fused_group.end - self.fused_group.begin)


@dataclass(frozen=True, kw_only=True)
class FusedGroupFigures(FusedGroupSpan):
    """Figures of a fused group of a schedule.

    Attributes
    ----------
    cycles, stall_cycles, moved_bytes
        Sums over its steps.
    obstacles
        Merges with the next one that are impossible, in the fusion tiles of either, with the
        reason.
    costs
        Estimated costs of changes of it, or of the boundary at its end.
    """

    cycles: int
    stall_cycles: int
    moved_bytes: int
    obstacles: tuple[tuple[FusedGroup, str], ...] = ()
    costs: tuple[BoundaryCost, ...] = ()

    def least(self, *changes: str) -> BoundaryCost | None:
        """Return the cheapest of some changes, where they are known."""
        known = [each for each in self.costs if each.change in changes]
        return min(known, key=lambda each: each.cost, default=None)


def fused_group_spans(problem: Problem, schedule: Schedule) -> tuple[FusedGroupSpan, ...]:
    """Return the groups of a fused schedule; none of one that leaves the order of its plan."""
    if problem.fused_from is None or other_order(schedule.steps.operation) is not None:
        return ()
    tileable, begin = source_graph(problem), 0
    names = [each.name for each in tileable.operations]
    axes = tuple(each.along for each in tileable.axes)
    spans = list[FusedGroupSpan]()
    for group in problem.fusion_plan:
        end = begin + (group.end - group.begin) * group.count
        spans.append(
            FusedGroupSpan(
                fused_group=group,
                first=names[group.begin],
                last=names[group.end - 1],
                begin_step=begin,
                end_step=end,
                axes=axes,
            )
        )
        begin = end
    return tuple(spans)


def fused_group_figures(
    figures: StepFigures, objective: Objective, certificate: FusionCertificate | None
) -> tuple[FusedGroupFigures, ...]:
    """Measure the groups of a fused schedule, if it has any."""
    problem = figures.view.problem
    spans = fused_group_spans(problem, figures.view.schedule)
    if not spans:
        return ()
    tileable, fusion_plan = source_graph(problem), problem.fusion_plan
    fusion_space = tileable.fusion_space() if certificate is None else certificate.fusion_space
    # By name: analyses must not depend on formulations when they are imported.
    module, name = _COSTS
    costs = cast("_Costs", getattr(import_module(module), name))
    own = [_cost(figures, objective, each) for each in spans]
    estimates = costs(tileable, fusion_plan, fusion_space, objective, limit_s=_LIMIT_S, own=own)
    moved = figures.dram_in_bytes + figures.dram_out_bytes
    return tuple(
        FusedGroupFigures(
            **vars(span),
            cycles=int(figures.cycles[steps].sum()),
            stall_cycles=int(figures.stall_cycles[steps].sum()),
            moved_bytes=int(moved[steps].sum()),
            obstacles=_obstacles(tileable, fusion_space, fusion_plan[number : number + 2]),
            costs=tuple(each for each in estimates if each.fused_group == number),
        )
        for number, span in enumerate(spans)
        for steps in [slice(span.begin_step, span.end_step)]
    )


def _cost(figures: StepFigures, objective: Objective, span: FusedGroupSpan) -> float:
    """Return the cost of a fused group in units of the objective; infinite where it is not told."""
    if objective.weighs_mappings or objective.replayed:
        return inf
    steps = slice(span.begin_step, span.end_step)
    weighed = (
        (objective.cycle, figures.cycles),
        (objective.dram_in_byte, figures.dram_in_bytes),
        (objective.dram_out_byte, figures.dram_out_bytes),
    )
    return float(sum(weight * int(column[steps].sum()) for weight, column in weighed))


def _obstacles(
    tileable: TileableGraph, fusion_space: FusionSpace, both: FusionPlan
) -> tuple[tuple[FusedGroup, str], ...]:
    """Say why two fused groups in a row cannot be one, in the fusion tiles of either."""
    if len(both) < 2:
        return ()
    one, other = both
    found = []
    for each in both:
        merged = replace(each, begin=one.begin, end=other.end)
        why = tileable.obstacle(merged) or tileable.outside(fusion_space, (merged,))
        if why and (merged, why) not in found:
            found.append((merged, why))
    return tuple(found)
