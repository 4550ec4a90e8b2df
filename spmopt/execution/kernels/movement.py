"""Operators that copy, cut, join, reorder or repeat, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel, sum_to
from spmopt.graph.operators.attributes import integer, integers


def _join(call: Call) -> Sequence[Array]:
    return [np.concatenate(call.inputs, axis=integer(call.attributes, "axis", 0))]


def _parts(call: Call) -> Sequence[Array]:
    """Cut a tensor into parts of the shapes of the results; a gradient may want some of them."""
    (x,), axis = call.inputs, integer(call.attributes, "axis", 0)
    every = call.given if call.operator == "ConcatGradient" and call.of else call.shapes
    edges = np.cumsum([0, *(shape[axis] for shape in every)]).tolist()
    if edges[-1] != x.shape[axis]:
        raise NotImplementedError("a gradient of some of the parts does not say of which")
    axis %= x.ndim
    parts = [x[(slice(None),) * axis + (slice(*edge),)] for edge in pairwise(edges)]
    return [parts[place] for place in call.of] if every is call.given else parts


def slices(call: Call, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the slices of Slice, one for each axis."""
    starts, ends = (integers(call.attributes, name) for name in ("starts", "ends"))
    axes = integers(call.attributes, "axes", tuple(range(len(starts))))
    steps = integers(call.attributes, "steps", (1,) * len(starts))
    found = [slice(None)] * len(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # ONNX ends a backward slice before the first element by an end below -n.
        stop = None if step < 0 and end < -shape[axis] else end
        found[axis] = slice(start, stop, step)
    return tuple(found)


def _slice(call: Call) -> Sequence[Array]:
    (x,) = call.inputs
    return [x[slices(call, x.shape)]]


def _scatter_slice(call: Call) -> Sequence[Array]:
    found = np.zeros(call.shapes[0], call.inputs[0].dtype)
    found[slices(call, call.shapes[0])] = call.inputs[0]
    return [found]


def _transpose(call: Call) -> Sequence[Array]:
    (x,) = call.inputs
    perm = integers(call.attributes, "perm", tuple(reversed(range(x.ndim))))
    back = call.operator == "TransposeGradient"
    return [x.transpose(np.argsort(perm) if back else perm)]


def _unpad(call: Call) -> Sequence[Array]:
    pads = integers(call.attributes, "pads")
    shape, rank = call.shapes[0], len(call.shapes[0])
    axes = integers(call.attributes, "axes", tuple(range(rank)))
    found = [slice(None)] * rank
    for axis, begin in zip(axes, pads, strict=False):
        found[axis] = slice(begin, begin + shape[axis])
    return [call.inputs[0][tuple(found)]]


def _indices(given: Array, size: int) -> tuple[Array, Array]:
    """Return indices, and a mask of invalid ones, from bytes that were never written."""
    # Poison becomes an index out of range, on purpose.
    numbers = np.nan_to_num(given, nan=-size - 1)
    wrong = (numbers < -size) | (numbers >= size)
    return np.where(wrong, 0, numbers).astype(np.int64), wrong


def _gather(call: Call) -> Sequence[Array]:
    x, given = call.inputs
    axis = integer(call.attributes, "axis", 0) % x.ndim
    indices, wrong = _indices(given, x.shape[axis])
    found = np.take(x, indices, axis)
    if wrong.any():
        found[(slice(None),) * axis + (wrong,)] = np.nan
    return [found]


def _scatter(call: Call) -> Sequence[Array]:
    """Add each gathered element to where it is from."""
    dy, indices = call.inputs[:2]
    (shape,), axis = call.shapes, integer(call.attributes, "axis", 0) % len(call.shapes[0])
    indices, wrong = _indices(indices, shape[axis])
    # An unknown place could be any: all of the gradient is unknown.
    found = np.full(shape, np.nan if wrong.any() else 0, dy.dtype)
    flat = np.moveaxis(dy.reshape(*shape[:axis], indices.size, *shape[axis + 1 :]), axis, 0)
    np.add.at(np.moveaxis(found, axis, 0), indices.ravel(), flat)
    return [found]


def _sum_tiles(call: Call) -> Sequence[Array]:
    (dy,), (shape,) = call.inputs, call.shapes
    # Copies are the slow axis of each pair.
    split = [n for own, all_ in zip(shape, dy.shape, strict=True) for n in (all_ // own, own)]
    return [dy.reshape(split).sum(axis=tuple(range(0, 2 * dy.ndim, 2)))]


def _spread(call: Call) -> Sequence[Array]:
    """Return dX of a sum or mean: each element's share of dY."""
    (dy,), (shape,) = call.inputs, call.shapes
    axes = call.attributes.get("axes")
    of_all = tuple(range(len(shape)))
    gone = {axis % len(shape) for axis in (axes if isinstance(axes, tuple) else of_all)}
    kept = dy.reshape([1 if k in gone else size for k, size in enumerate(shape)])
    if not call.operator.startswith("ReduceMean") or call.whole_numbers:
        return [np.broadcast_to(kept, shape)]  # of whole numbers a mean is their sum
    every = call.given[0] if call.given else shape
    return [np.broadcast_to(kept / prod(every[k] for k in gone), shape)]


KERNELS: Mapping[str, NodeKernel] = {
    "Concat": _join,
    "ConcatGradient": _parts,
    "Split": _parts,
    "SplitGradient": _join,
    "Slice": _slice,
    "SliceGradient": _scatter_slice,
    "Transpose": _transpose,
    "TransposeGradient": _transpose,
    "PadGradient": _unpad,
    "Gather": _gather,
    "GatherGradient": _scatter,
    "Expand": lambda call: [np.broadcast_to(call.inputs[0], call.shapes[0])],
    "ExpandGradient": lambda call: [sum_to(call.inputs[0], call.shapes[0])],
    "TileGradient": _sum_tiles,
    "ReduceSumGradient": _spread,
    "ReduceMeanGradient": _spread,
}
