"""Fusion plans: chunked problems do the same work on the same bytes.

What cannot be cut is refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import gcd, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.assemble import assemble
from spmopt.audit.fusion import unfaithful
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup, Origin
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.axes import LinkedAxes, inspect
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.verifier import require_legal
from tests.graph.networks import attention, convolution, lstm, mlp, residual
from tests.thorough import THOROUGH, nightly
from tests.uniform import uniform_plan

MACHINE = load_machine("rtx2080ti", {"spm": "1MB"})


def listed(graph: Graph, mapper: str = "tiled") -> TileableGraph:
    return tileable(graph, MACHINE, mapper=mapper)


def perceptron() -> Graph:
    """Eight rows through two layers."""
    b = GraphBuilder("perceptron")
    x = b.add("Relu", [b.add("Gemm", [b.input("x", (8, 4)), b.weight("v", (4, 16))], name="h")])
    return b.finish([b.add("Gemm", [x, b.weight("w", (16, 3))], name="y")])


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention, lstm])
@pytest.mark.parametrize("training", [False, True])
def test_whole_fused_groups_are_layer_by_layer(make: object, training: bool) -> None:
    assert callable(make)
    graph = training_graph(make(), optimizer="adam") if training else make()
    found = listed(graph)
    fusion_plan = (
        FusedGroup(begin=0, end=1),
        *([FusedGroup(begin=1, end=len(found.operations))] if len(found.operations) > 1 else []),
    )
    problem, origins = found.problem(fusion_plan)
    assert problem == lower(graph, MACHINE, mapper=found.mapper)
    assert origins == tuple(Origin(k, 0, 1) for k in range(len(found.operations)))


@pytest.mark.parametrize("network", [pytest.param("resnet18", marks=nightly), "bert-tiny"])
@pytest.mark.parametrize("training", [False, True])
def test_pieces_do_the_work_of_the_whole(network: str, training: bool) -> None:
    forward = zoo.network(network, batch=4)
    graph = training_graph(forward) if training else forward
    found = listed(graph)
    assert found.batch == 4
    whole = lower(graph, MACHINE)
    fusion_plan = uniform_plan(found, 4)
    problem, origins = found.problem(fusion_plan)
    assert sum(t.size_bytes for t in problem.tensors) == sum(t.size_bytes for t in whole.tensors)
    work = Counter[int]()
    for operation, origin in zip(problem.operations, origins, strict=True):
        work[origin.operation] += operation.mappings[0].macs
    assert [work[k] for k in range(len(found.operations))] == [
        op.mappings[0].macs for op in whole.operations
    ]
    assert len({(o.operation, o.fusion_tile) for o in origins}) == len(origins)
    residency_plan = (
        find("belady-size").load()(problem, Request(objective=MAKESPAN, threads=1)).residency_plan
    )
    assert residency_plan is not None
    assert require_legal(problem, assemble(problem, residency_plan)).legal


@pytest.mark.parametrize(
    ("shape", "numbers", "striped"),
    [
        ((2, 1, 5, 3), [1], False),  # 7.5 bytes an image
        ((2, 1, 5, 6), [1, 2], True),  # 3 bytes a row
        ((2, 2, 5, 3), [1, 2], True),  # 1.5 bytes a row of each channel
        ((2, 1, 6, 3), [1, 2], False),  # 9 bytes an image, 1.5 bytes a row
        ((4, 1, 5, 2), [1, 2, 4], True),
        ((4, 1, 5, 1), [1, 2], False),
    ],
)
def test_parts_are_all_of_a_tensor_of_half_bytes(
    shape: tuple[int, ...], numbers: list[int], striped: bool
) -> None:
    """What would be cut within a byte is not cut: else a fusion plan moves less than there is."""
    b = GraphBuilder("maps", element_type="int4")
    y = b.add("Relu", [b.input("x", shape)])
    found = listed(b.finish([b.add("MaxPool", [y], kernel_shape=(3, 1), pads=(1, 0, 1, 0))]))
    assert [[*each.mappings] for each in found.operations] == [numbers] * 2
    assert [each.rows is not None for each in found.operations] == [striped] * 2
    whole = sum(tensor.size_bytes for tensor in found.tensors)
    for micro_batches, stripes in [*((each, 1) for each in numbers), *[(shape[0], 2)] * striped]:
        problem, _ = found.problem(
            (FusedGroup(begin=0, end=2, micro_batches=micro_batches, stripes=stripes),)
        )
        assert sum(tensor.size_bytes for tensor in problem.tensors) == whole


def test_covers_that_do_not_suit_are_refused_in_a_line() -> None:
    found = listed(training_graph(convolution(), optimizer="sgd"), "panel")
    names = [each.name for each in found.operations]
    norm, update = names.index("n"), names.index("v.update")
    one = FusedGroup(begin=norm, end=norm + 1, micro_batches=2)
    assert "cannot be cut along the batch" in found.obstacle(one)
    gradient = names.index("y.d1")
    assert not found.obstacle(FusedGroup(begin=gradient, end=gradient + 1, micro_batches=2))
    assert "cannot be cut" in found.obstacle(
        FusedGroup(begin=update, end=update + 1, micro_batches=2)
    )
    with pytest.raises(InputError, match="before it is in no fused group"):
        found.problem((FusedGroup(begin=0, end=2), FusedGroup(begin=3, end=len(found.operations))))
    with pytest.raises(InputError, match="3 fusion tiles do not divide a batch of 2"):
        found.problem(
            (
                FusedGroup(begin=0, end=1, micro_batches=3),
                FusedGroup(begin=1, end=len(found.operations)),
            )
        )
    with pytest.raises(InputError, match="at least 1 fusion tile"):
        FusedGroup(begin=0, end=1, micro_batches=0)


def test_a_sum_is_not_read_before_it_is_complete() -> None:
    """The mean over the batch of what a layer gives, and of figures derived from it."""
    b = GraphBuilder("mean")
    y = b.add("Gemm", [b.input("x", (8, 4)), b.weight("w", (4, 3))], name="y")
    mean = b.add("ReduceMean", [y], name="mean", axes=(0,))
    found = listed(b.finish([b.add("Sub", [y, mean], name="centered")]))
    assert not found.obstacle(FusedGroup(begin=0, end=2, micro_batches=4))
    assert "read in the fused group" in found.obstacle(FusedGroup(begin=0, end=3, micro_batches=4))
    assert [each.end for each in uniform_plan(found, 4)] == [2, 3]


def test_a_graph_without_common_axis_has_no_batch() -> None:
    b = GraphBuilder("lonely")
    graph = b.finish([b.add("Relu", [b.input("x", ())], name="y")])
    with pytest.raises(InputError, match="none of its operators can be cut"):
        listed(graph)


@given(st.data())
def test_pieces_of_a_view_hold_the_elements_of_pieces_of_its_operand(data: st.DataObject) -> None:
    split = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4)))
    joins = st.lists(st.booleans(), min_size=len(split), max_size=len(split))
    perm = tuple(data.draw(st.permutations(range(len(split)))))
    source, turned = joined(split, data.draw(joins)), tuple(split[axis] for axis in perm)
    shape = joined(turned, data.draw(joins))
    b = GraphBuilder("view")
    x = b.input("x", source)
    z = b.add("StridedView", [x], split=split, perm=perm, shape=shape)
    assert b.values[z].shape == shape
    here = np.arange(prod(source)).reshape(source)
    there = here.reshape(split).transpose(perm).reshape(shape)
    found = inspect(b.nodes[0], source, shape)
    back = replace(b.nodes[0], operator="StridedViewGradient")
    assert sorted(inspect(back, shape, source)) == sorted((j, i) for i, j in found)
    for i, j in found:
        for count in range(1, gcd(source[i], shape[j]) + 1):
            if source[i] % count == shape[j] % count == 0:
                for one, other in zip(
                    np.split(here, count, axis=i), np.split(there, count, axis=j), strict=True
                ):
                    assert {*one.flat} == {*other.flat}


def joined(split: tuple[int, ...], joins: list[bool]) -> tuple[int, ...]:
    """Some axes with the one before them."""
    found = [1]
    for size, join in zip(split, joins, strict=True):
        if join:
            found[-1] *= size
        else:
            found.append(size)
    return tuple(found)


def test_self_attention_is_cut_along_its_queries() -> None:
    """Attention reads keys and values of all tokens: they are whole to each block of queries."""
    found = tileable(
        zoo.network("bert-tiny", batch=1, sequence=32), MACHINE, mapper="choose-unfolded"
    )
    assert found.batch == 32
    cut = {each.name for each in found.operations if each.cut}
    assert {"layer0.self.query", "layer0.ffn.1"} <= cut
    assert {"layer0.self.scores", "layer0.self.softmax", "layer0.self.context"} <= cut
    names = [tensor.name for tensor in found.tensors]
    scores = next(each for each in found.operations if each.name == "layer0.self.scores")
    assert {names[t] for t in scores.reads} - {names[t] for t in scores.cut} == {"layer0.self.key"}
    place = {each.name: at for at, each in enumerate(found.operations)}
    first, last = place["layer0.self.key"], place["layer0.self.scores"]
    alone = FusedGroup(begin=first, end=last + 1, micro_batches=2)
    assert "key is cut in the fused group, and whole to each" in found.obstacle(alone)


def flat_softmax(batch: int = 2, heads: int = 2, tokens: int = 4, width: int = 4) -> Graph:
    """Attention whose softmax is of two axes, as exporters wrote it for older opsets."""
    b = GraphBuilder("flat")
    x = b.input("x", (batch, tokens, heads * width))

    def project(name: str, perm: tuple[int, ...]) -> int:
        y = b.add("MatMul", [x, b.weight(f"w{name}", (heads * width,) * 2)], name=name)
        split = b.add("Reshape", [y], name=f"{name}.split", shape=(batch, tokens, heads, width))
        return b.add("Transpose", [split], name=f"{name}.heads", perm=perm)

    queries, keys = project("q", (0, 2, 1, 3)), project("k", (0, 2, 3, 1))
    scores = b.add("MatMul", [queries, keys], name="scores")
    flat = b.add("Reshape", [scores], name="flat", shape=(batch * heads * tokens, tokens))
    shares = b.add("Softmax", [flat], name="softmax", axis=-1)
    whole = b.add("Reshape", [shares], name="whole", shape=(batch, heads, tokens, tokens))
    return b.finish([b.add("MatMul", [whole, project("v", (0, 2, 1, 3))], name="y")])


@pytest.mark.parametrize("training", [False, True])
def test_a_tensor_has_the_same_parts_in_each_view(training: bool) -> None:
    """Scores have tokens twice, and a view of them once: in one of both places they are cut."""
    graph = training_graph(flat_softmax()) if training else flat_softmax()
    found = tileable(graph, MACHINE, mapper="tiled-unfolded")
    names, tiled = [each.name for each in found.operations], 0
    for axis, own in enumerate(found.axes):
        # Of training, operations on scores.
        some = [at for at, name in enumerate(names) if "softmax" in name or "scores" in name]
        for begin in some if training and not THOROUGH else range(len(names)):
            for count in [max(own.operations[begin].mappings)]:
                plan = [FusedGroup(begin=at, end=at + 1) for at in range(len(names))]
                plan[begin] = FusedGroup(begin=begin, end=begin + 1, micro_batches=count, axis=axis)
                problem, _ = found.problem(tuple(plan))
                assert not unfaithful(found, tuple(plan), problem)
                tiled += axis > 0 and names[begin] == "softmax"
    assert tiled


@pytest.mark.parametrize("start", [0, 2])
def test_a_slice_of_the_batch_is_not_cut_with_it(start: int) -> None:
    """Half of the rows in four tiles are not the rows of the first of four tiles of all."""
    b = GraphBuilder("half")
    x = b.add("Relu", [b.input("x", (8, 4))], name="all")
    half = b.add("Slice", [x], name="half", axes=(0,), starts=(start,), ends=(start + 4,))
    axes = LinkedAxes(b.finish([b.add("Neg", [half], name="y")]))
    cuts = {axis: axes.cut(axes.graph.nodes[1], axes.classes[x][axis]) for axis in range(2)}
    assert cuts[0] is None
    assert cuts[1] is not None
    assert axes.cut(axes.graph.nodes[1], axes.classes[half][0]) is None


def test_the_gradient_of_a_norm_is_tiled_along_tokens_of_one_sequence() -> None:
    graph = training_graph(zoo.network("bert-tiny", batch=1, sequence=8, layers=1))
    found = tileable(graph, MACHINE)
    tokens = next(each for each in found.axes if each.along == "tokens")
    norms = [each for each in tokens.operations if each.kind.startswith("LayerNormalizationGrad")]
    norms = norms or [each for each in tokens.operations if "norm.d" in each.name]
    assert norms
    assert all(len(each.mappings) > 1 for each in norms)


def test_norms_that_share_a_scale_are_trained() -> None:
    b = GraphBuilder("tied")
    scale, shift = b.weight("scale", (8,)), b.weight("shift", (8,))
    x = b.add("MatMul", [b.input("x", (2, 4, 8)), b.weight("w", (8, 8))], name="x1")
    for name in ("one", "other"):
        x = b.add("LayerNormalization", [x, scale, shift], name=name)
    graph = training_graph(b.finish([x]))
    problem = lower(graph, MACHINE)
    assert {"one.d0", "other.d0"} <= {each.name for each in problem.operations}
