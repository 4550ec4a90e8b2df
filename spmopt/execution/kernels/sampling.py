"""Resized images, sampled grids, windows added up, deformed convolutions; and their gradients.

Resizing is linear in the image and goes axis by axis, so that along each axis it is a few weighted
elements for each result. Which ones ONNX's reference tells, of rows that are 1 in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from math import prod

import numpy as np

from spmopt.core.graph import Attribute
from spmopt.execution.kernels.call import Array, Call, NodeKernel, places_of
from spmopt.execution.kernels.onnx_reference import reference
from spmopt.execution.kernels.selecting import evaluate
from spmopt.graph.operators.attributes import integers

_Frozen = tuple[tuple[str, Attribute], ...]
_OF_IMAGES = ("shape", "axes", "keep_aspect_ratio_policy", "scales", "sizes", "roi")
"""Attributes of Resize that say no more than the sizes of both images do."""


def _how(call: Call) -> _Frozen:
    """Return what says how one axis is resized; of what is unknown the usual way."""
    found = {key: value for key, value in call.attributes.items() if key not in _OF_IMAGES}
    if found.get("coordinate_transformation_mode") == "unknown":
        found["coordinate_transformation_mode"] = "half_pixel"
    if found.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise NotImplementedError("what is cropped before is not known")
    if str(found.get("mode", "nearest")).endswith("linear"):
        found["mode"] = "linear"
    return tuple(sorted(found.items()))


@cache
def _taps(size: int, wanted: int, how: _Frozen) -> tuple[Array, Array]:
    """Return (wanted, taps) which elements of an axis each result takes, and their weights."""
    sizes = np.array([size, wanted], np.int64)
    (weights,) = reference("Resize", dict(how), [np.eye(size, dtype=np.float64), None, None, sizes])
    weights = weights.T
    count = max(int((weights != 0).sum(axis=1).max()), 1)
    order = np.argsort(weights == 0, axis=1, kind="stable")[:, :count]
    chosen = np.take_along_axis(weights, order, axis=1)
    # A tap without weight takes what another takes: perhaps no other is there.
    order = np.where(chosen == 0, order[:, :1], order)
    return order, chosen


def _axes(call: Call, small: Sequence[int], large: Sequence[int]) -> list[tuple[int, Array, Array]]:
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
    return [_sample(call, *call.inputs)]


def _sample(call: Call, x: Array, grid: Array) -> Array:
    """Return X at the positions of a grid; a position that is no number gives none."""
    wrong: Array = np.asarray(~np.isfinite(grid).all(axis=-1))
    found = evaluate(call, "GridSample", [x, np.where(np.isfinite(grid), grid, 0)])
    found = found.astype(x.dtype)
    found[np.broadcast_to(wrong[:, None], found.shape)] = np.nan
    return found


_STEP = 2.0**-10


def _grid_back(call: Call) -> Sequence[Array]:
    """Return dX, which is linear in X, and dG by differences.

    Of images with a channel for each place, which is 1 there, the operator tells all weights.
    """
    dy, x, grid = call.inputs
    found = dict[int, Array]()
    wanted = places_of(call, 2)
    if 0 in wanted:
        count = prod(x.shape[2:])
        ones = np.eye(count, dtype=dy.dtype).reshape(1, count, *x.shape[2:])
        weights = _sample(call, np.repeat(ones, x.shape[0], axis=0), grid)
        summed = np.einsum("ncp,nip->nci", *(a.reshape(*a.shape[:2], -1) for a in (dy, weights)))
        found[0] = summed.reshape(x.shape)
    if 1 in wanted:
        parts = []
        for axis in range(grid.shape[-1]):
            low, high = (_beside(call, grid, axis, x.shape[-1 - axis], way) for way in (-1, 1))
            rise = _sample(call, x, high) - _sample(call, x, low)
            run = np.maximum(high - low, _STEP)[..., axis]
            parts.append((rise / run[:, None] * dy).sum(axis=1))
        found[1] = np.stack(parts, axis=-1)
        if str(call.attributes.get("mode", "linear")) == "nearest":
            found[1] = np.zeros_like(found[1])
    return [found[place].astype(dy.dtype) for place in wanted]


def _beside(call: Call, grid: Array, axis: int, size: int, way: int) -> Array:
    """Return a grid moved along an axis: within its cell, in which interpolation is linear."""
    found = grid.astype(np.float64)
    if str(call.attributes.get("mode", "linear")).endswith("cubic"):
        found[..., axis] += way * _STEP
        return found
    corners = bool(call.attributes.get("align_corners", 0))
    position = (found[..., axis] + 1) / 2 * (size - 1 if corners else size) - (not corners) / 2
    position = np.floor(position) + 0.5 + way / 4
    span = max(size - 1, 1) if corners else size
    found[..., axis] = (position + (not corners) / 2) * 2 / span - 1
    return found


def _windows_back(call: Call) -> Sequence[Array]:
    """Return the windows of dY of which Col2Im adds them up: each has one place in the image."""
    (dy,), (shape,) = call.inputs, call.shapes
    image = tuple(integers(call.attributes, "image_shape"))
    where = _window_places(image, shape[2], call.attributes)
    flat = dy.reshape(*dy.shape[:2], -1)
    padded = np.concatenate((np.zeros_like(flat[..., :1]), flat), axis=-1)
    return [padded[..., where].reshape(shape)]


def _window_places(image: tuple[int, ...], count: int, of: Mapping[str, Attribute]) -> Array:
    """Return (taps, windows) the place in an image that each element of each window has."""
    rank = len(image)
    block = integers(of, "block_shape")
    ones = (1,) * rank
    strides, dilations = (integers(of, name, ones) for name in ("strides", "dilations"))
    pads = integers(of, "pads", (0,) * (2 * rank))
    padded = [n + pads[k] + pads[k + rank] for k, n in enumerate(image)]
    steps = [
        (n - d * (b - 1) - 1) // s + 1
        for n, b, s, d in zip(padded, block, strides, dilations, strict=True)
    ]
    if prod(steps) != count:
        raise NotImplementedError(f"{count} windows do not suit an image of {image}")
    found = np.zeros((prod(block), count), np.int64)
    for row, tap in enumerate(product(*map(range, block))):
        for column, step in enumerate(product(*map(range, steps))):
            at = [
                k * s + t * d - p
                for k, s, t, d, p in zip(step, strides, tap, dilations, pads, strict=False)
            ]
            if all(0 <= p < n for p, n in zip(at, image, strict=True)):
                found[row, column] = 1 + np.ravel_multi_index(at, image)
    return found


def _deform(call: Call) -> Sequence[Array]:
    x, w, offset, *more = call.inputs
    bias = more.pop(0) if more and more[0].ndim == 1 else None
    # An offset that was never written is no place; what is computed from it shows that.
    operands = [x, w, np.nan_to_num(offset), bias, more[0] if more else None]
    found = reference("DeformConv", call.attributes, operands)[0]
    poison = np.where(np.isnan(offset).any(axis=1, keepdims=True), np.nan, 0)
    return [(found + poison).astype(found.dtype)]


def _rotary(call: Call) -> Sequence[Array]:
    return [_turn(call, *call.inputs)]


def _rotary_back(call: Call) -> Sequence[Array]:
    """Turn back: by the first rows of the tables, as gradients are not told positions."""
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
    "GridSampleGradient": _grid_back,
    "Col2ImGradient": _windows_back,
    "DeformConv": _deform,
    "RotaryEmbedding": _rotary,
    "RotaryEmbeddingGradient": _rotary_back,
}
