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
    """Return a number below every element."""
    return -np.inf if x.dtype.kind == "f" else float(np.iinfo(x.dtype).min)


def _taps(call: Call, x: tuple[int, ...], y: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield, for each tap of a window, the elements that all windows read in the padded input."""
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
        # Windows may end beyond the padding (ceil_mode): room for the last one.
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
    """Return the number of elements of each window, without padding unless that counts."""
    room = _room(call, x, y)
    there = np.pad(np.ones(x[2:]), room[2:])
    if integer(call.attributes, "count_include_pad", 0):
        pads = integers(call.attributes, "pads", (0,) * (2 * len(x[2:])))
        inside = tuple(slice(0, n + sum(pads[k :: len(x[2:])])) for k, n in enumerate(x[2:]))
        # Padding that is stated counts; room beyond it does not.
        there[inside] = 1
    found = np.zeros(y[2:])
    for where in _taps(call, x, y):
        found += there[where[2:]]
    return found


def _max_pool_gradient(call: Call) -> Sequence[Array]:
    """Return dX: dY goes to every element that equals the maximum of its window."""
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
    # A micro-batch in rows sees a part of the image, but divides by all of it.
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
    """Return sums over ``before`` and ``after`` neighboring channels and each itself."""
    padded = np.pad(x, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
    found = np.zeros_like(x)
    for tap in range(before + after + 1):
        found += padded[:, tap : tap + x.shape[1]]
    return found


def _global_power_pool(call: Call) -> Sequence[Array]:
    (x,), p = call.inputs, integer(call.attributes, "p", 2)
    total = np.sum(np.abs(x) ** p, axis=tuple(range(2, x.ndim)), keepdims=True)
    return [total ** (1 / p)]


def _regions_gradient(call: Call) -> Sequence[Array]:
    """Add dY up at the pixels of its regions, by the weights of the forward operator.

    Images with a channel for each pixel, 1 there and 0 elsewhere, give these weights.
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
    "GlobalLpPool": _global_power_pool,
}
