"""Small ONNX models made for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import import load_onnx

Dimensions = Sequence[int | str | None]
Array = NDArray[Any]
Shapes = dict[str, Sequence[int]]


def floats(*shape: int) -> NDArray[np.float32]:
    """A weight."""
    return np.zeros(shape, np.float32)


def ints(*values: int) -> NDArray[np.int64]:
    """A row of integers, as shapes and axes are given."""
    return np.array(values, np.int64)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Dimensions],
    constants: Mapping[str, Array] | None = None,
    *,
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
    ir_version: int = 8,
    element_type: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """Model of ``nodes``; outputs are declared without a shape."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(name, element_type, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("custom", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def saved(folder: Path, made: onnx.ModelProto) -> Path:
    """Path of ``made`` written to ``folder``."""
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def graph_of(
    folder: Path,
    operator: str,
    inputs: Shapes,
    constants: dict[str, Array] | None = None,
    *,
    operands: Sequence[str] | None = None,
    outputs: Sequence[str] = ("y",),
    opset: int = 23,
    element_type: int = TensorProto.FLOAT,
    **attributes: Any,
) -> Graph:
    """Graph of one node, whose operands are the inputs and the constants in their order."""
    names = [*inputs, *(constants or {})] if operands is None else operands
    node = helper.make_node(operator, names, list(outputs), **attributes)
    read = [name for name in outputs if name]
    made = model([node], inputs, constants, outputs=read, opset=opset, element_type=element_type)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return load_onnx(saved(folder, made))


def fails(path: Path, match: str, **given: Any) -> None:
    """Check that a file is refused in one line."""
    with pytest.raises(InputError, match=match) as caught:
        load_onnx(path, warn=lambda text: None, **given)
    assert "\n" not in str(caught.value)
