"""Operators beyond the usual: shapes against ONNX, work, and gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.training import training_graph

from .figures import macs, moving, output_shapes
from .models import Array, floats, model, saved

make_node = helper.make_node


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
