"""Working out the short integer constants that shapes are made of.

Exporters compute shapes with chains such as Shape - Gather - Mul - Concat - Reshape. Each
function below repeats one operator in numpy; what is not here simply stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.facts import (
    Array,
    Fact,
    array_fact,
    constant_fact,
)

Inputs = Sequence[Array | None]
Evaluation = Callable[[Inputs, Mapping[str, Any]], Array]


def shape_value(node: onnx.NodeProto, source: Fact, attributes: Mapping[str, Any]) -> Array:
    """Result of ``Shape`` or ``Size``, which need no contents."""
    if node.op_type == "Size":
        return np.array(source.elements, np.int64)
    begin, end = attributes.get("start", 0), attributes.get("end")
    return np.array(source.shape[begin:end], np.int64)


def constant_node(node: onnx.NodeProto, attributes: Mapping[str, Any]) -> Fact:
    """Fact of a ``Constant`` node, whatever form its value takes."""
    for name, value in attributes.items():
        if name == "value":
            return constant_fact(value)
        if name in ("value_int", "value_ints"):
            return array_fact(np.array(value, np.int64))
        if name in ("value_float", "value_floats"):
            return array_fact(np.array(value, np.float32))
    raise InputError(f"node {node.name} (Constant): has no dense numeric value")


def evaluate(node: onnx.NodeProto, inputs: Inputs, attributes: Mapping[str, Any]) -> Array | None:
    """Contents of the only result of ``node``, or None if this operator is not followed."""
    function = _EVALUATIONS.get(node.op_type)
    if function is None or len(node.output) != 1:
        return None
    return np.asarray(function(inputs, attributes))


def _need(inputs: Inputs, position: int) -> Array:
    value = inputs[position]
    if value is None:
        raise ValueError(f"input {position} is missing")
    return value


def _optional(inputs: Inputs, position: int) -> Array | None:
    return inputs[position] if position < len(inputs) else None


def _axes(inputs: Inputs, attributes: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Axes: an attribute before opset 13, an input since."""
    given = _optional(inputs, 1)
    if given is not None:
        return tuple(int(axis) for axis in given.ravel())
    axes = attributes.get("axes")
    return None if axes is None else tuple(axes)


def _unsqueeze(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    return np.expand_dims(_need(inputs, 0), _axes(inputs, attributes) or ())


def _squeeze(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    return np.squeeze(_need(inputs, 0), _axes(inputs, attributes))


def _reshape(inputs: Inputs, _: Mapping[str, Any]) -> Array:
    data = _need(inputs, 0)
    target = [int(size) for size in _need(inputs, 1)]
    return data.reshape([data.shape[i] if size == 0 else size for i, size in enumerate(target)])


def _gather(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    return np.take(_need(inputs, 0), _need(inputs, 1), axis=attributes.get("axis", 0))


def _concat(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    return np.concatenate([_need(inputs, i) for i in range(len(inputs))], attributes["axis"])


def _cast(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    return _need(inputs, 0).astype(helper.tensor_dtype_to_np_dtype(attributes["to"]))


def _slice(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    data = _need(inputs, 0)
    if len(inputs) > 1:
        begins, ends = _need(inputs, 1), _need(inputs, 2)
        axes, steps = _optional(inputs, 3), _optional(inputs, 4)
    else:
        begins, ends = np.array(attributes["starts"]), np.array(attributes["ends"])
        axes, steps = attributes.get("axes"), None
    cut = [slice(None)] * data.ndim
    for row, axis in enumerate(range(len(begins)) if axes is None else axes):
        step = 1 if steps is None else int(steps[row])
        cut[int(axis)] = slice(int(begins[row]), int(ends[row]), step)
    return data[tuple(cut)]


def _divide(inputs: Inputs, _: Mapping[str, Any]) -> Array:
    left, right = _need(inputs, 0), _need(inputs, 1)
    if np.issubdtype(left.dtype, np.integer):
        return np.asarray(np.trunc(left / right).astype(left.dtype))
    return np.asarray(left / right)


def _range(inputs: Inputs, _: Mapping[str, Any]) -> Array:
    begin, end, step = (_need(inputs, i).item() for i in range(3))
    return np.arange(begin, end, step, dtype=_need(inputs, 0).dtype)


def _filled(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    shape = tuple(int(size) for size in _need(inputs, 0))
    value = attributes.get("value")
    if value is None:
        return np.zeros(shape, np.float32)
    fill = constant_fact(value).data
    if fill is None:
        raise ValueError("value is not a number")
    return np.full(shape, fill.ravel()[0], fill.dtype)


def _expand(inputs: Inputs, _: Mapping[str, Any]) -> Array:
    data = _need(inputs, 0)
    shape = np.broadcast_shapes(data.shape, tuple(int(size) for size in _need(inputs, 1)))
    return np.broadcast_to(data, shape)


def _product(inputs: Inputs, attributes: Mapping[str, Any]) -> Array:
    keep = bool(attributes.get("keepdims", 1))
    return np.asarray(np.prod(_need(inputs, 0), _axes(inputs, attributes), keepdims=keep))


def _ufunc(function: Callable[..., Any], count: int) -> Evaluation:
    def run(inputs: Inputs, _: Mapping[str, Any]) -> Array:
        return np.asarray(function(*(_need(inputs, i) for i in range(count))))

    return run


_EVALUATIONS: Mapping[str, Evaluation] = {
    "Add": _ufunc(np.add, 2),
    "And": _ufunc(np.logical_and, 2),
    "Cast": _cast,
    "Ceil": _ufunc(np.ceil, 1),
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Div": _divide,
    "Equal": _ufunc(np.equal, 2),
    "Expand": _expand,
    "Floor": _ufunc(np.floor, 1),
    "Gather": _gather,
    "Greater": _ufunc(np.greater, 2),
    "Identity": _ufunc(np.asarray, 1),
    "Less": _ufunc(np.less, 2),
    "Max": _ufunc(np.maximum, 2),
    "Min": _ufunc(np.minimum, 2),
    "Mod": _ufunc(np.mod, 2),
    "Mul": _ufunc(np.multiply, 2),
    "Neg": _ufunc(np.negative, 1),
    "Not": _ufunc(np.logical_not, 1),
    "Range": _range,
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Slice": _slice,
    "Sqrt": _ufunc(np.sqrt, 1),
    "Squeeze": _squeeze,
    "Sub": _ufunc(np.subtract, 2),
    "Unsqueeze": _unsqueeze,
    "Where": _ufunc(np.where, 3),
}
