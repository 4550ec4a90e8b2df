"""Poolings, their gradients, and the gradient of normalization over channels around one.

ONNX's reference of poolings rounds some sizes of results otherwise than its inference of shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from spmopt.core.graph import Node
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.onnx_reference import onnx_kernel
from spmopt.graph.operators.attributes import integer, integers, number
from spmopt.graph.operators.windows import sliding


def _least(x: Array) -> float:
    """Return what is below every element."""
    return -np.inf if x.dtype.kind == "f" else float(np.iinfo(x.dtype).min)


def _taps(call: Call, x: tuple[int, ...], y: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield for each tap of a window where the results stand in an input padded generously."""
    kernel = integers(call.attributes, "kernel_shape")
    slides = sliding(x[2:], kernel, call.attributes)
    for tap in product(*map(range, kernel)):
        begins = [t * d for t, d in zip(tap, slides.dilations, strict=True)]
        ends = [b + s * (n - 1) + 1 for b, s, n in zip(begins, slides.strides, y[2:], strict=True)]
        spans = zip(begins, ends, slides.strides, strict=True)
        yield (slice(None), slice(None), *(slice(b, e, s) for b, e, s in spans))


def _room(call: Call, x: tuple[int, ...], y: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the padding of an input with room for all windows."""
    kernel = integers(call.attributes, "kernel_shape")
    slides = sliding(x[2:], kernel, call.attributes)
    found = [(0, 0), (0, 0)]
    for axis, size in enumerate(x[2:]):
        span = slides.strides[axis] * (y[2 + axis] - 1) + slides.dilations[axis] * (
            kernel[axis] - 1
        )
        before = slides.begins[axis]
        found.append((before, max(span + 1 - size - before, 0)))
    return found


def _unpad(array: Array, room: Sequence[tuple[int, int]], shape: Sequence[int]) -> Array:
    return array[tuple(slice(b, b + n) for (b, _), n in zip(room, shape, strict=True))]


def _max_pool(call: Call) -> Sequence[Array]:
    (x,), (shape,) = call.inputs, call.shapes[:1]
    padded = np.pad(x, _room(call, x.shape, shape), constant_values=_least(x))
    found = np.full(shape, _least(x), x.dtype)
    for where in _taps(call, x.shape, shape):
        found = np.maximum(found, padded[where])
    return [found]


def average_pool(call: Call) -> Sequence[Array]:
    """Return the mean of each window."""
    (x,), (shape,) = call.inputs, call.shapes
    padded = np.pad(x, _room(call, x.shape, shape))
    total = np.zeros(shape, x.dtype)
    for where in _taps(call, x.shape, shape):
        total = total + padded[where]
    return [total / counts(call, x.shape, shape).astype(x.dtype)]


def counts(call: Call, x: tuple[int, ...], y: tuple[int, ...]) -> Array:
    """Return how many elements each window has: none of the padding, unless that counts."""
    room = _room(call, x, y)
    there = np.pad(np.ones(x[2:]), room[2:])
    if integer(call.attributes, "count_include_pad", 0):
        pads = integers(call.attributes, "pads", (0,) * (2 * len(x[2:])))
        inside = tuple(slice(0, n + sum(pads[k :: len(x[2:])])) for k, n in enumerate(x[2:]))
        there[inside] = 1
    found = np.zeros(y[2:])
    for where in _taps(call, x, y):
        found += there[where[2:]]
    return found


def _max_pool_gradient(call: Call) -> Sequence[Array]:
    """Give dY to every element that equals the maximum of its window."""
    dy, x, y = call.inputs
    room = _room(call, x.shape, y.shape)
    padded = np.pad(x, room, constant_values=-np.inf)
    found = np.zeros(padded.shape, dy.dtype)
    for where in _taps(call, x.shape, y.shape):
        found[where] += dy * (padded[where] == y)
    return [_unpad(found, room, x.shape)]


def _average_pool_gradient(call: Call) -> Sequence[Array]:
    (dy,), (shape,) = call.inputs, call.shapes
    room = _room(call, shape, dy.shape)
    share = dy / counts(call, shape, dy.shape).astype(dy.dtype)
    padded = np.zeros([n + sum(more) for n, more in zip(shape, room, strict=True)], dy.dtype)
    for where in _taps(call, shape, dy.shape):
        padded[where] += share
    return [_unpad(padded, room, shape)]


def _global_average(call: Call) -> Sequence[Array]:
    (dy,), (shape,) = call.inputs, call.shapes
    whole = call.given[0] if call.given else shape
    return [np.broadcast_to(dy / prod(whole[2:]), shape)]


def _global_max(call: Call) -> Sequence[Array]:
    dy, x, y = call.inputs
    return [dy * (x == y)]


def _scale_of_channels(call: Call, x: Array) -> tuple[Array, float, float]:
    """Return S = k + a / n (sum of the squares of n channels), a / n and the exponent."""
    size, alpha = integer(call.attributes, "size"), number(call.attributes, "alpha", 1e-4)
    beta, bias = number(call.attributes, "beta", 0.75), number(call.attributes, "bias", 1.0)
    scale = bias + alpha / size * _around(x * x, (size - 1) // 2, size // 2)
    return scale.astype(x.dtype), alpha / size, beta


def _over_channels(call: Call) -> Sequence[Array]:
    """Return Y = X S^-b."""
    # ONNX's reference stops at as many channels as there are images.
    (x,) = call.inputs
    scale, _, beta = _scale_of_channels(call, x)
    return [x * scale**-beta]


def _over_channels_gradient(call: Call) -> Sequence[Array]:
    dy, x, y = call.inputs
    scale, alpha, beta = _scale_of_channels(call, x)
    size = integer(call.attributes, "size")
    inner = _around(dy * y / scale, size // 2, (size - 1) // 2)
    return [dy * scale**-beta - 2 * alpha * beta * x * inner]


def _around(x: Array, before: int, after: int) -> Array:
    """Return the sums over so many channels before and after each."""
    padded = np.pad(x, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
    found = np.zeros_like(x)
    for tap in range(before + after + 1):
        found += padded[:, tap : tap + x.shape[1]]
    return found


def _power_pool_gradient(call: Call) -> Sequence[Array]:
    """Return dX of the p-norm of each window."""
    dy, x, y = call.inputs
    p = integer(call.attributes, "p", 2)
    room = _room(call, x.shape, y.shape)
    padded = np.pad(x, room)
    slope = np.sign(padded) * np.abs(padded) ** (p - 1)
    share = dy * np.where(y == 0, 1, y) ** (1 - p)
    found = np.zeros(padded.shape, dy.dtype)
    for where in _taps(call, x.shape, y.shape):
        found[where] += share * slope[where]
    return [_unpad(found, room, x.shape)]


def _global_power(call: Call) -> Sequence[Array]:
    dy, x, y = call.inputs
    p = integer(call.attributes, "p", 2)
    return [dy * np.where(y == 0, 1, y) ** (1 - p) * np.sign(x) * np.abs(x) ** (p - 1)]


def _global_power_pool(call: Call) -> Sequence[Array]:
    (x,), p = call.inputs, integer(call.attributes, "p", 2)
    total = np.sum(np.abs(x) ** p, axis=tuple(range(2, x.ndim)), keepdims=True)
    return [total ** (1 / p)]


def _max_pool_with_places(call: Call) -> Sequence[Array]:
    """Return the maxima, and the place of each in the operand, row by row or column by column."""
    (x,), (shape,) = call.inputs, call.shapes[:1]
    images, size = x.shape[0] * x.shape[1], prod(x.shape[2:])
    own = np.arange(size).reshape(x.shape[2:])
    if integer(call.attributes, "storage_order", 0):
        own = np.arange(size).reshape(x.shape[:1:-1]).T
    where = (np.arange(images) * size).reshape(*x.shape[:2], *(1,) * (x.ndim - 2)) + own
    room = _room(call, x.shape, shape)
    padded, where = np.pad(x, room, constant_values=_least(x)), np.pad(where, room)
    found, place = np.full(shape, _least(x), x.dtype), np.zeros(shape, np.int64)
    for tap in _taps(call, x.shape, shape):
        larger = ~(padded[tap] <= found)
        found, place = np.where(larger, padded[tap], found), np.where(larger, where[tap], place)
    return [found, place]


def _of_places(call: Call) -> Sequence[Array]:
    """Add dY up at the places of the maxima."""
    dy, place = call.inputs
    (shape,) = call.shapes
    found = np.zeros(shape, dy.dtype)
    if integer(call.attributes, "storage_order", 0):  # columns of an image first
        size, image = prod(shape[2:]), shape[2:]
        inner = np.arange(size).reshape(image, order="F").ravel()
        turned = np.empty(size, np.int64)
        turned[inner] = np.arange(size)
        place = place - place % size + turned[(place % size).astype(np.int64)]
    there = (place >= 0) & (place < found.size)  # not bytes that were never written
    np.add.at(found.reshape(-1), place[there].astype(np.int64), dy[there])
    return [found]


def _channels_last_max_pool(call: Call) -> Sequence[Array]:
    first = _max_pool(channels_first(call))
    return [np.moveaxis(first[0], 1, -1)]


def channels_first(call: Call) -> Call:
    """Return the call of a pooling of images whose channels are the last axis."""
    ((images, *image, channels),) = call.shapes
    inputs = [np.moveaxis(call.inputs[0], -1, 1), *call.inputs[1:]]
    return replace(call, inputs=inputs, shapes=((images, channels, *image),))


def _regions_gradient(call: Call) -> Sequence[Array]:
    """Add dY up where the regions are from: by the weights of the elements of one channel.

    The forward operator tells them, of images that have a channel for each place, which is 1 there.
    """
    dy, regions, images = call.inputs
    (shape,) = call.shapes
    places = prod(shape[2:])
    ones = np.broadcast_to(
        np.eye(places, dtype=dy.dtype).reshape(places, *shape[2:]), (shape[0], places, *shape[2:])
    )
    forward = onnx_kernel(
        Node(name="", operator="RoiAlign", inputs=(), outputs=(), attributes=call.attributes)
    )
    assert forward is not None
    (weights,) = forward(
        replace(call, operator="RoiAlign", inputs=[np.ascontiguousarray(ones), regions, images])
    )
    found = np.zeros(shape, dy.dtype)
    for region, image in enumerate(images.tolist()):
        part = np.tensordot(dy[region], weights[region], axes=((1, 2), (1, 2)))
        found[int(image)] += part.reshape(shape[1:])
    return [found]


KERNELS: Mapping[str, NodeKernel] = {
    "MaxPool": _max_pool,
    "AveragePool": average_pool,
    "MaxPoolGradient": _max_pool_gradient,
    "AveragePoolGradient": _average_pool_gradient,
    "GlobalAveragePoolGradient": _global_average,
    "GlobalMaxPoolGradient": _global_max,
    "LRN": _over_channels,
    "LRNGradient": _over_channels_gradient,
    "RoiAlignGradient": _regions_gradient,
    "LpPoolGradient": _power_pool_gradient,
    "GlobalLpPool": _global_power_pool,
    "GlobalLpPoolGradient": _global_power,
    "MaxPoolIndices": _max_pool_with_places,
    **dict.fromkeys(("MaxPoolIndicesGradient", "MaxUnpool"), _of_places),
    "MaxPoolIndexGradient": _of_places,
    "com.microsoft.NhwcMaxPool": _channels_last_max_pool,
}
