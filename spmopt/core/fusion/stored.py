"""Fusion plan as a result file has it: without its tileable graph, which is made again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from spmopt.core.costs import Costs
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph, source_graph
from spmopt.core.graph import Graph
from spmopt.core.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Operations ``first`` to ``last`` of a problem.

    All of ``operations``, one tile after the other. The operation at ``first + len(operations) * p
    + k`` is fusion tile ``p`` of ``operations[k]``, which bears the name of its node (with a number
    where a name comes again). With ``rows`` a fusion tile is computed in stripes: the operation at
    ``first + len(operations) * (stripes * p + b) + k`` computes the rows of results from
    ``rows[k][b]`` to before ``rows[k][b + 1]``. ``along``: name of the axis that is tiled, if it is
    not the first of the graph.
    """

    first: int
    last: int
    micro_batches: int
    operations: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...] = field(default=(), metadata={"group": "rows"})
    along: str = field(default="", metadata={"group": "along"})


@dataclass(frozen=True, kw_only=True)
class StoredFusion:
    """Stored form of a fusion plan and its listing, which is to be made again.

    The machine is that of the file's problem, which is the problem of the fusion plan.
    """

    graph: Graph
    mapper: str
    fusion_plan: FusionPlan
    certificate: FusionCertificate | None
    loops: tuple[Loop, ...]
    costs: Costs = field(default_factory=dict)

    @classmethod
    def of(cls, fused: Problem, certificate: FusionCertificate | None) -> Self:
        """Return the stored form.

        Raises
        ------
        InputError
            The tileable graph was made without a graph.
        """
        tileable = source_graph(fused)
        if tileable.graph is None:
            raise InputError(
                f"{tileable.name}: fusion tiles can be stored of the tileable graph of a graph only"
            )
        return cls(
            graph=tileable.graph,
            mapper=tileable.mapper,
            fusion_plan=fused.fusion_plan,
            certificate=certificate,
            loops=loops_of(tileable, fused.fusion_plan),
            costs=tileable.costs,
        )


def loops_of(tileable: TileableGraph, fusion_plan: FusionPlan) -> tuple[Loop, ...]:
    """Return the loops of a fusion plan of a tileable graph."""
    found, first = list[Loop](), 0
    for fused_group in fusion_plan:
        inner = tuple(
            each.name for each in tileable.operations[fused_group.begin : fused_group.end]
        )
        rows = tuple(tileable.boundaries(fused_group)) if fused_group.stripes > 1 else ()
        # All operations once per tile: the loop nest of the group.
        end = first + len(inner) * fused_group.micro_batches * fused_group.stripes
        found.append(
            Loop(
                first=first,
                last=end - 1,
                micro_batches=fused_group.micro_batches,
                operations=inner,
                rows=rows,
                along=tileable.axes[fused_group.axis].along if fused_group.axis else "",
            )
        )
        first = end
    return tuple(found)
