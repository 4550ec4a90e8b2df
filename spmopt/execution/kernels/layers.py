"""Normalizations in training, whose statistics are saved, and their gradients.

Statistics are the mean and the mean of squares, which micro-batches add up; so a deviation is
worked out where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel, sum_to
from spmopt.graph.operators.attributes import integer, integers, number


def _per_channel(of: Array, rank: int) -> Array:
    """Return figures of channels as what has so many axes broadcasts them."""
    return of.reshape((1, -1, *(1,) * (rank - 2)))


def _elements(call: Call, x: Array) -> Array:
    """Return how many elements a channel has, of the whole batch and in the type of X."""
    batch, _, *rest = call.whole[0] if call.whole else x.shape
    return np.asarray(prod((batch, *rest)), x.dtype)


def _inverse(call: Call, mean: Array | float, squares: Array) -> Array:
    """Return the inverse deviation."""
    spread = np.maximum(squares - np.square(mean), 0)
    found: Array = 1 / np.sqrt(spread + number(call.attributes, "epsilon", 1e-5))
    return found


def _statistics(call: Call) -> Sequence[Array]:
    """Make the share of a piece in the means of each channel."""
    x = call.inputs[0]
    axes = (0, *range(2, x.ndim))
    count = _elements(call, x)
    return [np.sum(each, axis=axes) / count for each in (x, x * x)]


def _batch_apply(call: Call) -> Sequence[Array]:
    x, scale, bias, mean, squares = call.inputs
    inverse = _inverse(call, mean, squares)
    scale, bias, mean, inverse = (
        _per_channel(each, x.ndim) for each in (scale, bias, mean, inverse)
    )
    return [(x - mean) * inverse * scale + bias]


def _batch_training(call: Call) -> Sequence[Array]:
    x, scale, bias = call.inputs
    mean, squares = _statistics(call)
    return [*_batch_apply(replace(call, inputs=[x, scale, bias, mean, squares])), mean, squares]


def _row_axes(call: Call, x: Array) -> tuple[int, ...]:
    axis = integer(call.attributes, "axis", -1) % x.ndim
    return tuple(range(axis, x.ndim))


def _layer_training(call: Call) -> Sequence[Array]:
    x, scale, *bias = call.inputs
    axes = _row_axes(call, x)
    mean, squares = (np.mean(each, axis=axes, keepdims=True) for each in (x, x * x))
    y = (x - mean) * _inverse(call, mean, squares) * scale
    return [y + bias[0] if bias else y, mean, squares]


def _rms_training(call: Call) -> Sequence[Array]:
    x, scale = call.inputs
    squares = np.mean(x * x, axis=_row_axes(call, x), keepdims=True)
    return [x * _inverse(call, 0.0, squares) * scale, squares]


def _rms(call: Call) -> Sequence[Array]:
    return _rms_training(call)[:1]


def _gradients(
    call: Call,
    dy: Array,
    normalized: Array,
    *,
    inverse: Array,
    scale: Array,
    axes: tuple[int, ...],
    centered: bool = True,
) -> list[Array]:
    """Return dX, and the gradients of scale and bias, of those shapes that are wanted.

    dX = inverse (g - mean(g) - n mean(g n)) with g = dY scale and n the normalized X.
    """
    found = list[Array]()
    left = list(call.shapes)
    if left and left[0] == dy.shape:
        g = dy * scale
        inner = normalized * np.mean(g * normalized, axis=axes, keepdims=True)
        shift = np.mean(g, axis=axes, keepdims=True) if centered else 0
        found.append(inverse * (g - shift - inner))
        left.pop(0)
    if call.whole_numbers:  # these sums are over the batch, whose pieces come in any order
        normalized = np.round(normalized)
    for of, shape in zip((dy * normalized, dy), left, strict=False):
        found.append(_to_scale(of, shape, scale.shape))
    return found


def _to_scale(of: Array, shape: tuple[int, ...], like: tuple[int, ...]) -> Array:
    """Add up to the shape of a scale, which is broadcast as ``like``."""
    return sum_to(of, like).reshape(shape) if prod(like) == prod(shape) else sum_to(of, shape)


def _norm_gradient(call: Call) -> Sequence[Array]:
    """Return gradients of batch normalization, with statistics of channels, or of rows."""
    dy, x, scale, mean, squares = call.inputs
    inverse = _inverse(call, mean, squares)
    if mean.ndim == 1 < x.ndim:
        axes: tuple[int, ...] = (0, *range(2, x.ndim))
        mean, inverse, scale = (_per_channel(each, x.ndim) for each in (mean, inverse, scale))
    else:
        axes = _row_axes(call, x)
    return _gradients(call, dy, (x - mean) * inverse, inverse=inverse, scale=scale, axes=axes)


def _rms_gradient(call: Call) -> Sequence[Array]:
    dy, x, scale, squares = call.inputs
    inverse = _inverse(call, 0.0, squares)
    axes = _row_axes(call, x)
    normalized = x * inverse
    return _gradients(call, dy, normalized, inverse=inverse, scale=scale, axes=axes, centered=False)


def _normalize(call: Call, x: Array, mean: Array, squares: Array) -> tuple[Array, Array]:
    """Return X normalized by channels, and the inverse deviation."""
    inverse = _per_channel(_inverse(call, mean, squares), x.ndim)
    found = (x - _per_channel(mean, x.ndim)) * inverse
    return (np.round(found) if call.whole_numbers else found), inverse


def _sums(call: Call) -> Sequence[Array]:
    dy, x, mean, squares = call.inputs
    normalized, _ = _normalize(call, x, mean, squares)
    axes = (0, *range(2, x.ndim))
    return [np.sum(dy * normalized, axis=axes), np.sum(dy, axis=axes)]


def _apply_sums(call: Call) -> Sequence[Array]:
    dy, x, scale, mean, squares, of_scale, of_bias = call.inputs
    normalized, inverse = _normalize(call, x, mean, squares)
    count = _elements(call, x)
    of_scale, of_bias = (_per_channel(each / count, x.ndim) for each in (of_scale, of_bias))
    return [_per_channel(scale, x.ndim) * inverse * (dy - of_bias - normalized * of_scale)]


def _mean_variance(call: Call) -> Sequence[Array]:
    (x,) = call.inputs
    wanted = integers(call.attributes, "axes", (0, 2, 3)[: max(x.ndim - 1, 1)])
    axes = tuple(axis % x.ndim for axis in wanted)
    mean, squares = (np.mean(each, axis=axes, keepdims=True) for each in (x, x * x))
    return [(x - mean) / (np.sqrt(np.maximum(squares - mean * mean, 0)) + 1e-9)]


def _group_channels(call: Call, x: Array) -> tuple[Array, tuple[int, ...]]:
    """Return X with an axis for its groups, and the axes of a group."""
    groups = integer(call.attributes, "num_groups")
    split = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return split, tuple(range(2, split.ndim))


def _of_channels(of: Array, x: Array, split: Array) -> Array:
    """Return scales of channels, or of groups, as groups broadcast them."""
    inner = split.shape[2] if of.size == x.shape[1] else 1
    return of.reshape(1, split.shape[1], inner, *(1,) * (split.ndim - 3))


def _group_training(call: Call) -> Sequence[Array]:
    x, scale, bias = call.inputs
    split, axes = _group_channels(call, x)
    mean, squares = (np.mean(each, axis=axes, keepdims=True) for each in (split, split * split))
    normalized = (split - mean) * _inverse(call, mean, squares)
    y = normalized * _of_channels(scale, x, split) + _of_channels(bias, x, split)
    return [y.reshape(x.shape), *(each.reshape(call.shapes[1]) for each in (mean, squares))]


def _group(call: Call) -> Sequence[Array]:
    x = call.inputs[0]
    groups = (x.shape[0], integer(call.attributes, "num_groups"))
    return _group_training(replace(call, shapes=(x.shape, groups)))[:1]


def _group_gradient(call: Call) -> Sequence[Array]:
    dy, x, scale, mean, squares = call.inputs
    split, axes = _group_channels(call, x)
    ones = (1,) * (split.ndim - 2)
    mean, squares = (each.reshape(*each.shape[:2], *ones) for each in (mean, squares))
    inverse = _inverse(call, mean, squares)
    shapes = tuple(split.shape if shape == x.shape else shape for shape in call.shapes)
    inner = replace(call, shapes=shapes)
    found = _gradients(
        inner,
        dy.reshape(split.shape),
        (split - mean) * inverse,
        inverse=inverse,
        scale=_of_channels(scale, x, split),
        axes=axes,
    )
    return [each.reshape(shape) for each, shape in zip(found, call.shapes, strict=True)]


KERNELS: Mapping[str, NodeKernel] = {
    "BatchNormalizationStatistics": _statistics,
    "BatchNormalizationOfStatistics": _batch_apply,
    "BatchNormalizationTraining": _batch_training,
    "LayerNormalizationTraining": _layer_training,
    "RMSNormalizationTraining": _rms_training,
    "RMSNormalization": _rms,
    "RMSNorm": _rms,
    "NormalizationGradient": _norm_gradient,
    "NormalizationGradientSums": _sums,
    "NormalizationGradientApply": _apply_sums,
    "RMSNormalizationGradient": _rms_gradient,
    "GroupNormalization": _group,
    "MeanVarianceNormalization": _mean_variance,
    "GroupNormalizationTraining": _group_training,
    "GroupNormalizationGradient": _group_gradient,
}
