"""Both gradients of a layer as one operation: where they are joined, and what they compute."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import spmopt
from spmopt.core.graph import Graph
from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.graph import statistics
from spmopt.graph.build import GraphBuilder
from spmopt.graph.elements import with_element_type
from spmopt.graph.interleaving import interleave_gradients
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from tests.graph.test_normalization import kept_of

MACHINE = spmopt.machine("small-npu", spm="64KiB", settings={"array.reuse": True})


def forward() -> Graph:
    """Convolutions in groups, a turned and scaled product with a bias, and a weight used twice."""
    b = GraphBuilder("net")
    x = b.input("x", (2, 4, 6, 6))
    x = b.add("Conv", [x, b.weight("first", (4, 4, 3, 3))], name="first", pads=(1, 1, 1, 1))
    x = b.add("Relu", [x], name="relu")
    x = b.add("Conv", [x, b.weight("conv", (6, 2, 3, 3))], name="conv", group=2)
    x = b.add("Reshape", [x], name="flat", shape=(2, 96))
    turned = [b.weight("turned", (8, 96)), b.weight("bias", (8,))]
    x = b.add("Gemm", [x, *turned], name="gemm", transB=1, alpha=0.5, beta=3.0)
    shared = b.weight("shared", (8, 8))
    for k in range(2):
        x = b.add("MatMul", [x, shared], name=f"mul{k}")
    return b.finish([x])


STEP = training_graph(forward(), optimizer="momentum")


def test_each_layer_with_both_gradients_is_joined() -> None:
    one = interleave_gradients(STEP)
    found = {node.name: node.operator for node in one.nodes if "Gradients" in node.operator}
    assert found == {
        "mul1.gradients": "MatMulGradients",
        "mul0.gradients": "MatMulGradients",
        "gemm.gradients": "GemmGradients",
        "conv.gradients": "ConvGradients",
    }
    # The first layer needs no dX.
    assert "first.d1" in {node.name for node in one.nodes}
    assert len(one.nodes) == len(STEP.nodes) - 4
    assert interleave_gradients(one) is one
    assert interleave_gradients(forward()).nodes == forward().nodes
    assert statistics.macs(one) == statistics.macs(STEP)
    assert statistics.operations(one) == statistics.operations(STEP)


def test_it_computes_what_both_do() -> None:
    """The second gradient of a shared weight is added to the first."""
    whole, apart = kept_of(interleave_gradients(STEP), 3), kept_of(STEP, 3)
    assert whole.keys() == apart.keys() >= {"first", "conv", "turned", "bias", "shared"}
    for name, values in apart.items():
        assert np.allclose(whole[name], values), name


def test_gradients_of_a_weight_by_itself_stay_apart() -> None:
    """The one adds to what the other wrote."""
    b = GraphBuilder("square")
    w = b.weight("w", (4, 4))
    square = b.add("MatMul", [w, w], name="square")
    graph = training_graph(b.finish([b.add("MatMul", [b.input("x", (4, 4)), square], name="y")]))
    one = interleave_gradients(graph)
    assert "square.d0" in {node.name for node in one.nodes}
    assert np.allclose(kept_of(one, 3)["w.gradient"], kept_of(graph, 3)["w.gradient"])


def test_gradients_that_are_apart_stay_so() -> None:
    turned = STEP.nodes
    at = next(k for k, node in enumerate(turned) if node.name == "conv.d1")
    swapped = Graph(
        name="swapped",
        values=STEP.values,
        nodes=(*turned[:at], turned[at + 1], turned[at], *turned[at + 2 :]),
    )
    names = {node.name for node in interleave_gradients(swapped).nodes}
    assert {"conv.d0", "conv.d1", "gemm.gradients"} <= names


@cache
def problems() -> tuple[Problem, Problem]:
    step = with_element_type(STEP, "bf16")
    return lower(step, MACHINE), lower(step, MACHINE, mapper="choose-interleaved")


def operation(problem: Problem, name: str) -> Operation:
    return next(each for each in problem.operations if each.name == name)


@pytest.mark.parametrize("layer", ["conv", "gemm", "mul0"])
def test_its_mappings_take_the_cycles_and_reads_of_both(layer: str) -> None:
    apart, one = problems()
    dw, dx = (operation(apart, f"{layer}.d{k}") for k in (1, 0))
    both = operation(one, f"{layer}.gradients")
    names = [{one.tensors[t].name for t in both.tensors}]
    names += [{apart.tensors[t].name for each in (dw, dx) for t in each.tensors}]
    assert names[0] == names[1]
    waits = {each.waiting_bytes for each in both.mappings}
    assert {0} < waits
    for each in both.mappings:
        assert each.macs == dw.mappings[0].macs + dx.mappings[0].macs
        alone = dw.mappings[0].compute_cycles + dx.mappings[0].compute_cycles
        assert (each.compute_cycles == alone) == (not each.waiting_bytes)
    # All on chip: each operand is fetched once, and dY read for both.
    least = min(both.mappings, key=lambda each: each.spm_read_bytes)
    once = [min(each.spm_read_bytes for each in op.mappings) for op in (dw, dx)]
    assert least.spm_read_bytes == sum(once)


def test_lines_of_both_feature_maps_are_held() -> None:
    """Where W and dW are on chip, room is that of X beside dY and of dX beside dY, dY once."""
    apart, one = problems()
    room = dict[str, int]()
    for problem, name in ((apart, "conv.d1"), (apart, "conv.d0"), (one, "conv.gradients")):
        found = operation(problem, name)
        size = 6 * 2 * 9 * 2
        weights = {t for t in found.tensors if problem.tensors[t].size_bytes == size}
        (room[name],) = (
            each.scratch_bytes
            for each in found.mappings
            if {t for t, o in zip(found.tensors, each.operands, strict=True) if o.required_resident}
            == weights
        )
    lines_of_dy = 2 * 6 * 4 * 2  # two lines, of six channels, of four pixels of bf16
    assert room["conv.gradients"] == room["conv.d1"] + room["conv.d0"] - lines_of_dy


def test_operands_that_bypass_leave_gradients_apart() -> None:
    machine = spmopt.machine("small-npu", settings={"bypass": "gradient"})
    found = lower(STEP, machine, mapper="tiled-interleaved")
    assert found.mapper == "tiled-interleaved"
    assert len(found.operations) == len(lower(STEP, machine, mapper="tiled").operations)


def test_tiled_has_the_first_mapping_alone() -> None:
    tiled = lower(STEP, MACHINE, mapper="tiled-interleaved")
    chosen = lower(STEP, MACHINE, mapper="choose-interleaved")
    for one, several in zip(tiled.operations, chosen.operations, strict=True):
        assert one.mappings == several.mappings[:1]
