"""Why fused groups end where they do: figures add up, obstacles are those of the tileable graph."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest

from formulations.fusion.boundary_costs import boundary_costs
from formulations.fusion.fused_group import FusedGroupProgram
from formulations.fusion.tileable import Listed
from spmopt.analysis.explanation import Explanation
from spmopt.api.analyses import explain
from spmopt.api.solutions import Solution
from spmopt.core.fusion.fused_groups import BoundaryCost, FusedGroup, FusionPlan
from spmopt.core.fusion.tileable_graph import source_graph
from spmopt.core.objective import objective_named
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.hardware.machines import load_machine
from spmopt.reporting.fused_groups import fused_groups_parts
from spmopt.reporting.tables import Grid
from tests.checked import need
from tests.formulations.fusion.test_fused_groups import relaxed
from tests.fused import perceptron


@pytest.fixture(scope="module")
def explained() -> Explanation:
    stored = perceptron()
    result = stored.result
    assert result.schedule is not None
    return Explanation.of(
        stored.problem, result.schedule, result.objective, result.fusion_certificate
    )


def test_figures_of_fused_groups_are_those_of_the_schedule(explained: Explanation) -> None:
    result = perceptron().result
    assert result.fused is not None
    assert result.totals is not None
    found = explained.fused_groups
    assert tuple(each.fused_group for each in found) == result.fused.fusion_plan
    assert sum(each.cycles for each in found) == result.totals.makespan_cycles
    assert sum(each.moved_bytes for each in found) == result.totals.traffic_bytes
    assert sum(each.stall_cycles for each in found) == explained.figures.stall_cycles.sum()
    assert found[-1].end_step == explained.figures.cycles.size


def test_an_obstacle_is_why_two_fused_groups_cannot_be_one(explained: Explanation) -> None:
    result = perceptron().result
    assert result.fused is not None
    tileable, seen = source_graph(result.fused), 0
    for one, other in zip(explained.fused_groups, explained.fused_groups[1:], strict=False):
        known = {merged.micro_batches: why for merged, why in one.obstacles}
        for micro_batches in {one.fused_group.micro_batches, other.fused_group.micro_batches}:
            merged = FusedGroup(
                begin=one.fused_group.begin, end=other.fused_group.end, micro_batches=micro_batches
            )
            assert known.get(micro_batches, "") == tileable.obstacle(merged)
            seen += bool(tileable.obstacle(merged))
    assert seen


def test_estimates_are_differences_of_values() -> None:
    result = perceptron().result
    assert result.fused is not None
    fusion = result.fused
    assert result.fusion_certificate is not None
    fusion_space, aim = result.fusion_certificate.fusion_space, result.objective
    listed = Listed(source_graph(fusion), aim, fusion_space)

    def value(fused_group: FusedGroup) -> float:
        return sum(
            FusedGroupProgram(listed, fused_group, held).solve().value / 2
            for held in (0.0, listed.capacity)
        )

    own, given = [1.5] * len(fusion.fusion_plan), (fusion_space, aim)
    found = boundary_costs(source_graph(fusion), fusion.fusion_plan, *given, limit_s=60.0, own=own)
    assert {each.change for each in found} >= {"fusion", "merged"}
    for each in found:
        old = fusion.fusion_plan[
            each.fused_group : each.fused_group + 1 + (each.change != "fusion")
        ]
        assert each.fusion_plan[0].begin == old[0].begin
        assert each.fusion_plan[-1].end == old[-1].end
        expected = sum(map(value, each.fusion_plan)) - sum(map(value, old))
        assert each.cost == pytest.approx(expected, rel=1e-6, abs=1e-9)
        least = sum(
            FusedGroupProgram(listed, group, listed.capacity).solve().value
            for group in each.fusion_plan
        )
        assert each.least == pytest.approx(least - 1.5 * len(old), rel=1e-6, abs=1e-9)
    late = boundary_costs(source_graph(fusion), fusion.fusion_plan, *given, limit_s=-1.0, own=own)
    assert late == []


@pytest.mark.parametrize("stripes", [1, 2, 4])
def test_estimates_of_stripes_are_of_stripes(stripes: int) -> None:
    """No change saves more than it may at best; they were priced as one tile once."""
    b = GraphBuilder("two")
    x = b.input("x", (1, 2, 48, 2))
    for k in range(2):
        y = b.add("Conv", [x, b.weight(f"w{k}", (2, 2, 3, 1))], name=f"c{k}", pads=(1, 0, 1, 0))
        x = b.add("Relu", [y], name=f"r{k}")
    found = tileable(b.finish([x]), load_machine("rtx2080ti", {"spm": "512B", "page": "16B"}))
    traffic, space = objective_named("traffic", found.machine), found.fusion_space()
    fusion_plan = (FusedGroup(begin=0, end=len(found.operations), stripes=stripes),)

    def moved(plan: FusionPlan) -> float:
        return need(relaxed(found, plan, traffic))[1]

    own = [moved(fusion_plan)]
    changes = boundary_costs(found, fusion_plan, space, traffic, limit_s=60.0, own=own)
    assert any(each.fusion_plan[0].stripes > 1 for each in changes)
    for each in changes:
        gain = moved(each.fusion_plan) - own[0]
        assert each.least <= gain + 1e-6
        assert each.cost == pytest.approx(gain, abs=0.3 * own[0])


def test_pieces_of_an_operation_count_as_one(explained: Explanation) -> None:
    steps = explained.largest(3)
    names = [explained.whole(step) for step in steps]
    assert len(set(names)) == len(names)
    assert all("[" not in name for name in names)
    stall = explained.figures.stall_cycles
    totals = [sum(stall[fusion_tile] for fusion_tile in explained.fusion(step)) for step in steps]
    assert totals == sorted(totals, reverse=True)


def test_the_table_says_why() -> None:
    stored = perceptron()
    found = explain(Solution(**vars(stored)), top=2)
    text = str(found)
    assert "Fused groups: " in text
    assert "why it ends there" in text
    assert "the list ends" in text
    record = found.record()["fused_groups"]
    assert isinstance(record, list)
    assert record[0]["begin"] == 0


def test_a_plan_without_tiles_is_layer_by_layer() -> None:
    stored = perceptron()
    (each, *_) = Explanation.of(
        stored.problem,
        need(stored.result.schedule),
        stored.result.objective,
        stored.result.fusion_certificate,
    ).fused_groups
    whole = replace(each, fused_group=FusedGroup(begin=0, end=1), costs=())
    text = [*fused_groups_parts([whole], stored.problem.machine, stored.result)]
    assert text[1] == "Layer by layer (fusion: fusion tiles x stripes of each)"


def test_no_estimate_is_shown_to_gain_more_than_the_bound_leaves() -> None:
    stored = perceptron()
    result = replace(stored.result, value=Fraction(100), fusion_bound=Fraction(99))
    schedule = stored.result.schedule
    assert schedule is not None
    figures = Explanation.of(
        stored.problem, schedule, stored.result.objective, stored.result.fusion_certificate
    ).fused_groups
    one = figures[0].fused_group
    shown = {}
    for cost in (-5.0, -0.5, 0.0, 2.0, inf):
        change = BoundaryCost(fused_group=0, change="fusion", fusion_plan=(one,), cost=cost)
        each = replace(figures[0], costs=(change,))
        (grid,) = [
            part
            for part in fused_groups_parts([each], stored.problem.machine, result)
            if isinstance(part, Grid)
        ]
        shown[cost] = grid.rows[0][-1].partition(": ")[2]
    assert shown == {
        -5.0: "at best -1 %",
        -0.5: "-0.5 %",
        0.0: "no change",
        2.0: "+2 %",
        inf: "does not fit",
    }
