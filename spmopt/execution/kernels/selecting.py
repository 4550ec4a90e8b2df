"""Operators whose results are elements of an operand, and their gradients.

What such an operator selects shows when it is given the places of the elements in their stead; the
gradient adds each element of dY up where it is from. So each gradient follows from its operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from spmopt.core.graph import Node
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.onnx_reference import onnx_kernel
from spmopt.graph.operators.attributes import integer, text


def evaluate(call: Call, operator: str, inputs: Sequence[Array], *shapes: tuple[int, ...]) -> Array:
    """Return the first result of an operator of ONNX with the attributes of a call."""
    node = Node(name="", operator=operator, inputs=(), outputs=(), attributes=call.attributes)
    kernel = onnx_kernel(node)
    if kernel is None:
        raise NotImplementedError(f"ONNX has no {operator} with these attributes")
    of = replace(call, operator=operator, inputs=inputs, shapes=shapes or ((),))
    return np.asarray(kernel(of)[0])


def places(shape: Sequence[int]) -> Array:
    """Return the place of each element, from 1: 0 is what is no element."""
    return np.arange(1.0, prod(shape) + 1).reshape(shape)


def gather(dy: Array, where: Array) -> Array:
    """Return elements of dY at places; 0 where there is none."""
    flat = np.concatenate((np.zeros(1, dy.dtype), dy.ravel()))
    return flat[_whole(where)]


def scatter(dy: Array, where: Array, shape: Sequence[int]) -> Array:
    """Add each element of dY up at its place in zeros."""
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


def _scatter(call: Call) -> Sequence[Array]:
    return [evaluate(call, "ScatterElements", call.inputs)]


def _scatter_back(operator: str) -> NodeKernel:
    """Return the gradients of what is overwritten, or added to, and of what is written."""

    def kernel(call: Call) -> Sequence[Array]:
        dy, indices = call.inputs
        shape = _updates(operator, dy, indices)
        zeros = np.zeros
        if text(call.attributes, "reduction", "none") == "add":
            taken = {"ScatterND": "GatherND"}.get(operator, "GatherElements")
            plain = replace(call, attributes=_axis_of(call))
            kept, written = dy, evaluate(plain, taken, [dy, indices])
        elif text(call.attributes, "reduction", "none") == "none":
            of_data = evaluate(call, operator, [places(dy.shape), indices, zeros(shape)])
            of_updates = evaluate(call, operator, [zeros(dy.shape), indices, places(shape)])
            kept, written = gather(dy, of_data), scatter(dy, of_updates, shape)
        else:
            raise NotImplementedError("a gradient of what is multiplied, or compared, needs it")
        both = {0: kept, 2: written}
        wanted = call.of or ((0, 2) if len(call.shapes) == 2 else ())
        if not wanted:
            wanted = (0,) if call.shapes[0] == dy.shape else (2,)
        return [both[place].reshape(s) for place, s in zip(wanted, call.shapes, strict=True)]

    return kernel


def _axis_of(call: Call) -> dict[str, int]:
    axis = call.attributes.get("axis")
    return {"axis": axis} if isinstance(axis, int) else {}


def _updates(operator: str, dy: Array, indices: Array) -> tuple[int, ...]:
    """Return the shape of what is written."""
    if operator != "ScatterND":
        return indices.shape
    return (*indices.shape[:-1], *dy.shape[indices.shape[-1] :])


def _cache_back(call: Call) -> Sequence[Array]:
    """Give dY to the rows of a cache that were not replaced, and to those that were.

    Where rows are written comes with the data, and no gradient reads it; the first ones stand for
    them, as ONNX has it where nothing says otherwise.
    """
    (dy,) = call.inputs
    axis = integer(call.attributes, "axis", -2) % dy.ndim
    wanted = places_of_both(call)
    shape = call.given[1] if call.given else call.shapes[-1]
    first = (slice(None),) * axis + (slice(shape[axis]),)
    kept = dy.copy()
    kept[first] = 0
    both = (kept, dy[first])
    return [both[place] for place in wanted]


def places_of_both(call: Call) -> tuple[int, ...]:
    """Return which of two operands the results are gradients of."""
    return call.of or tuple(range(len(call.shapes)))


def _top(call: Call) -> Sequence[Array]:
    """Return the largest or the smallest elements along an axis, in order, and where they were."""
    x, (shape, *_) = call.inputs[0], call.shapes
    axis = integer(call.attributes, "axis", -1)
    sign = -1 if integer(call.attributes, "largest", 1) else 1
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
    """Return indices; what is none, as bytes that were never written, becomes one."""
    found: Array = np.mod(np.nan_to_num(indices), size).astype(np.int64)
    return found


def _diagonal(call: Call) -> Sequence[Array]:
    """Keep one axis of several of one size: of all, the last ones."""
    return [_on_diagonal(call.inputs[0], call.shapes[0])]


def _diagonal_back(call: Call) -> Sequence[Array]:
    (dy,), (shape,) = call.inputs, call.shapes
    return [scatter(dy, _on_diagonal(places(shape), dy.shape), shape)]


def _on_diagonal(x: Array, shape: tuple[int, ...]) -> Array:
    """Return the elements of x at one index along all axes that the result lacks.

    Which axes stood for one label only their sizes show.
    """
    index = np.indices(shape, sparse=True)
    left, chosen = list(range(len(shape))), []
    for axis, size in enumerate(x.shape):
        own = next((k for k in left if shape[k] == size), None)
        if own is not None:
            left.remove(own)
        else:
            own = next(k for k in range(len(shape)) if shape[k] == size)
        chosen.append(index[own])
        del axis
    return x[tuple(chosen)]


KERNELS: Mapping[str, NodeKernel] = {
    **{
        f"{name}Gradient": _back(name)
        for name in ("CenterCropPad", "DepthToSpace", "SpaceToDepth", "Trilu", "ReverseSequence")
    },
    **{f"{name}Gradient": _back(name) for name in ("GatherElements", "GatherND")},
    "Scatter": _scatter,
    "ScatterGradient": _scatter_back("ScatterElements"),
    "ScatterElementsGradient": _scatter_back("ScatterElements"),
    "ScatterNDGradient": _scatter_back("ScatterND"),
    "TensorScatterGradient": _cache_back,
    "TopK": _top,
    "TopKGradient": _top_back,
    "Diagonal": _diagonal,
    "DiagonalGradient": _diagonal_back,
}
