"""What loses nothing is put up with: one warning that counts, and the true shapes."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.frontends.onnx_import import load_onnx
from tests.thorough import nightly

from .figures import moving, output_shapes
from .models import Array, Dimensions, floats, model, saved

make_node = helper.make_node


def _loaded(
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Dimensions],
    constants: dict[str, Array] | None = None,
    stated: dict[str, list[int]] | None = None,
    *,
    opset: int = 17,
) -> tuple[Graph, list[str]]:
    made = model(nodes, inputs, constants, opset=opset)
    for name, shape in (stated or {}).items():
        made.graph.value_info.append(helper.make_tensor_value_info(name, 1, shape))
    warnings: list[str] = []
    return load_onnx(saved(folder, made), warn=warnings.append), warnings


def test_attributes_that_no_schema_knows(tmp_path: Path) -> None:
    nodes = [
        make_node("Relu", ["x"], ["h"], name="first", note="mine"),
        make_node("Relu", ["h"], ["y"], note="mine"),
    ]
    graph, warnings = _loaded(tmp_path, nodes, {"x": [2]})
    assert moving(graph) == {"Relu": 2}
    (warning,) = warnings
    assert (
        "2 nodes have attributes that ONNX does not know, left out (node first (Relu))" in warning
    )


def test_attributes_of_an_earlier_operator_set(tmp_path: Path) -> None:
    nodes = [make_node("ReduceSum", ["x"], ["y"], axes=[1], keepdims=0, note="mine")]
    graph, _ = _loaded(tmp_path, nodes, {"x": [2, 3, 4]}, opset=18)
    assert output_shapes(graph) == [(2, 4)]


def test_node_that_onnx_refuses_has_the_stated_shape(tmp_path: Path) -> None:
    nodes = [make_node("Sin", ["x", "x"], ["h"]), _relu("h")]
    graph, warnings = _loaded(tmp_path, nodes, {"x": [2, 4]}, stated={"h": [2, 4]})
    assert output_shapes(graph) == [(2, 4)]
    (warning,) = warnings
    assert "1 node is refused by ONNX" in warning


def test_annotation_without_an_element_type_says_nothing(tmp_path: Path) -> None:
    made = model([make_node("Sin", ["x"], ["h"]), _relu("h")], {"x": [2, 4]}, opset=17)
    made.graph.value_info.append(helper.make_tensor_value_info("h", 0, [2, 4]))
    graph = load_onnx(saved(tmp_path, made))
    assert output_shapes(graph) == [(2, 4)]


def _relu(source: str) -> onnx.NodeProto:
    return make_node("Relu", [source], ["y"])


def test_convolution_of_a_type_that_its_schema_leaves_out(tmp_path: Path) -> None:
    made = model([make_node("Conv", ["x", "w"], ["y"])], {"x": [1, 3, 8, 8]}, opset=18)
    weights = helper.make_tensor("w", TensorProto.BFLOAT16, [4, 3, 3, 3], bytes(216), raw=True)
    made.graph.initializer.append(weights)
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
    graph = load_onnx(saved(tmp_path, made), warn=pytest.fail)
    (conv,) = graph.nodes
    assert {graph.values[v].element_type for v in (*conv.inputs, *conv.outputs)} == {"bf16"}
    assert output_shapes(graph) == [(1, 4, 6, 6)]


def test_sparse_initializers_have_their_dense_shape(tmp_path: Path) -> None:
    made = model([make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 4]})
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    places = helper.make_tensor("places", TensorProto.INT64, [1], [0])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4, 5]))
    graph = load_onnx(saved(tmp_path, made))
    assert output_shapes(graph) == [(2, 5)]
    assert [v.shape for v in graph.values if v.kind is TensorKind.WEIGHT] == [(4, 5)]


def test_empty_cache_before_the_first_token(tmp_path: Path) -> None:
    nodes = [make_node("Concat", ["cache", "x"], ["h"], axis=1), _relu("h")]
    graph, _ = _loaded(tmp_path, nodes, {"cache": [2, 0, 4], "x": [2, 3, 4]})
    assert moving(graph) == {"Relu": 1}
    assert output_shapes(graph) == [(2, 3, 4)]


@pytest.mark.parametrize("ir_version", [3, 13])
def test_names_that_repeat_or_lack(tmp_path: Path, ir_version: int) -> None:
    nodes = [
        make_node("Relu", ["x"], ["h"], name="twin"),
        make_node("Exp", ["h"], ["y"], name="twin"),
    ]
    made = model(nodes, {"x": [2], "w": [3]}, {"w": floats(3)}, ir_version=ir_version)
    made.graph.name = ""
    graph = load_onnx(saved(tmp_path, made))
    assert graph.name == "model"
    assert len({node.name for node in graph.nodes}) == 2


def test_weights_whose_file_is_missing(tmp_path: Path) -> None:
    made = model([make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 4]}, {"w": floats(4, 5)})
    onnx.save(
        made, tmp_path / "model.onnx", save_as_external_data=True, location="w", size_threshold=0
    )
    (tmp_path / "w").unlink()
    assert output_shapes(load_onnx(tmp_path / "model.onnx")) == [(2, 5)]


@nightly
def test_twenty_thousand_nodes_are_soon_there(tmp_path: Path) -> None:
    from time import process_time

    nodes, count = [], 5000
    for k in range(count):
        nodes += [
            make_node("MatMul", [f"h{k}", "w"], [f"a{k}"]),
            make_node("Add", [f"a{k}", "b"], [f"c{k}"]),
            make_node("Relu", [f"c{k}"], [f"d{k}"]),
            make_node("Add", [f"d{k}", f"h{k}"], [f"h{k + 1}"]),
        ]
    made = model(nodes, {"h0": [4, 8]}, {"w": floats(8, 8), "b": floats(8)}, outputs=(f"h{count}",))
    path = saved(tmp_path, made)
    begin = process_time()
    graph = load_onnx(path)
    assert len(graph.nodes) == 4 * count
    assert process_time() - begin < 30 * count / 5000  # a third of it where nothing else runs
