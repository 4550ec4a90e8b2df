"""Every operator computes in parts what it computes whole, along every axis that its loops allow.

The parts of operands are those that the declared loops say: all else is poison. So a loop that is
declared and that the kernel contradicts shows, and so does a row of a window that is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

import spmopt
from spmopt.audit.fusion import unfaithful
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.elements import with_element_type
from spmopt.graph.lower import Mapper
from spmopt.graph.preparation import LOWERINGS
from spmopt.graph.rows import RowAxes
from spmopt.graph.tileable import tileable
from tests.execution.executed import check_parts
from tests.execution.operator_cases import WITHOUT, graphs, known, names
from tests.graph.mixed_plans import mixed_plan, whole_bytes
from tests.thorough import THOROUGH, some
from tests.uniform import uniform_plan

MACHINE = spmopt.machine(spm="256KiB")


@pytest.mark.parametrize("name", names())
def test_parts_compute_what_the_whole_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Random(name)
    # A training step comes last, and holds the operations of the forward pass.
    for graph in some(graphs(name)[::-1], 2):
        data = chosen.choice(("integer", "normal"))
        typed = graph if data == "integer" else with_element_type(graph, "fp64")
        for found in listings(typed, chosen, monkeypatch):
            mixed = mixed_plan(found, chosen) if THOROUGH or chosen.random() < 0.03 else None
            for fusion_plan in (random_fusion_plan(found, chosen), mixed):
                if fusion_plan is not None and whole_bytes(found, fusion_plan):
                    check_parts(found, fusion_plan, data)
                    problem, _ = found.problem(fusion_plan)
                    assert not unfaithful(found, fusion_plan, problem)


def listings(
    graph: Graph, chosen: Random, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TileableGraph]:
    """Yield graphs whose pieces are of each class of axes in turn, and rows of a random one."""
    mapped = lowered(graph).graph
    classes = sorted({each for axes in LinkedAxes(mapped).classes for each in axes})
    for batch in some(chosen.sample(classes, len(classes)), 7):
        monkeypatch.setattr(LinkedAxes, "batch", batch)
        axes = LinkedAxes(mapped)
        if not any(axes.cut(node, batch) for node in axes.graph.nodes):
            continue
        rows = {axis for axes in RowAxes(axes).classes for axis in axes}
        monkeypatch.setattr(RowAxes, "rows", chosen.choice(sorted(rows)))
        yield tileable(graph, MACHINE)


def lowered(graph: Graph) -> Mapper:
    """Lower a graph."""
    return Mapper(graph, MACHINE, LOWERINGS[0])


def random_fusion_plan(found: TileableGraph, chosen: Random) -> FusionPlan | None:
    """Return a random cover in equal pieces and stripes; None where nothing can be cut."""
    pieces = [each for each in range(1, found.batch + 1) if found.batch % each == 0]
    stripes = chosen.choice([1, 2, 3, 4])
    fusion_plan = uniform_plan(
        found, chosen.choice(pieces[1:] or [1]) if stripes == 1 else found.batch, stripes=stripes
    )
    return fusion_plan if any(each.count > 1 for each in fusion_plan) else None


def test_every_operator_is_computed_in_parts() -> None:
    found = {node.operator for name in names() for graph in graphs(name) for node in graph.nodes}
    assert set(known()) - found == set(WITHOUT)


def test_the_seed_of_a_backward_pass_is_not_cut_along_its_classes() -> None:
    axes = LinkedAxes(lowered(graphs("LossGradient")[1]).graph)
    (node,) = (node for node in axes.graph.nodes if node.operator == "LossGradient")
    batch, *_, scores = axes.classes[node.outputs[0]]
    assert axes.cut(node, batch) is not None
    assert axes.cut(node, scores) is None
