"""Normalizations, whose statistics training saves, and their gradients.

Statistics are the mean and the mean of squares, which micro-batches add up; so the deviation is
computed where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel, sum_to
from spmopt.graph.operators.attributes import integer, integers, number
from spmopt.graph.operators.spec import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Over which axes of which shape statistics are taken.

    Attributes
    ----------
    shape, axes
        Shape of X, perhaps with an axis for groups, and the axes of one statistic.
    scale, statistic
        Shapes in which scales and statistics broadcast; None: as they are.
    count
        Elements of one statistic, in all micro-batches.
    """

    shape: Shape
    axes: tuple[int, ...]
    scale: Shape | None = None
    statistic: Shape | None = None
    count: int

    def mean(self, x: Array) -> Array:
        """Return the share of X in means, as X broadcasts them."""
        # The type of X: a count in Python would make a wider one of some types.
        total = np.sum(x.reshape(self.shape), axis=self.axes, keepdims=True)
        return np.asarray(total / np.asarray(self.count, x.dtype))

    def scales(self, of: Array) -> Array:
        """Return scales or biases, as X broadcasts them."""
        return of if self.scale is None else of.reshape(self.scale)

    def statistics(self, of: Array) -> Array:
        """Return statistics, as X broadcasts them."""
        return of if self.statistic is None else of.reshape(self.statistic)


_FrameOf = Callable[[Call, Array], _Frame]


def _channels(call: Call, x: Array) -> _Frame:
    axes, each = (0, *range(2, x.ndim)), (1, -1, *(1,) * (x.ndim - 2))
    # All micro-batches together: each adds its share of the mean.
    whole = call.whole[0] if call.whole else x.shape
    count = prod((whole[0], *whole[2:]))
    return _Frame(shape=x.shape, axes=axes, scale=each, statistic=each, count=count)


def _rows(call: Call, x: Array) -> _Frame:
    axis = integer(call.attributes, "axis", -1) % x.ndim
    return _Frame(
        shape=x.shape, axes=tuple(range(axis, x.ndim)), count=max(prod(x.shape[axis:]), 1)
    )


