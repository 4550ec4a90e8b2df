"""Layers of networks: counts and sizes by hand, and against the training graph."""

from __future__ import annotations

import pytest

from spmopt.core.graph import Graph
from spmopt.frontends import zoo
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.training import training_graph
from spmopt.tiles.layer import Layer
from spmopt.tiles.networks import distinct, first_layers, layers_of, products_of_activations

SHORT = {
    "gnmt": {"steps": 2, "layers": 2, "hidden": 16, "vocabulary": 40},
    "transformer": {"layers": 1, "sequence": 6, "hidden": 32, "vocabulary": 40},
    "bert-large": {"layers": 2, "sequence": 6},
    "t5-large": {"layers": 2, "sequence": 6, "target": 4},
    "faster-rcnn-resnet50": {"regions": 2},
}


def _macs(layers: tuple[Layer, ...]) -> int:
    return sum(each.m * each.k * each.n * each.groups for each in layers)


def _size(layer: Layer) -> tuple[int, int, int, int]:
    return layer.m, layer.k, layer.n, layer.groups


def test_resnet50_by_hand() -> None:
    layers = layers_of(zoo.network("resnet50", batch=4))
    assert len(layers) == 53 + 1
    size = {each.name: _size(each) for each in layers}
    assert _size(layers[0]) == size["stem.conv"] == (4 * 112 * 112, 147, 64, 1)
    assert size["stage1.0.1.conv"] == (4 * 56 * 56, 64, 64, 1)
    assert size["stage2.0.2.conv"] == (4 * 28 * 28, 9 * 128, 128, 1)
    assert size["stage4.0.shortcut.conv"] == (4 * 49, 1024, 2048, 1)
    assert _size(layers[-1]) == size["classifier"] == (4, 2048, 1000, 1)
    assert first_layers(zoo.network("resnet50", batch=4)) == {"stem.conv"}
    counts = {each.name: count for each, count in distinct(layers)}
    assert counts["stem.conv"] == 1
    # 3x3 convolutions of the third stage: one of six has stride 2, another map for the same result.
    assert (counts["stage3.0.2.conv"], counts["stage3.1.2.conv"]) == (1, 5)
    assert sum(counts.values()) == 54
    assert _macs(layers) == 4 * 4_089_184_256


def test_faster_rcnn_of_scale_sim() -> None:
    # The topology FasterRCNN.csv: 46 layers, 13,258,944 weights.
    layers = layers_of(zoo.network("faster-rcnn-resnet50", batch=1))
    assert len(layers) == 46
    assert sum(each.k * each.n for each in layers) == 13_258_944
    assert [_size(each) for each in layers[-3:]] == [
        (196, 9 * 1024, 512, 1),
        (196, 512, 18, 1),
        (196, 512, 36, 1),
    ]


def test_weights_on_the_left_moved_weights_and_rows() -> None:
    b = GraphBuilder("mixed")
    x, left = b.input("x", (5, 7)), b.weight("left", (4, 5))
    y = b.add("MatMul", [left, x], name="left_product")  # (4, 7) = W X
    moved = b.add(
        "Transpose",
        [
            b.add(
                "Reshape",
                [
                    b.weight("w", (6, 7)),
                ],
                shape=(6, 7),
            )
        ],
    )
    y = b.add("MatMul", [y, moved], name="moved_product")
    rows = b.add("Lookup", [b.weight("rows", (4, 6))], table=100)
    z = b.add("Gemm", [rows, b.weight("v", (6, 2))], name="rows_product")
    both = b.add("MatMul", [b.weight("p", (2, 6)), b.weight("q", (6, 3))], name="of_weights")
    z = b.add("MatMul", [z, both], name="computed_weight")
    graph = b.finish([y, z])
    assert [(each.name, *_size(each)) for each in layers_of(graph)] == [
        ("left_product", 7, 5, 4, 1),
        ("moved_product", 4, 7, 6, 1),
        ("rows_product", 4, 6, 2, 1),
    ]
    assert first_layers(graph) == {"left_product"}


def test_a_transposed_convolution() -> None:
    b = GraphBuilder("up")
    x, w = b.input("x", (2, 8, 5, 5)), b.weight("w", (8, 3, 2, 2))
    y = b.add("ConvTranspose", [x, w], name="up", strides=(2, 2))
    assert layers_of(b.finish([y])) == (Layer(name="up", m=50, k=8, n=12),)


@pytest.mark.parametrize("name", ["bert-tiny", "gnmt", "dlrm", "resnet18"])
def test_products_of_activations_have_both_gradients(name: str) -> None:
    """Their sizes are those of the gradients in the training graph, both of them."""
    forward = zoo.network(name, batch=2, **SHORT.get(name, {}))
    step = training_graph(forward)
    products = {
        node.name: gemm(step.shapes(node.inputs), step.shapes(node.outputs), node.attributes)
        for node in step.nodes
        if (gemm := operators.lookup(node.operator).gemm) is not None
    }
    trained, every = layers_of(forward), layers_of(forward, of_activations=True)
    others = {each.name: each for each in every if each not in trained}
    assert set(others) == set(products_of_activations(forward))
    assert [each for each in every if each.name not in others] == list(trained)
    assert _macs(tuple(others.values())) == _no_weight_macs(forward)
    assert bool(others) == (name != "resnet18")
    for each in others.values():
        for gradient in ("d0", "d1"):
            own = products[f"{each.name}.{gradient}"]
            assert own.batch == each.groups
            assert sorted((own.m, own.k, own.n)) == sorted((each.m, each.k, each.n))


def _no_weight_macs(graph: Graph) -> int:
    """Multiplications of products of two activations."""
    named = {each.name for each in layers_of(graph)}
    total = 0
    for node in graph.nodes:
        gemm = operators.lookup(node.operator).gemm
        if gemm is not None and node.name not in named:
            assert node.operator == "MatMul"
            total += gemm(
                graph.shapes(node.inputs), graph.shapes(node.outputs), node.attributes
            ).macs
    return total


@pytest.mark.parametrize("name", zoo.names())
def test_layers_are_the_weight_gradients_of_the_training_graph(name: str) -> None:
    forward = zoo.network(name, batch=2, **SHORT.get(name, {}))
    layers, first = layers_of(forward), first_layers(forward)
    step = training_graph(forward)
    assert layers_of(step) == layers
    assert first_layers(step) == first
    operator = {node.name: node.operator for node in forward.nodes}
    products = {
        node.name: gemm(step.shapes(node.inputs), step.shapes(node.outputs), node.attributes)
        for node in step.nodes
        if (gemm := operators.lookup(node.operator).gemm) is not None
    }
    total = 0
    for layer in layers:
        gate = operator[layer.name] == "LSTMGate"
        weight = products[f"{layer.name}.d{2 if gate else 1}"]
        assert sorted((weight.m, weight.k, weight.n)) == sorted((layer.m, layer.k, layer.n))
        data = {f"{layer.name}.d{k}" for k in ((0, 1) if gate else (0,))}
        assert data.isdisjoint(products) == (layer.name in first)
        total += products[layer.name].macs
    assert total == _macs(layers)
    assert total + _no_weight_macs(forward) == sum(
        products[n].macs for n in operator if n in products
    )
