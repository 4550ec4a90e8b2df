"""Operators beyond the usual: shapes against ONNX, work, and gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph import operators
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph

from .figures import MACHINE, macs, moving, output_shapes
from .models import Array, floats, ints, model, saved

make_node = helper.make_node

# Each follows a product with a weight, so that its gradient is needed. The importer compares
# its result shape with the inference of ONNX. Others are in tests/execution/test_operators.py.
CASES: list[tuple[str, dict[str, Any], dict[str, Array], tuple[int, ...]]] = [
    ("Abs", {}, {}, (2, 3, 8)),
    ("PRelu", {}, {"slope": floats(8)}, (2, 3, 8)),
    ("Max", {}, {"a": floats(3, 1), "b": floats(5, 1, 1, 8)}, (5, 2, 3, 8)),
    ("Min", {}, {"a": floats(1)}, (2, 3, 8)),
    ("Expand", {}, {"shape": ints(4, 1, 1, 1)}, (4, 2, 3, 8)),
    ("Tile", {}, {"repeats": ints(1, 2, 3)}, (2, 6, 24)),
]


@pytest.mark.parametrize(("operator", "attributes", "constants", "shape"), CASES)
def test_shapes_and_gradients(
    tmp_path: Path,
    operator: str,
    attributes: dict[str, Any],
    constants: dict[str, Array],
    shape: tuple[int, ...],
) -> None:
    nodes = [
        make_node("MatMul", ["x", "w"], ["h"]),
        make_node(operator, ["h", *constants], ["y"], **attributes),
    ]
    made = model(nodes, {"x": [2, 3, 4]}, {"w": floats(4, 8), **constants}, opset=18)
    graph = load_onnx(saved(tmp_path, made))
    assert output_shapes(graph) == [shape]
    step = training_graph(graph)
    fusion_space = "Extreme" if operator in ("Max", "Min") else operator
    assert moving(step)[f"{fusion_space}Gradient"] == 1
    assert len(lower(step, MACHINE).operations) == moving(step).total()


def test_where_passes_gradients_but_not_to_the_condition(tmp_path: Path) -> None:
    nodes = [
        make_node("MatMul", ["x", "w"], ["h"]),
        make_node("Greater", ["x", "zero"], ["c"]),
        make_node("Where", ["c", "h", "other"], ["y"]),
    ]
    constants: dict[str, Array] = {"w": floats(4, 4), "zero": floats(), "other": floats(1, 4)}
    graph = load_onnx(saved(tmp_path, model(nodes, {"x": [3, 4]}, constants)))
    sizes = {v.name: v.size_bytes for v in graph.values}
    assert (sizes["c"], sizes["y"]) == (12, 48)
    (gradient,) = (n for n in training_graph(graph).nodes if n.operator == "WhereGradient")
    assert (len(gradient.inputs), len(gradient.outputs)) == (2, 2)


def test_a_comparison_cannot_be_trained_through(tmp_path: Path) -> None:
    nodes = [make_node("MatMul", ["x", "w"], ["h"]), make_node("Sign", ["h"], ["y"])]
    graph = load_onnx(saved(tmp_path, model(nodes, {"x": [3, 4]}, {"w": floats(4, 4)})))
    with pytest.raises(InputError, match=r"node y: operator Sign has no gradient rule"):
        training_graph(graph)


@pytest.mark.parametrize(
    ("operator", "opset", "arguments"),
    [
        ("Resize", 13, {"roi": floats(0), "scales": floats(4)}),
        ("Upsample", 9, {"scales": floats(4)}),
    ],
)
def test_resampling_by_scales(
    tmp_path: Path, operator: str, opset: int, arguments: dict[str, Array]
) -> None:
    arguments["scales"][:] = (1, 1, 2, 3)
    nodes = [
        make_node("Conv", ["x", "w"], ["h"]),
        make_node(operator, ["h", *arguments], ["y"], mode="nearest"),
    ]
    made = model(nodes, {"x": [2, 3, 4, 4]}, {"w": floats(5, 3, 1, 1), **arguments}, opset=opset)
    graph = load_onnx(saved(tmp_path, made), batch=6)
    assert output_shapes(graph) == [(6, 5, 8, 12)]
    assert moving(training_graph(graph))[f"{operator}Gradient"] == 1


@pytest.mark.parametrize(
    ("attributes", "spatial"),
    [
        ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, (14, 18)),
        ({"dilations": [2, 1]}, (11, 11)),
        ({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, (14, 18)),
        ({"strides": [2, 2], "output_shape": [13, 18]}, (13, 18)),
        ({"group": 2}, (9, 11)),
    ],
)
def test_transposed_convolution(
    tmp_path: Path, attributes: dict[str, Any], spatial: tuple[int, int]
) -> None:
    group = attributes.get("group", 1)
    nodes = [
        make_node("Conv", ["x", "k"], ["h"]),
        make_node("ConvTranspose", ["h", "w", "b"], ["y"], **attributes),
    ]
    constants: dict[str, Array] = {
        "k": floats(4, 4, 1, 1),
        "w": floats(4, 6 // group, 3, 3),
        "b": floats(6),
    }
    graph = load_onnx(saved(tmp_path, model(nodes, {"x": [2, 4, 7, 9]}, constants)))
    assert output_shapes(graph) == [(2, 6, *spatial)]
    positions = 2 * 7 * 9
    product = positions * 4 * (6 // group) * 9
    assert macs(graph) == positions * 4 * 4 + product
    # dW of both, dX of the second only.
    assert macs(training_graph(graph)) == 2 * positions * 4 * 4 + 3 * product


def test_a_transposed_convolution_is_the_input_gradient_of_a_convolution() -> None:
    small, large, kernel = (2, 4, 7, 9), (2, 6, 9, 11), (4, 6, 3, 3)
    transposed, backward = operators.lookup("ConvTranspose"), operators.lookup("Conv")
    assert transposed.gemm is not None
    assert backward.gemm is not None
    # Conv from large to small has weight (4, 6, 3, 3); running it backwards is the transpose.
    assert (
        transposed.gemm((small, kernel), (large,), {}).macs
        == backward.gemm((large, kernel), (small,), {}).macs
    )


def test_integer_inputs_and_lookups(tmp_path: Path) -> None:
    nodes = [make_node("Gather", ["table", "x"], ["h"]), make_node("Log", ["h"], ["y"])]
    made = model(nodes, {"x": [2, 5]}, {"table": floats(11, 8)}, element_type=TensorProto.INT32)
    graph = load_onnx(saved(tmp_path, made))
    assert {v.name: v.size_bytes for v in graph.values} == {
        "x": 40,
        "table": 352,
        "h": 320,
        "y": 320,
    }


@pytest.mark.parametrize(
    ("scale", "opset", "expected"),
    [(2.0, 10, "asymmetric"), (2.0, 13, None), (1.3, 13, "unknown")],
)
def test_where_a_resized_image_lies_is_what_the_operator_set_says(
    tmp_path: Path, scale: float, opset: int, expected: str | None
) -> None:
    """Four rows times 1.3 are five: their ratio is another scale."""
    scales: Array = floats(4)
    scales[:] = (1, 1, scale, 2)
    names = ["x", "scales"] if opset < 11 else ["x", "", "scales"]
    nodes = [make_node("Resize", names, ["y"], mode="nearest")]
    made = model(nodes, {"x": [2, 3, 4, 4]}, {"scales": scales}, opset=opset)
    (node,) = load_onnx(saved(tmp_path, made)).nodes
    assert node.attributes.get("coordinate_transformation_mode") == expected