def _groups(call: Call, x: Array) -> _Frame:
    """Return the frame of groups of channels; a scale is of a channel, or of a group."""
    batch, channels, *rest = x.shape
    groups, ones = integer(call.attributes, "num_groups"), (1,) * len(rest)
    shape = (batch, groups, channels // groups, *rest)
    return _Frame(
        shape=shape,
        axes=tuple(range(2, len(shape))),
        scale=(1, groups, -1, *ones),
        statistic=(batch, groups, 1, *ones),
        count=prod(shape[2:]),
    )


def _inverse(call: Call, mean: Array | float, squares: Array) -> Array:
    """Return the inverse deviation."""
    # Rounding may leave a variance of 0 below it.
    spread = np.maximum(squares - np.square(mean), 0)
    found: Array = 1 / np.sqrt(spread + number(call.attributes, "epsilon", 1e-5))
    return found


def _apply(
    call: Call, frame: _Frame, mean: Array | float, squares: Array, scales: Sequence[Array]
) -> Array:
    """Return X normalized, times a scale, plus a bias if there is one."""
    x, (scale, *bias) = call.inputs[0], map(frame.scales, scales)
    y = (x.reshape(frame.shape) - mean) * _inverse(call, mean, squares) * scale
    return np.asarray(y + bias[0] if bias else y).reshape(x.shape)


def _forward(frame_of: _FrameOf, *, centered: bool = True) -> NodeKernel:
    """Return Y, and the statistics where they are results too."""

    def kernel(call: Call) -> Sequence[Array]:
        x, *scales = call.inputs
        frame = frame_of(call, x)
        squares, means = frame.mean(x * x), [frame.mean(x)] if centered else []
        y = _apply(call, frame, means[0] if means else 0.0, squares, scales)
        results = (y, *means, squares)
        return [each.reshape(shape) for each, shape in zip(results, call.shapes, strict=False)]

    return kernel


def _statistics(call: Call) -> Sequence[Array]:
    """Return the share of a micro-batch in the statistics of each channel."""
    x = call.inputs[0]
    frame = _channels(call, x)
    return [frame.mean(each).reshape(-1) for each in (x, x * x)]


def _apply_statistics(call: Call) -> Sequence[Array]:
    x, scale, bias, *given = call.inputs
    frame = _channels(call, x)
    mean, squares = map(frame.statistics, given)
    return [_apply(call, frame, mean, squares, (scale, bias))]


def _back(frame_of: _FrameOf, *, centered: bool = True) -> NodeKernel:
    """Return dX, and the gradients of scale and bias, those that are wanted.

    dX = inverse (g - mean(g) - n mean(g n)) with g = dY scale and n the normalized X.
    """

    def kernel(call: Call) -> Sequence[Array]:
        dy, x, scale, *given = call.inputs
        frame = frame_of(call, x)
        *means, squares = map(frame.statistics, given)
        mean, scale = means[0] if means else 0.0, frame.scales(scale)
        inverse = _inverse(call, mean, squares)
        dy = dy.reshape(frame.shape)
        normalized = (x.reshape(frame.shape) - mean) * inverse
        results, wanted = list[Array](), list(call.shapes)
        if wanted[0] == x.shape:
            g = dy * scale
            inner = normalized * np.mean(g * normalized, axis=frame.axes, keepdims=True)
            shift = np.mean(g, axis=frame.axes, keepdims=True) if centered else 0
            results.append((inverse * (g - shift - inner)).reshape(wanted.pop(0)))
        if call.whole_numbers:  # these sums are over the batch, whose parts come in any order
            normalized = np.round(normalized)
        for of, shape in zip((dy * normalized, dy), wanted, strict=False):
            like = scale.shape if scale.size == prod(shape) else shape
            results.append(sum_to(of, like).reshape(shape))
        return results

    return kernel


def _normalization_back(call: Call) -> Sequence[Array]:
    """Return gradients of batch normalization, with statistics of channels, or of rows."""
    _, x, _, mean, _ = call.inputs
    return _back(_channels if mean.ndim == 1 < x.ndim else _rows)(call)


def _normalize(call: Call, frame: _Frame, *given: Array) -> tuple[Array, Array]:
    """Return X normalized by channels, and the inverse deviation."""
    mean, squares = map(frame.statistics, given)
    inverse = _inverse(call, mean, squares)
    found = (call.inputs[1] - mean) * inverse
    return (np.round(found) if call.whole_numbers else found), inverse


def _sums(call: Call) -> Sequence[Array]:
    dy, x, *given = call.inputs
    frame = _channels(call, x)
    normalized, _ = _normalize(call, frame, *given)
    return [np.sum(each, axis=frame.axes) for each in (dy * normalized, dy)]


def _apply_sums(call: Call) -> Sequence[Array]:
    dy, x, scale, mean, squares, *sums = call.inputs
    frame = _channels(call, x)
    normalized, inverse = _normalize(call, frame, mean, squares)
    of_scale, of_bias = (frame.statistics(each / np.asarray(frame.count, x.dtype)) for each in sums)
    return [frame.scales(scale) * inverse * (dy - of_bias - normalized * of_scale)]


def _mean_variance(call: Call) -> Sequence[Array]:
    (x,) = call.inputs
    wanted = integers(call.attributes, "axes", (0, 2, 3)[: max(x.ndim - 1, 1)])
    axes = tuple(axis % x.ndim for axis in wanted)
    mean, squares = (np.mean(each, axis=axes, keepdims=True) for each in (x, x * x))
    return [(x - mean) / (np.sqrt(np.maximum(squares - mean * mean, 0)) + 1e-9)]


KERNELS: Mapping[str, NodeKernel] = {
    "BatchNormalizationStatistics": _statistics,
    "BatchNormalizationOfStatistics": _apply_statistics,
    "BatchNormalizationTraining": _forward(_channels),
    "LayerNormalizationTraining": _forward(_rows),
    "GroupNormalizationTraining": _forward(_groups),
    "GroupNormalization": _forward(_groups),
    **dict.fromkeys(
        ("RMSNormalizationTraining", "RMSNormalization", "RMSNorm"),
        _forward(_rows, centered=False),
    ),
    "MeanVarianceNormalization": _mean_variance,
    "NormalizationGradient": _normalization_back,
    "NormalizationGradientSums": _sums,
    "NormalizationGradientApply": _apply_sums,
    "RMSNormalizationGradient": _back(_rows, centered=False),
    "GroupNormalizationGradient": _back(_groups),
}
