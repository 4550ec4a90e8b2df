"""Nodes that are alike: what is looked up for them is what would be worked out."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import ModelProto, TensorProto, helper

from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import import deduce, load_onnx
from spmopt.graph import operators
from tests.fuzz import networks

make = helper.make_node


def _repeated() -> ModelProto:
    """Return pairs of nodes that are alike, and others that differ in one thing from them."""
    nodes = [
        make("Relu", ["x"], ["a"]),
        make("Relu", ["a"], ["b"], name="named"),
        make("Softmax", ["a"], ["c"], axis=0),
        make("Softmax", ["b"], ["d"], axis=1),
        make("Split", ["c"], ["e", "f"], axis=0, num_outputs=2),
        make("Split", ["d"], ["g", "h"], axis=1, num_outputs=2),
        make("Split", ["b"], ["unread", "i"], axis=0, num_outputs=2),
        make("Concat", ["e", "f"], ["j"], axis=0),
        make("Concat", ["g", "h"], ["k"], axis=1),
        make("Add", ["j", "k"], ["l"]),
        make("Add", ["l", "l"], ["m"]),
        make("Add", ["m", "w"], ["n"]),
        make("Add", ["n", "w"], ["o"]),
        make("Relu", ["i"], ["p"]),
        make("Concat", ["p", "p"], ["q"], axis=0),
        make("Add", ["q", "o"], ["y"]),
    ]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [1.0] * 16)
    shaped = helper.make_tensor_value_info
    ends = [shaped(name, TensorProto.FLOAT, [4, 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], initializer=[weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def _read(folder: Path, model: ModelProto) -> Graph:
    path = folder / "n.onnx"
    path.write_bytes(networks.written(model))
    return load_onnx(path)


@pytest.mark.parametrize("model", [networks.plain(), networks.chained(20), _repeated()])
def test_the_graph_is_that_of_nodes_each_on_its_own(
    model: ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _read(tmp_path, model)
    monkeypatch.setattr(deduce, "likeness", lambda *_: None)
    assert found == _read(tmp_path, model)


def test_the_rule_of_nodes_that_are_alike_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rule = operators.results

    def counted(name: str, *given: object) -> object:
        asked.append(name)
        return rule(name, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(operators, "results", counted)
    graph = _read(tmp_path, networks.chained(500))
    assert len(graph.nodes) == 500
    assert asked == ["Relu"]
