"""The builder infers shapes and sizes, keeps names apart and reports where it fails."""

import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.graph.build import GraphBuilder
from spmopt.graph.statistics import macs, operations
from spmopt.graph.training import prune
from tests.graph.networks import convolution, lines


def test_statistics() -> None:
    graph = convolution()
    product_macs = 2 * 64 * 27 * 4 + 2 * 64 * 5
    assert macs(graph) == product_macs
    # Inference: normalize 2, ReLU 1 on 512 elements, 4 comparisons for each of 128.
    assert operations(graph) == 2 * product_macs + 3 * 512 + 4 * 128


def test_element_types() -> None:
    b = GraphBuilder("half", element_type="fp16")
    x = b.input("x", (4,))
    y = b.add("Relu", [x])
    z = b.add("Cast", [y], to="fp32")
    sizes = [value.size_bytes for value in b.finish([z]).values]
    assert sizes == [8, 8, 16]
    assert b.input("t", (3,), element_type="int64") == 3


def test_taken_names_get_a_number() -> None:
    b = GraphBuilder("names")
    y = b.add("Relu", [b.input("x", (4,))], name="x")
    z = b.add("Relu", [y], name="x")
    graph = b.finish([z])
    assert [value.name for value in graph.values] == ["x", "x_2", "x_2_2"]
    assert [node.name for node in graph.nodes] == ["x", "x_2"]


def test_several_results() -> None:
    b = GraphBuilder("split")
    x = b.input("x", (6, 4))
    parts = b.add_many("Split", [x], axis=0, split=(1, 5))
    assert [b.shape(part) for part in parts] == [(1, 4), (5, 4)]
    with pytest.raises(InputError, match="Split has 2 results; use add_many"):
        b.add("Split", [x], axis=0, split=(1, 5))


def test_assumed_point_wise() -> None:
    b = GraphBuilder("assumed")
    x = b.input("x", (6, 4))
    (y,) = b.assume_pointwise([x], [(6, 2)], name="custom")
    graph = b.finish([y])
    assert lines(graph) == ["AssumedPointwise: x -> custom"]
    assert operations(graph) == 12


def test_errors_name_the_node() -> None:
    b = GraphBuilder("bad")
    x, w = b.input("x", (2, 3)), b.weight("w", (4, 5))
    with pytest.raises(InputError, match=r"node fc \(Gemm\): inner dimensions 3 and 4 differ"):
        b.add("Gemm", [x, w], name="fc")
    with pytest.raises(InputError, match="belongs to the backward pass"):
        b.add("ReluGradient", [x, x])
    with pytest.raises(InputError, match="at least 1 input"):
        b.add("Relu", [])
    with pytest.raises(InputError, match="operator Nothing has no rule"):
        b.add("Nothing", [x])
    with pytest.raises(InputError, match="axis must be an integer, is 'x'"):
        b.add("Softmax", [x], axis="x")


def test_prune_keeps_updates_that_matter() -> None:
    def value(name: str, keep: bool = False) -> Value:
        return Value(name=name, shape=(1,), keep=keep)

    def node(name: str, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Node:
        return Node(name=name, operator="Relu", inputs=inputs, outputs=outputs)

    graph = Graph(
        name="g",
        values=(value("a"), value("unused"), value("dead"), value("b"), value("y", keep=True)),
        nodes=(
            node("used", (0,), (3,)),
            node("update", (3,), (3,)),
            node("dead", (0,), (2,)),
            node("last", (3,), (4,)),
            node("too_late", (3,), (3,)),
        ),
    )
    pruned = prune(graph)
    assert [n.name for n in pruned.nodes] == ["used", "update", "last"]
    assert [v.name for v in pruned.values] == ["a", "b", "y"]
