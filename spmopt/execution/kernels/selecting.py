"""Operators whose results are elements of an operand, and their gradients.

Such an operator, given the places of elements in place of elements, returns the places that it
selects. Its gradient adds each element of dY there. So each gradient follows from its operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from spmopt.core.graph import Node
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.onnx_reference import onnx_kernel
from spmopt.graph.operators.attributes import integer


def evaluate(call: Call, operator: str, inputs: Sequence[Array], *shapes: tuple[int, ...]) -> Array:
    """Return the first result of an operator of ONNX with the attributes of a call."""
    node = Node(name="", operator=operator, inputs=(), outputs=(), attributes=call.attributes)
    kernel = onnx_kernel(node)
    if kernel is None:
        raise NotImplementedError(f"ONNX has no {operator} with these attributes")
    of = replace(call, operator=operator, inputs=inputs, shapes=shapes or ((),))
    return np.asarray(kernel(of)[0])


def places(shape: Sequence[int]) -> Array:
    """Return the place of each element, from 1; 0 stands for padding."""
    return np.arange(1.0, prod(shape) + 1).reshape(shape)


def scatter(dy: Array, where: Array, shape: Sequence[int]) -> Array:
    """Add each element of dY up at its place in zeros."""
    # Place 0, of padding, is cut off at the end.
    found = np.zeros(prod(shape) + 1, dy.dtype)
    np.add.at(found, _whole(where).ravel(), dy.ravel())
    return found[1:].reshape(shape)


def _whole(where: Array) -> Array:
    return np.nan_to_num(where).astype(np.int64)


def _back(operator: str) -> NodeKernel:
    """Return the gradient of an operator that selects, whose further operands it is given."""

    def kernel(call: Call) -> Sequence[Array]:
        dy, *more = call.inputs
        where = evaluate(call, operator, [places(call.shapes[0]), *more], dy.shape)
        return [scatter(dy, where, call.shapes[0])]

    return kernel


def _top(call: Call) -> Sequence[Array]:
    """Return the largest or the smallest elements along an axis, in order, and where they were."""
    x, (shape, *_) = call.inputs[0], call.shapes
    axis = integer(call.attributes, "axis", -1)
    sign = -1 if integer(call.attributes, "largest", 1) else 1
    # Stable: of equals ONNX takes the first.
    order = np.argsort(sign * x.astype(np.float64), axis=axis, kind="stable")
    chosen = np.take(order, range(shape[axis]), axis)
    return [np.take_along_axis(x, chosen, axis), chosen]


def _top_back(call: Call) -> Sequence[Array]:
    """Put dY where the largest elements were."""
    dy, indices = call.inputs
    found = np.zeros(call.shapes[0], dy.dtype)
    axis = integer(call.attributes, "axis", -1)
    np.put_along_axis(found, _inside(indices, found.shape[axis]), dy, axis)
    return [found]


def _inside(indices: Array, size: int) -> Array:
    """Return valid indices; one from bytes that were never written becomes some other."""
    found: Array = np.mod(np.nan_to_num(indices), size).astype(np.int64)
    return found


_SELECT = ("CenterCropPad", "GatherElements", "GatherND", "ReverseSequence", "Slice", "Trilu")
KERNELS: Mapping[str, NodeKernel] = {
    **{f"{name}Gradient": _back(name) for name in _SELECT},
    "Scatter": lambda call: [evaluate(call, "ScatterElements", call.inputs)],
    "TopK": _top,
    "TopKGradient": _top_back,
}
