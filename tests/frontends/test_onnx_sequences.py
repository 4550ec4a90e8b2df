"""Sequences of tensors, and bags of embeddings that loops make: shapes are those ONNX computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import import load_onnx

from .figures import moving, output_shapes
from .models import floats, ints, model, saved

make_node = helper.make_node


def _same_shapes(path: Path, **inputs: np.ndarray[Any, Any]) -> Graph:
    graph = load_onnx(path)
    wanted = ReferenceEvaluator(onnx.load(path)).run(None, inputs)
    assert output_shapes(graph) == [np.shape(array) for array in wanted]
    return graph


def _zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("place", "axis", "rows"), [(None, 0, 10), (0, 0, 10), (-1, 0, 10), (None, 1, 3)]
)
def test_insert_and_join(tmp_path: Path, place: int | None, axis: int, rows: int) -> None:
    at = [] if place is None else ["p"]
    nodes = [
        make_node("SequenceConstruct", ["x", "y"], ["s"]),
        make_node("SequenceInsert", ["s", "x", *at], ["t"]),
        make_node("SequenceInsert", ["t", "x", *at], ["v"]),
        make_node("ConcatFromSequence", ["v"], ["z"], axis=axis),
    ]
    if axis == 1:
        nodes[0] = make_node("SequenceConstruct", ["x", "x"], ["s"])
    constants = {"p": np.array(place or 0)}
    made = model(nodes, {"x": [3, 2], "y": [1, 2]}, constants, outputs=("z",))
    graph = _same_shapes(saved(tmp_path, made), x=_zeros(3, 2), y=_zeros(1, 2))
    assert moving(graph)["Concat"] == 1
    if axis == 1:
        assert output_shapes(graph) == [(rows, 8)]


@pytest.mark.parametrize(
    ("sizes", "attributes"),
    [
        (None, {"axis": 1}),
        (None, {"axis": -1, "keepdims": 0}),
        (np.array(3), {"axis": 1}),
        (np.array([1, 4]), {"axis": 1}),
    ],
)
def test_parts_of_a_tensor_in_a_sequence(
    tmp_path: Path, sizes: np.ndarray[Any, Any] | None, attributes: dict[str, Any]
) -> None:
    given = {} if sizes is None else {"sizes": sizes}
    nodes = [
        make_node("SplitToSequence", ["x", *given], ["s"], **attributes),
        make_node("SequenceLength", ["s"], ["n"]),
        make_node("Sub", ["n", "one"], ["last"]),
        make_node("SequenceAt", ["s", "last"], ["part"]),
        make_node("Relu", ["part"], ["y"]),
    ]
    made = model(nodes, {"x": [2, 5]}, {**given, "one": np.array(1)})
    _same_shapes(saved(tmp_path, made), x=_zeros(2, 5))


def test_what_no_schedule_can_hold_is_refused(tmp_path: Path) -> None:
    nodes = [make_node("SequenceConstruct", ["x"], ["s"]), make_node("Relu", ["s"], ["y"])]
    path = saved(tmp_path, model(nodes, {"x": [2, 2]}))
    with pytest.raises(InputError, match="reads s, a sequence of tensors, as a tensor"):
        load_onnx(path)
    path = saved(tmp_path, model(nodes[:1], {"x": [2, 2]}, outputs=("s",)))
    with pytest.raises(InputError, match="output s is a sequence of tensors"):
        load_onnx(path)
    nodes[1] = make_node("SequenceAt", ["s", "k"], ["y"])
    path = saved(tmp_path, model(nodes, {"x": [2, 2]}, {"k": np.array(1)}))
    with pytest.raises(InputError, match="position 1 is not in the sequence"):
        load_onnx(path)


def _bags(offsets: list[int], rows: int, kind: str = "ReduceSum") -> onnx.ModelProto:
    """Return bags of indices looked up in a table, as the exporter of torch writes them."""
    value = helper.make_tensor_value_info
    nodes = [
        make_node("Gather", ["starts", "count"], ["begin"]),
        make_node("Gather", ["ends", "count"], ["end"]),
        make_node("Unsqueeze", ["begin", "zero"], ["from"]),
        make_node("Unsqueeze", ["end", "zero"], ["to"]),
        make_node("Slice", ["x", "from", "to", "zero"], ["own"]),
        make_node("Gather", ["table", "own"], ["found"], axis=0),
        make_node(kind, ["found", "zero"], ["bag"], keepdims=0),
        make_node("Identity", ["going"], ["goes_on"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value("count", TensorProto.INT64, []), value("going", TensorProto.BOOL, [])],
        [value("goes_on", TensorProto.BOOL, []), value("bag", TensorProto.FLOAT, None)],
    )
    constants = {
        **{"n": np.array(len(offsets)), "yes": np.array(True), "zero": ints(0)},
        **{"starts": np.array(offsets), "ends": np.array([*offsets[1:], rows])},
        "table": floats(100, 16),
    }
    made = model(
        [make_node("Loop", ["n", "yes"], ["y"], body=body)], {"x": [rows]}, constants, opset=18
    )
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    return made


@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMean", "ReduceMax"])
def test_bags_of_one_size_are_one_lookup(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path, _bags([0, 4, 8], 12, kind))
    graph = _same_shapes(path, x=np.zeros(12, np.int64))
    assert moving(graph) == {"Gather": 1, kind: 1}
    looked_up = next(node for node in graph.nodes if node.operator == "Gather")
    assert graph.values[looked_up.outputs[0]].shape == (3, 4, 16)


@pytest.mark.parametrize("offsets", [[0, 5, 8], [0, 3, 8], [1, 5, 8], [0, 4, 4]])
def test_bags_of_several_sizes_are_a_lookup_each(tmp_path: Path, offsets: list[int]) -> None:
    if offsets[1] == offsets[2]:
        with pytest.raises(InputError, match="has no elements"):
            load_onnx(saved(tmp_path, _bags(offsets, 12)))
        return
    graph = load_onnx(saved(tmp_path, _bags(offsets, 12)))
    assert output_shapes(graph) == [(3, 16)]
    assert moving(graph)["Gather"] == 3
