"""Small ONNX models made for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Dimensions = Sequence[int | str | None]
Array = NDArray[Any]


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
