"""Pairs of quantization become the integer operation that they stand for, at its true widths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from spmopt.core.graph import Graph, Node
from spmopt.core.problem import TensorKind
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph import operators
from spmopt.graph.folding import fold
from spmopt.graph.lower import lower
from spmopt.graph.preparation import prepare
from spmopt.hardware.machines import load_machine

from .figures import moving
from .models import Array, floats, model, saved

make_node = helper.make_node
SCALE, ZERO = np.array(0.5, np.float32), np.array(0, np.int8)


def _int8(*shape: int) -> Array:
    return np.zeros(shape, np.int8)


def _quantize(source: str, result: str) -> onnx.NodeProto:
    return make_node("QuantizeLinear", [source, "s", "z"], [result])


def _dequantize(source: str, result: str, scale: str = "s") -> onnx.NodeProto:
    return make_node("DequantizeLinear", [source, scale, "z" if scale == "s" else ""], [result])


def _graph(folder: Path, nodes: list[onnx.NodeProto], **constants: Array) -> Graph:
    made = model(nodes, {"x": [1, 4, 8, 8]}, {"s": SCALE, "z": ZERO, **constants})
    return load_onnx(saved(folder, made))


def _types(graph: Graph, node: Node) -> tuple[list[str], list[str]]:
    return (
        [graph.values[v].element_type for v in node.inputs],
        [graph.values[v].element_type for v in node.outputs],
    )


def _of(graph: Graph, operator: str) -> Node:
    (node,) = [node for node in graph.nodes if node.operator == operator]
    return node


NET = [
    _quantize("x", "xq"),
    _dequantize("xq", "xd"),
    _dequantize("w", "wd"),
    make_node("Conv", ["xd", "wd"], ["c"]),
    _quantize("c", "cq"),
    _dequantize("cq", "cd"),
    make_node("Relu", ["cd"], ["r"]),
    make_node("Reshape", ["r", "flat"], ["f"]),
    _quantize("f", "fq"),
    _dequantize("fq", "y"),
]


def test_operators_read_and_write_integers(tmp_path: Path) -> None:
    graph = _graph(tmp_path, NET, w=_int8(2, 4, 3, 3), flat=np.array([1, 72]))
    assert moving(graph) == {"QuantizeLinear": 3, "DequantizeLinear": 4, "Conv": 1, "Relu": 1}
    quick = fold(graph)
    # The input comes as floating point, and so does the result go: two conversions are left.
    assert moving(quick) == {"QuantizeLinear": 1, "DequantizeLinear": 1, "Conv": 1, "Relu": 1}
    assert _types(quick, _of(quick, "Conv")) == (["int8", "int8"], ["int8"])
    assert _types(quick, _of(quick, "Relu")) == (["int8"], ["int8"])
    assert quick.values[_of(quick, "Conv").inputs[1]].kind is TensorKind.WEIGHT
    assert fold(quick) == quick
    assert prepare(graph, "tiled-unfolded") == graph


def test_bytes_and_work_of_an_integer_product(tmp_path: Path) -> None:
    graph = _graph(tmp_path, NET, w=_int8(2, 4, 3, 3), flat=np.array([1, 72]))
    problem = lower(graph, load_machine("rtx2080ti", {}))
    (product,) = [op for op in problem.operations if op.kind == "Conv"]
    assert product.mappings[0].macs == 2 * 36 * 4 * 9
    sizes = sorted(problem.tensors[t].size_bytes for t in (*product.reads, *product.writes))
    assert sizes == [72, 72, 256]  # weights, result, input: a byte an element


def test_scales_of_channels_are_read_with_the_weights(tmp_path: Path) -> None:
    nodes = [
        _quantize("x", "xq"),
        _dequantize("xq", "xd"),
        make_node("DequantizeLinear", ["w", "ws"], ["wd"], axis=0),
        make_node("Conv", ["xd", "wd"], ["y"]),
    ]
    graph = fold(_graph(tmp_path, nodes, w=_int8(2, 4, 3, 3), ws=floats(2)))
    assert _types(graph, _of(graph, "Conv")) == (["int8", "int8", "fp32"], ["fp32"])


def test_transposed_weights_stay_integers(tmp_path: Path) -> None:
    nodes = [
        _dequantize("w", "wd"),
        make_node("Transpose", ["wd"], ["wt"], perm=[1, 0]),
        make_node("MatMul", ["x", "wt"], ["y"]),
    ]
    graph = fold(_graph(tmp_path, nodes, w=_int8(16, 8)))
    assert moving(graph) == {"MatMul": 1}
    assert _types(graph, _of(graph, "MatMul")) == (["fp32", "int8"], ["fp32"])


def test_what_others_read_unquantized_is_quantized_apart(tmp_path: Path) -> None:
    nodes = [
        make_node("Exp", ["x"], ["e"]),
        _quantize("e", "q"),
        _dequantize("q", "d"),
        make_node("Add", ["d", "e"], ["y"]),
    ]
    graph = fold(_graph(tmp_path, nodes))
    assert moving(graph) == {"Exp": 1, "QuantizeLinear": 1, "Add": 1}
    assert _types(graph, _of(graph, "Add")) == (["int8", "fp32"], ["fp32"])


def test_packed_weights_take_half_a_byte(tmp_path: Path) -> None:
    made = model(
        [
            make_node("DequantizeLinear", ["w", "s"], ["wd"]),
            make_node("MatMul", ["x", "wd"], ["y"]),
        ],
        {"x": [4, 8]},
        {"s": SCALE},
        opset=21,
        ir_version=10,
    )
    weights = helper.make_tensor("w", TensorProto.INT4, [8, 16], bytes(64), raw=True)
    made.graph.initializer.append(weights)
    graph = fold(load_onnx(saved(tmp_path, made)))
    product = _of(graph, "MatMul")
    assert graph.values[product.inputs[1]].size_bytes == 64


@pytest.mark.parametrize("operator", ["MatMulInteger", "ConvInteger"])
def test_dynamic_quantization_multiplies_integers(tmp_path: Path, operator: str) -> None:
    product = operators.lookup(operator)
    assert product.gemm is not None
    shape = (16, 8) if operator == "MatMulInteger" else (2, 4, 3, 3)
    inputs = ["q", "w"] if operator == "ConvInteger" else ["w", "q"]
    nodes = [
        make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
        make_node(operator, inputs, ["y"]),
    ]
    graph = _graph(tmp_path, nodes, w=np.zeros(shape, np.uint8))
    node = _of(graph, operator)
    assert _types(graph, node)[1] == ["int32"]
    assert all(graph.values[v].size_bytes == graph.values[v].elements for v in node.inputs)
