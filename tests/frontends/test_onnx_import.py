"""What becomes of operators, attributes and constants, over the operator sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.core.problem import TensorKind
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.operators import SPECS, lookup
from spmopt.graph.training import training_graph
from tests.execution.called import evaluated

from .figures import macs, moving, output_shapes, parameters
from .models import Array, Dimensions, floats, ints, model, saved

make_node = helper.make_node


def _load(
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Dimensions],
    constants: Mapping[str, Array] | None = None,
    *,
    outputs: tuple[str, ...] = ("y",),
    opset: int = 17,
    ir_version: int = 8,
) -> Graph:
    made = model(nodes, inputs, constants, outputs=outputs, opset=opset, ir_version=ir_version)
    return load_onnx(saved(folder, made))


def _only(graph: Graph) -> Node:
    (node,) = graph.nodes
    return node


def _kinds(graph: Graph) -> dict[str, TensorKind]:
    return {v.name: v.kind for v in graph.values}


@pytest.mark.parametrize(
    ("opset", "node", "constants", "attributes"),
    [
        (6, make_node("Clip", ["x"], ["y"], min=0.0, max=6.0), {}, {"min": 0.0, "max": 6.0}),
        (
            13,
            make_node("Clip", ["x", "low", "high"], ["y"]),
            {"low": floats(), "high": floats()},
            {"min": 0.0, "max": 0.0},
        ),
        (13, make_node("Clip", ["x", "", "high"], ["y"]), {"high": floats()}, {"max": 0.0}),
        (9, make_node("ReduceMean", ["x"], ["y"], axes=[2, 3]), {}, {"axes": (2, 3)}),
        (
            18,
            make_node("ReduceMean", ["x", "axes"], ["y"]),
            {"axes": ints(2, 3)},
            {"axes": (2, 3)},
        ),
        (9, make_node("Softmax", ["x"], ["y"], axis=3), {}, {"axis": 3}),
        (13, make_node("Softmax", ["x"], ["y"]), {}, {}),
        (9, make_node("Dropout", ["x"], ["y"], ratio=0.5), {}, {"ratio": 0.5}),
        (13, make_node("Dropout", ["x", "r"], ["y"]), {"r": floats()}, {"ratio": 0.0}),
        (9, make_node("Pad", ["x"], ["y"], pads=[0, 0, 1, 1, 0, 0, 1, 1]), {}, None),
        (
            13,
            make_node("Pad", ["x", "pads"], ["y"]),
            {"pads": ints(0, 0, 1, 1, 0, 0, 1, 1)},
            {"pads": (0, 0, 1, 1, 0, 0, 1, 1)},
        ),
        (
            9,
            make_node("Slice", ["x"], ["y"], starts=[1], ends=[3], axes=[1]),
            {},
            {"starts": (1,), "ends": (3,), "axes": (1,)},
        ),
        (
            13,
            make_node("Slice", ["x", "b", "e", "a", "s"], ["y"]),
            {"b": ints(3), "e": ints(0), "a": ints(1), "s": ints(-1)},
            {"starts": (3,), "ends": (0,), "axes": (1,), "steps": (-1,)},
        ),
        (9, make_node("Flatten", ["x"], ["y"]), {}, {}),
    ],
)
def test_attributes_over_operator_sets(
    tmp_path: Path,
    opset: int,
    node: onnx.NodeProto,
    constants: dict[str, Array],
    attributes: dict[str, object] | None,
) -> None:
    graph = _load(tmp_path, [node], {"x": [2, 4, 6, 6]}, constants, opset=opset)
    assert _only(graph).operator == node.op_type
    assert len(_only(graph).inputs) == 1
    if attributes is not None:
        assert attributes.items() <= _only(graph).attributes.items()


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_a_softmax_was_of_all_axes_from_one_on(tmp_path: Path, axis: int) -> None:
    nodes = [make_node("Softmax", ["x"], ["y"], axis=axis)]
    found = {}
    for opset in (11, 13):
        graph = _load(tmp_path, nodes, {"x": [2, 3, 4, 5]}, opset=opset)
        x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
        found[opset] = evaluated(graph, {"x": x})["y"]
    sums = found[11].sum(axis=tuple(range(axis % 4, 4)))
    assert np.allclose(sums, 1)
    assert np.allclose(found[11], found[13]) == (axis == -1)


@pytest.mark.parametrize(
    ("opset", "nodes", "constants"),
    [
        (9, [make_node("Unsqueeze", ["x"], ["u"], axes=[0])], {}),
        (13, [make_node("Unsqueeze", ["x", "a"], ["u"])], {"a": ints(0)}),
    ],
)
def test_shape_only_operators_move_no_data(
    tmp_path: Path, opset: int, nodes: list[onnx.NodeProto], constants: dict[str, Array]
) -> None:
    squeeze = [make_node("Squeeze", ["u", *constants], ["s"])]
    if opset < 13:
        squeeze = [make_node("Squeeze", ["u"], ["s"], axes=[0])]
    rest = [
        make_node("Identity", ["s"], ["i"]),
        make_node("Flatten", ["i"], ["f"], axis=2),
        make_node("Reshape", ["f", "t"], ["r"]),
        make_node("Relu", ["r"], ["y"]),
    ]
    given = {**constants, "t": ints(0, 2, -1)}
    graph = _load(tmp_path, nodes + squeeze + rest, {"x": [2, 3, 4]}, given, opset=opset)
    assert moving(graph) == {"Relu": 1}
    assert output_shapes(graph) == [(6, 2, 2)]


def test_split_without_sizes(tmp_path: Path) -> None:
    nodes = [make_node("Split", ["x"], ["a", "b", "y"], axis=1)]
    graph = _load(tmp_path, nodes, {"x": [2, 6]}, opset=11, outputs=("a", "b", "y"))
    assert output_shapes(graph) == [(2, 2)] * 3


def test_convolution_without_its_optional_bias(tmp_path: Path) -> None:
    nodes = [make_node("Conv", ["x", "w", ""], ["y"])]
    graph = _load(tmp_path, nodes, {"x": [1, 3, 8, 8]}, {"w": floats(4, 3, 1, 1)})
    assert len(_only(graph).inputs) == 2


def test_batch_normalization_with_its_old_extra_results(tmp_path: Path) -> None:
    names = ["scale", "bias", "mean", "variance"]
    nodes = [
        make_node("BatchNormalization", ["x", *names], ["b", "m", "v", "sm", "sv"]),
        make_node("Relu", ["b"], ["y"]),
    ]
    constants: dict[str, Array] = {name: floats(3) for name in names}
    graph = _load(tmp_path, nodes, {"x": [2, 3, 4, 4]}, constants, opset=9)
    assert moving(graph) == {"BatchNormalization": 1, "Relu": 1}
    kinds = _kinds(graph)
    assert [kinds[name] for name in names] == [TensorKind.WEIGHT] * 2 + [TensorKind.STATE] * 2


def test_unused_constants_nodes_and_inputs_are_left_out(tmp_path: Path) -> None:
    nodes = [make_node("Exp", ["z"], ["unused"]), make_node("Relu", ["x"], ["y"])]
    graph = _load(tmp_path, nodes, {"x": [2], "z": [3]}, {"w": floats(9)})
    assert [v.name for v in graph.values] == ["x", "y"]


def test_initializers_that_are_also_inputs(tmp_path: Path) -> None:
    nodes = [make_node("MatMul", ["x", "w"], ["y"])]
    graph = _load(tmp_path, nodes, {"x": [2, 3], "w": [3, 4]}, {"w": floats(3, 4)}, ir_version=3)
    kinds = _kinds(graph)
    assert (kinds["x"], kinds["w"]) == (TensorKind.INPUT, TensorKind.WEIGHT)


def test_constant_subgraphs_are_folded_to_weights(tmp_path: Path) -> None:
    nodes = [
        make_node("ConstantOfShape", ["s"], ["made"]),
        make_node("Transpose", ["w"], ["turned"], perm=[1, 0]),
        make_node("MatMul", ["x", "turned"], ["h"]),
        make_node("MatMul", ["h", "made"], ["y"]),
    ]
    constants: dict[str, Array] = {"s": ints(4, 5), "w": floats(4, 3)}
    graph = _load(tmp_path, nodes, {"x": [2, 3]}, constants)
    assert moving(graph) == {"MatMul": 2}
    assert parameters(graph) == 3 * 4 + 4 * 5
    assert _kinds(graph)["turned"] is TensorKind.WEIGHT


def test_shared_weight_stays_one_tensor(tmp_path: Path) -> None:
    nodes = [
        make_node("Gather", ["table", "tokens"], ["e"]),
        make_node("Transpose", ["table"], ["turned"], perm=[1, 0]),
        make_node("MatMul", ["e", "turned"], ["y"]),
    ]
    made = model(nodes, {"tokens": [2, 5]}, {"table": floats(100, 8)}, element_type=7)
    graph = load_onnx(saved(tmp_path, made))
    assert parameters(graph) == 100 * 8
    assert moving(graph) == {"Gather": 1, "Transpose": 1, "MatMul": 1}
    step = training_graph(graph)
    kept = [v.name for v in step.values if v.kind is TensorKind.WEIGHT_GRADIENT and v.keep]
    assert len(kept) == 1


def test_integers_and_single_numbers_are_not_trained(tmp_path: Path) -> None:
    nodes = [
        make_node("Constant", [], ["half"], value_float=0.5),
        make_node("Mul", ["x", "half"], ["h"]),
        make_node("Gather", ["h", "index"], ["y"], axis=0),
    ]
    graph = _load(tmp_path, nodes, {"x": [4, 3]}, {"index": ints(2, 0)})
    kinds = _kinds(graph)
    assert (kinds["half"], kinds["index"]) == (TensorKind.STATE, TensorKind.STATE)
    sizes = {v.name: v.size_bytes for v in graph.values}
    assert (sizes["half"], sizes["index"], sizes["y"]) == (4, 16, 24)


def test_element_types(tmp_path: Path) -> None:
    nodes = [make_node("MatMul", ["x", "w"], ["h"]), make_node("Cast", ["h"], ["y"], to=1)]
    constants: dict[str, Array] = {"w": floats(3, 4)}
    made = model(nodes, {"x": [2, 3]}, element_type=TensorProto.FLOAT16)
    made.graph.initializer.append(numpy_helper.from_array(constants["w"].astype(np.float16), "w"))
    graph = load_onnx(saved(tmp_path, made))
    sizes = {v.name: v.element_type for v in graph.values}
    assert sizes == {"x": "fp16", "w": "fp16", "h": "fp16", "y": "fp32"}


def test_nodes_out_of_order_are_sorted(tmp_path: Path) -> None:
    nodes = [make_node("Relu", ["h"], ["y"]), make_node("Exp", ["x"], ["h"])]
    graph = _load(tmp_path, nodes, {"x": [2]})
    assert [node.operator for node in graph.nodes] == ["Exp", "Relu"]


def test_symbolic_dimension_by_name(tmp_path: Path) -> None:
    made = model([make_node("Relu", ["x"], ["y"])], {"x": ["batch", "sequence", 8]})
    graph = load_onnx(saved(tmp_path, made), batch=2, sizes={"sequence": 16})
    assert output_shapes(graph) == [(2, 16, 8)]


def test_local_functions_are_inlined(tmp_path: Path) -> None:
    made = model([make_node("Twice", ["x"], ["y"], domain="custom")], {"x": [2, 3]})
    body = [make_node("Exp", ["a"], ["t"]), make_node("Tanh", ["t"], ["b"])]
    opsets = [helper.make_opsetid("", 17)]
    made.functions.append(helper.make_function("custom", "Twice", ["a"], ["b"], body, opsets))
    graph = load_onnx(saved(tmp_path, made))
    assert moving(graph) == {"Exp": 1, "Tanh": 1}


def test_local_functions_with_a_rule_are_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SPECS.added, "own.F", replace(lookup("Relu"), name="own.F"))
    nodes = [make_node("F", ["x"], ["t"], domain="own"), make_node("G", ["t"], ["y"], domain="own")]
    made = model(nodes, {"x": [2, 3]})
    opsets = [helper.make_opsetid("", 17)]
    for name in ("F", "G"):
        body = [make_node("Exp", ["a"], ["t"]), make_node("Tanh", ["t"], ["b"])]
        made.functions.append(helper.make_function("own", name, ["a"], ["b"], body, opsets))
    made.opset_import.append(helper.make_opsetid("own", 1))
    graph = load_onnx(saved(tmp_path, made))
    assert moving(graph) == {"own.F": 1, "Exp": 1, "Tanh": 1}


def _external(name: str, *shape: int) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def test_ten_gigabytes_of_absent_weights(tmp_path: Path) -> None:
    layers, width = 40, 8192
    nodes = [make_node("MatMul", [f"h{k}", f"w{k}"], [f"h{k + 1}"]) for k in range(layers)]
    made = model(nodes, {"h0": ["N", width]}, outputs=(f"h{layers}",))
    made.graph.initializer.extend(_external(f"w{k}", width, width) for k in range(layers))
    graph = load_onnx(saved(tmp_path, made), batch=16)
    assert 4 * parameters(graph) == layers * width * width * 4 > 10e9
    assert macs(graph) == layers * 16 * width * width


@pytest.mark.parametrize("present", [True, False])
def test_external_shapes_are_read_if_they_can_be(tmp_path: Path, present: bool) -> None:
    made = model([make_node("Reshape", ["x", "s"], ["y"])], {"x": [2, 6]}, {"s": ints(3, 4)})
    path = tmp_path / "model.onnx"
    onnx.save(made, str(path), save_as_external_data=True, location="data.bin", size_threshold=0)
    if present:
        assert output_shapes(load_onnx(path)) == [(3, 4)]
    else:
        (tmp_path / "data.bin").unlink()
        with pytest.raises(InputError, match=r"node y \(Reshape\): the shape of y depends on data"):
            load_onnx(path)
