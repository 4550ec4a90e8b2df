"""Resized images, sampled grids, windows added up, deformed convolutions; and their gradients.

Resizing is linear in the image and separable by axes: along each axis a result is a weighted sum of
a few elements. ONNX's reference gives the weights, from rows that are 1 in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from spmopt.core.graph import Attribute
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.onnx_reference import reference
from spmopt.execution.kernels.selecting import evaluate

_Frozen = tuple[tuple[str, Attribute], ...]
_OF_IMAGES = ("shape", "axes", "keep_aspect_ratio_policy", "scales", "sizes", "roi")
"""Attributes of Resize that follow from the sizes of both images."""


def _how(call: Call) -> _Frozen:
    """Return the attributes by which one axis is resized, with defaults for unknown modes."""
    found = {key: value for key, value in call.attributes.items() if key not in _OF_IMAGES}
    if found.get("coordinate_transformation_mode") == "unknown":
        found["coordinate_transformation_mode"] = "half_pixel"
    if found.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise NotImplementedError("the region that is cropped first is not known")
    if str(found.get("mode", "nearest")).endswith("linear"):
        found["mode"] = "linear"
    return tuple(sorted(found.items()))


@cache
def _taps(size: int, wanted: int, how: _Frozen) -> tuple[Array, Array]:
    """Return (wanted, taps) indices of elements along an axis for each result, and weights."""
    sizes = np.array([size, wanted], np.int64)
    (weights,) = reference("Resize", dict(how), [np.eye(size, dtype=np.float64), None, None, sizes])
    weights = weights.T
    count = max(int((weights != 0).sum(axis=1).max()), 1)
    order = np.argsort(weights == 0, axis=1, kind="stable")[:, :count]
    chosen = np.take_along_axis(weights, order, axis=1)
    # A tap without weight repeats another element: its own index may be outside.
    order = np.where(chosen == 0, order[:, :1], order)
    return order, chosen


def _axes(call: Call, small: Sequence[int], large: Sequence[int]) -> list[tuple[int, Array, Array]]:
    # An axis of equal size is not resized.
    how = _how(call)
    return [
        (axis, *_taps(size, wanted, how))
        for axis, (size, wanted) in enumerate(zip(small, large, strict=True))
        if size != wanted
    ]


def _resize(call: Call) -> Sequence[Array]:
    x = call.inputs[0]
    for axis, where, weights in _axes(call, x.shape, call.shapes[0]):
        shape = [1] * x.ndim
        shape[axis] = len(where)
        # Axis by axis: a few taps each, in place of all pairs of pixels.
        x = sum(
            np.take(x, where[:, tap], axis) * weights[:, tap].reshape(shape).astype(x.dtype)
            for tap in range(where.shape[1])
        )
    return [x]


def _resize_back(call: Call) -> Sequence[Array]:
    dy, (shape,) = call.inputs[0], call.shapes
    for axis, where, weights in reversed(_axes(call, shape, dy.shape)):
        found = np.zeros((shape[axis], *np.delete(dy.shape, axis)), dy.dtype)
        rows = np.moveaxis(dy, axis, 0)
        for tap in range(where.shape[1]):
            weight = weights[:, tap].reshape(-1, *(1,) * (dy.ndim - 1)).astype(dy.dtype)
            np.add.at(found, where[:, tap], rows * weight)
        dy = np.moveaxis(found, 0, axis)
    return [dy]


def _grid(call: Call) -> Sequence[Array]:
    """Return X at the positions of a grid; a position that is NaN gives NaN."""
    x, grid = call.inputs
    wrong: Array = np.asarray(~np.isfinite(grid).all(axis=-1))
    found = evaluate(call, "GridSample", [x, np.where(np.isfinite(grid), grid, 0)])
    found = found.astype(x.dtype)
    found[np.broadcast_to(wrong[:, None], found.shape)] = np.nan
    return [found]


def _deform(call: Call) -> Sequence[Array]:
    x, w, offset, *more = call.inputs
    bias = more.pop(0) if more and more[0].ndim == 1 else None
    # An offset that was never written (NaN) is no place: its result becomes NaN below.
    operands = [x, w, np.nan_to_num(offset), bias, more[0] if more else None]
    found = reference("DeformConv", call.attributes, operands)[0]
    poison = np.where(np.isnan(offset).any(axis=1, keepdims=True), np.nan, 0)
    return [(found + poison).astype(found.dtype)]


def _rotary(call: Call) -> Sequence[Array]:
    return [_turn(call, *call.inputs)]


def _rotary_back(call: Call) -> Sequence[Array]:
    """Turn back, by the first rows of the tables: gradients do not read positions."""
    dy, cosines, sines = call.inputs[:3]
    return [_turn(call, dy, cosines, -sines)]


def _turn(call: Call, x: Array, cosines: Array, sines: Array, *places: Array) -> Array:
    """Turn pairs of features by the angles of their position.

    ONNX has tables of positions, and the positions; without them ours are of one row each.
    """
    tokens = x.shape[1 if x.ndim == 3 else 2]
    if not places and cosines.ndim == 2:
        cosines, sines = (
            np.broadcast_to(each[:tokens], (x.shape[0], tokens, each.shape[1]))
            for each in (cosines, sines)
        )
    attributes = dict(call.attributes)
    if x.ndim == 3 and not attributes.get("num_heads"):
        width = attributes.get("rotary_embedding_dim") or 2 * cosines.shape[-1]
        assert isinstance(width, int)
        attributes["num_heads"] = x.shape[2] // width
    (found,) = reference("RotaryEmbedding", attributes, [x, cosines, sines, *places])
    return found


KERNELS: Mapping[str, NodeKernel] = {
    "Resize": _resize,
    "Upsample": _resize,
    "ResizeGradient": _resize_back,
    "UpsampleGradient": _resize_back,
    "GridSample": _grid,
    "DeformConv": _deform,
    "RotaryEmbedding": _rotary,
    "RotaryEmbeddingGradient": _rotary_back,
}
