"""Poolings, their gradients, and the gradient of normalization over channels around one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.products import add, inspect, nest_of, of_operator
from spmopt.execution.kernels.selecting import evaluate
from spmopt.graph.operators.attributes import integer, integers, number
from spmopt.graph.operators.spec import Shape


def average_pool(call: Call) -> Sequence[Array]:
    """Return the mean of each window."""
    (total,) = of_operator("AveragePool", call.attributes, call.inputs, call.shapes)
    return [total / _counts(call, call.inputs[0].shape, call.shapes[0]).astype(total.dtype)]


def _counts(call: Call, x: Shape, y: Shape) -> Array:
    """Return the number of elements of each window, without padding unless that counts."""
    inside, attributes, rank = x[2:], dict(call.attributes), len(x) - 2
    if integer(attributes, "count_include_pad", 0):
        pads = integers(attributes, "pads", (0,) * (2 * rank))
        # Padding that is stated counts; room beyond it does not.
        inside = tuple(n + sum(pads[k::rank]) for k, n in enumerate(inside))
        attributes["pads"] = (0,) * (2 * rank)
    return of_operator("AveragePool", attributes, [np.ones((1, 1, *inside))], [(1, 1, *y[2:])])[0]


def _average_pool_gradient(call: Call) -> Sequence[Array]:
    (dy,), (shape,) = call.inputs, call.shapes
    share = dy / _counts(call, shape, dy.shape).astype(dy.dtype)
    return of_operator(call.operator, call.attributes, [share], call.shapes)


def _max_pool_gradient(call: Call) -> Sequence[Array]:
    """Return dX: dY goes to every element that equals the maximum of its window."""
    dy, x, y = call.inputs
    nest = nest_of(call.operator, call.attributes, call.inputs, call.shapes)
    (of_y,), (of_x,), (target,) = map(nest.accesses, ("x0", "x1", "y0"))
    window, loops = inspect(nest, of_x, x, -np.inf)
    taps = tuple(place for place, loop in enumerate(loops) if loop not in of_y.loops)
    found = np.zeros(x.shape, dy.dtype)
    terms = np.expand_dims(dy, taps) * (window == np.expand_dims(y, taps))
    add(nest, found, target, terms, loops)
    return [found]


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
    weights = evaluate(call, "RoiAlign", [np.ascontiguousarray(ones), regions, images])
    found = np.zeros(shape, dy.dtype)
    for region, image in enumerate(images.tolist()):
        part = np.tensordot(dy[region], weights[region], axes=((1, 2), (1, 2)))
        found[int(image)] += part.reshape(shape[1:])
    return [found]


KERNELS: Mapping[str, NodeKernel] = {
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
