"""U-Nets in stripes: fused groups go on through what makes maps larger, and take less time."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper

from spmopt.assemble import assemble
from spmopt.audit import audit
from spmopt.audit.boxes import tile_maps
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph, tileable_graph_of
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.scheduler import Incumbent, Request
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.tileable import lower_listed
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.solving import solve
from spmopt.verifier import require_legal
from spmopt.verifier.fusion_tiles import check_fusion
from tests.frontends.models import Array, floats, model, saved

MACHINE = load_machine("rtx2080ti", {"spm": "16KB", "page": "256B"})
WAYS = ("ConvTranspose", "nearest", "linear")


class Net:
    """Nodes one after another, and their weights."""

    def __init__(self, way: str, depth: int) -> None:
        self.way, self.depth = way, depth
        self.nodes, self.weights = list[NodeProto](), dict[str, Array]()

    def add(self, operator: str, name: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def conv(self, name: str, x: str, channels: int, made: int) -> str:
        """As many convolutions as the network has in a place, each with its ReLU."""
        for k in range(self.depth):
            self.weights[f"{name}.w{k}"] = floats(made, made if k else channels, 3, 3)
            x = self.add("Conv", f"{name}.{k}", x, f"{name}.w{k}", pads=[1] * 4)
            x = self.add("Relu", name if k == self.depth - 1 else f"{name}.r{k}", x)
        return x

    def half(self, name: str, x: str) -> str:
        return self.add("MaxPool", name, x, kernel_shape=[2, 2], strides=[2, 2])

    def double(self, name: str, x: str, channels: int) -> str:
        """Twice the rows and columns: by two taps, or by the rows around."""
        if self.way == "ConvTranspose":
            self.weights[f"{name}.w"] = floats(channels, channels, 2, 2)
            return self.add("ConvTranspose", name, x, f"{name}.w", strides=[2, 2])
        self.weights[f"{name}.s"] = np.array([1, 1, 2, 2], np.float32)
        return self.add("Resize", name, x, "", f"{name}.s", mapping=self.way)


def unet(folder: Path, way: str, *, depth: int = 1) -> Problem:
    """Two levels, with 4 and 8 channels, on images of 32 x 32."""
    net = Net(way, depth)
    outer = net.conv("c0", "x", 2, 4)
    inner = net.conv("c1", net.half("p0", outer), 4, 8)
    x = net.half("p1", inner)
    x = net.double("u1", net.conv("c2", x, 8, 8), 8)
    x = net.conv("c3", net.add("Concat", "j1", x, inner, axis=1), 16, 4)
    x = net.add("Concat", "j0", net.double("u0", x, 4), outer, axis=1)
    net.add("Identity", "y", net.conv("c4", x, 8, 2))
    made = model(net.nodes, {"x": [1, 2, 32, 32]}, net.weights, opset=18)
    return lower_listed(load_onnx(saved(folder, made)), MACHINE)


def without(found: TileableGraph, kinds: tuple[str, ...]) -> TileableGraph:
    """A tileable graph in which some operations are not cut into stripes."""
    operations = (replace(o, rows=None) if o.kind in kinds else o for o in found.operations)
    return replace(found, operations=tuple(operations))


def figures(problem: Problem) -> Totals:
    """What a policy takes, verified."""
    residency_plan = (
        find("belady-size").load()(problem, Request(objective=MAKESPAN, threads=1)).residency_plan
    )
    assert residency_plan is not None
    checked = require_legal(problem, assemble(problem, residency_plan))
    assert checked.totals is not None
    return checked.totals


def quickest(found: TileableGraph) -> int:
    """The cycles of a policy on the best fusion plan with one group in stripes, of all of them."""
    last, cycles = len(found.operations), list[int]()
    for begin, end in combinations(range(last + 1), 2):
        fused_group = FusedGroup(begin=begin, end=end, stripes=4)
        if end - begin > 1 and not found.obstacle(fused_group):
            ends = sorted({0, begin, end, last})
            fusion_plan = tuple(
                fused_group if one == begin else FusedGroup(begin=one, end=other)
                for one, other in pairwise(ends)
            )
            cycles.append(figures(found.problem(fusion_plan)[0]).makespan_cycles)
    return min(cycles)


@pytest.mark.parametrize("way", WAYS)
def test_stripes_go_through_a_whole_unet(tmp_path: Path, way: str) -> None:
    """In one fused group, and in less time than where larger maps end one."""
    found = tileable_graph_of(unet(tmp_path, way))
    kinds = {each.kind for each in found.operations}
    assert kinds >= {"MaxPool", "Concat", "ConvTranspose" if way == WAYS[0] else "Resize"}
    before = without(found, ("ConvTranspose", "Resize"))
    one = (FusedGroup(begin=0, end=len(found.operations), stripes=2),)
    found.require(one)
    assert "cannot be cut into stripes" in before.obstacle(one[0])
    problem, _ = found.problem(one)
    assert found.graph is not None
    assert check_fusion(tile_maps(found.graph, found, one, problem)) == ()
    figures(problem)
    assert quickest(found) < quickest(before)


def test_a_missing_row_of_a_halo_is_refused(tmp_path: Path) -> None:
    """Rows of X that a stripe of a linear resize shares with the one before."""
    found = tileable_graph_of(unet(tmp_path, "linear"))
    assert found.graph is not None
    names = [each.name for each in found.operations]
    fusion_plan = (
        FusedGroup(begin=0, end=names.index("u1")),
        FusedGroup(begin=names.index("u1"), end=len(names), stripes=2),
    )
    problem, _ = found.problem(fusion_plan)
    operations = list(problem.operations)
    at = next(k for k, each in enumerate(operations) if each.name == "u1[8:16]")
    stripe = operations[at]
    halo = next(k for k, t in enumerate(stripe.reads) if problem.tensors[t].name.startswith("c2["))
    (mapping,) = stripe.mappings
    operands = (*mapping.operands[:halo], *mapping.operands[halo + 1 :])
    operations[at] = replace(
        stripe,
        reads=(*stripe.reads[:halo], *stripe.reads[halo + 1 :]),
        mappings=(replace(mapping, operands=operands),),
    )
    wrong = check_fusion(
        tile_maps(found.graph, found, fusion_plan, replace(problem, operations=tuple(operations)))
    )
    assert any("u1[8:16]: reads index 3 of axis 2 of c2" in each.message for each in wrong)


@pytest.mark.parametrize("way", WAYS[:2])
def test_the_best_fusion_plan_found_has_stripes_and_beats_the_list(
    tmp_path: Path, way: str
) -> None:
    problem = unet(tmp_path, way, depth=2)
    page = solve(problem, "residency", Request(threads=1))
    assert page.value is not None
    enough = 0.95 * float(page.value)
    news = list[Incumbent]()

    def found_enough() -> bool:
        """The batch is one: only stripes cut anything. The limit is for a busy machine."""
        return any(each.of_fusion_plans and (each.value or enough) < enough for each in news)

    asked = Request(threads=1, time_limit_s=30, on_incumbent=news.append, stop=found_enough)
    found = solve(problem, "fusion", asked)
    assert found.fusion is not None
    assert any(fused_group.stripes > 1 for fused_group in found.fusion.fusion_plan)
    assert audit(found.fusion.problem, found).violations == ()
    assert found.value is not None
    assert found.value < enough < 0.9 * figures(problem).makespan_cycles
