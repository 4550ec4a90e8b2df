"""Backward passes and updates that a file holds: their inputs, write and update in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.frontends.onnx_import import load_onnx

from .figures import output_shapes
from .models import floats, ints, model, saved

make_node = helper.make_node
MICROSOFT, PREVIEW = "com.microsoft", "ai.onnx.preview.training"


def _loaded(
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Any],
    constants: dict[str, Any],
    outputs: tuple[str, ...] = ("y",),
) -> Graph:
    made = model(nodes, inputs, constants, outputs=outputs)
    made.opset_import.append(helper.make_opsetid(PREVIEW, 1))
    for value in made.graph.input:
        if value.name == "at":
            value.type.tensor_type.elem_type = TensorProto.INT64
    return load_onnx(saved(folder, made))


@pytest.mark.parametrize(
    ("operator", "names", "indices", "gradient"),
    [
        ("GatherElementsGrad", ["dy", "shape", "at"], [4, 3], [4, 3]),
        ("GatherNDGrad", ["shape", "at", "dy"], [5, 1], [5, 9]),
        ("GatherGrad", ["shape", "at", "dy"], [5], [5, 9]),
    ],
)
def test_gradients_of_lookups_have_the_shape_that_they_are_told(
    tmp_path: Path,
    operator: str,
    names: list[str],
    indices: list[int],
    gradient: list[int],
) -> None:
    node = make_node(operator, names, ["y"], domain=MICROSOFT)
    inputs = {"dy": gradient, "at": indices}
    graph = _loaded(tmp_path, [node], inputs, {"shape": ints(4, 9)})
    assert output_shapes(graph) == [(4, 9)]
    (only,) = graph.nodes
    assert [graph.values[index].name for index in only.inputs] == ["dy", "at"]


def test_gradient_of_a_quotient_is_of_both(tmp_path: Path) -> None:
    node = make_node("DivGrad", ["dy", "a", "b"], ["da", "db"], domain=MICROSOFT)
    inputs = {"dy": [4, 6], "a": [4, 6], "b": [1, 6]}
    graph = _loaded(tmp_path, [node], inputs, {}, outputs=("da", "db"))
    assert output_shapes(graph) == [(4, 6), (1, 6)]


def test_gradient_of_a_maximum_reads_where_it_was(tmp_path: Path) -> None:
    nodes = [
        make_node("MaxPool", ["x"], ["p", "at"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("MaxPoolGrad", ["p", "at"], ["dx"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    made = model(nodes, {"x": [2, 3, 4, 4]}, outputs=("dx",))
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("dx", 1, [2, 3, 4, 4]))
    graph = load_onnx(saved(tmp_path, made))
    assert graph.nodes[-1].operator == "MaxPoolIndexGradient"
    assert output_shapes(graph) == [(2, 3, 4, 4)]


def _updated(graph: Graph, operator: str) -> list[list[str]]:
    return [
        [graph.values[index].name for index in node.outputs]
        for node in graph.nodes
        if node.operator == operator
    ]


def test_adam_updates_weight_and_moments_in_place(tmp_path: Path) -> None:
    names = ["rate", "count", "w", "dw", "m", "v"]
    nodes = [
        make_node("MatMul", ["x", "dy"], ["dw"]),
        make_node("AdamOptimizer", names, ["count2", "m2", "v2", "w2"], domain=MICROSOFT),
    ]
    constants = {
        **{"rate": floats(1), "count": np.array([3])},
        **{name: floats(4, 5) for name in ("w", "m", "v")},
    }
    inputs = {"x": [4, 2], "dy": [2, 5]}
    graph = _loaded(tmp_path, nodes, inputs, constants, outputs=("w2", "m2", "v2"))
    assert _updated(graph, "Adam") == [["w", "m", "v"]]
    kinds = {value.name: value.kind for value in graph.values}
    assert kinds["w"] is TensorKind.WEIGHT
    assert kinds["m"] is kinds["v"] is TensorKind.STATE


@pytest.mark.parametrize(("operator", "states"), [("Adam", 2), ("Momentum", 1), ("Adagrad", 1)])
def test_one_optimizer_node_updates_several_weights(
    tmp_path: Path, operator: str, states: int
) -> None:
    groups = [[f"{kind}{k}" for k in (1, 2)] for kind in ("w", "dw", "s", "t")[: 2 + states]]
    flat = [name for group in groups for name in group]
    results = [f"{name}_new" for group in (groups[0], *groups[2:]) for name in group]
    extra = {"mode": "standard", "alpha": 0.9, "beta": 0.9, "norm_coefficient": 0.0}
    node = make_node(operator, ["rate", "count", *flat], results, domain=PREVIEW)
    if operator == "Momentum":
        node.attribute.extend(helper.make_attribute(*each) for each in extra.items())
    weights = {name: floats(4, 5) for name in flat if not name.startswith("dw")}
    constants = {"rate": np.float32(0.1), "count": np.array(3), **weights}
    graph = _loaded(tmp_path, [node], {"dw1": [4, 5], "dw2": [4, 5]}, constants, tuple(results))
    assert _updated(graph, operator) == [
        ["w1", "s1", "t1"][: 1 + states],
        ["w2", "s2", "t2"][: 1 + states],
    ]
