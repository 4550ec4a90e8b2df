"""Operators that look elements up, and gradients of those that cut, join, repeat or add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.products import of_operator
from spmopt.graph.operators.attributes import integer


def _join(call: Call) -> Sequence[Array]:
    return [np.concatenate(call.inputs, axis=integer(call.attributes, "axis", 0))]


def _parts(call: Call) -> Sequence[Array]:
    """Cut a gradient into those of the parts that were joined, or of some of them."""
    (x,), axis = call.inputs, integer(call.attributes, "axis", 0)
    every = call.given if call.of else call.shapes
    edges = np.cumsum([0, *(shape[axis] for shape in every)]).tolist()
    if edges[-1] != x.shape[axis]:
        raise NotImplementedError("a gradient of some of the parts does not say of which")
    axis %= x.ndim
    parts = [x[(slice(None),) * axis + (slice(*edge),)] for edge in pairwise(edges)]
    return [parts[place] for place in call.of] if every is call.given else parts


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
    """Return dX of a mean: each element's share of dY."""
    (dy,), (shape,) = call.inputs, call.shapes
    every = call.given[0] if call.given else shape
    whole = call.whole[0] if call.whole else dy.shape
    # Of whole numbers a mean is their sum.
    share = dy if call.whole_numbers else dy / (prod(every) // prod(whole))
    return of_operator(call.operator, call.attributes, [share], call.shapes)


KERNELS: Mapping[str, NodeKernel] = {
    "ConcatGradient": _parts,
    "SplitGradient": _join,
    "Gather": _gather,
    "GatherGradient": _scatter,
    "TileGradient": _sum_tiles,
    "ReduceMeanGradient": _spread,
}
