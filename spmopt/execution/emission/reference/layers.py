"""Normalizations and their gradients, with the statistics that they save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spmopt.execution.emission.reference.pointwise import single
from spmopt.execution.emission.reference.steps import Describing, Steps, rows, summed_to
from spmopt.execution.kernels.call import Array, Call
from spmopt.graph.operators.attributes import integer, number

_EPSILON = 1e-5


def _epsilon(call: Call) -> float:
    return number(call.attributes, "epsilon", _EPSILON)


def _channels(of: Array, rank: int) -> Array:
    """Return figures of channels as what has so many axes broadcasts them."""
    return of.reshape((1, -1, *(1,) * (rank - 2)))


def _row_axes(call: Call, x: Array) -> tuple[int, ...]:
    return tuple(range(integer(call.attributes, "axis", -1) % x.ndim, x.ndim))


def _means(do: Steps, x: Array, axes: Sequence[int], targets: Sequence[Array], count: int) -> None:
    """Make the mean, and that of squares, of some axes."""
    turned, many, inner = rows(x, axes)
    for kernel, target in zip(("sum_rows", "sum_squares"), targets, strict=True):
        do.run(kernel, [target], [turned], [many, inner], [count])


def _normalized(
    do: Steps,
    x: Array,
    mean: Array,
    squares: Array,
    epsilon: float,
    *,
    rounded: bool = False,
) -> tuple[Array, Array]:
    """Return normalized elements, and the inverse deviation of each."""
    found = do.own(x.shape), do.own(x.shape)
    operands = [x, *(np.broadcast_to(each, x.shape) for each in (mean, squares))]
    do.run("normalize", found, operands, [x.size, int(rounded)], [epsilon])
    return found


def _scaled(do: Steps, result: Array, normalized: Array, scale: Array, bias: Array | None) -> None:
    found = do.made("product", [normalized, scale])
    do.copy(result, found if bias is None else do.made("sum", [found, bias]))


def _statistics(call: Call, results: Sequence[Array], do: Steps) -> None:
    x = call.inputs[0]
    count = call.pieces * x.size // x.shape[1]
    _means(do, x, (0, *range(2, x.ndim)), results, count)


def _batch_apply(call: Call, results: Sequence[Array], do: Steps) -> None:
    x, *others = call.inputs
    scale, bias, mean, squares = (_channels(each, x.ndim) for each in others)
    normalized, _ = _normalized(do, x, mean, squares, _epsilon(call))
    _scaled(do, results[0], normalized, scale, bias)


def _batch(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Normalize by running statistics, as ONNX does."""
    x, *others = call.inputs
    if integer(call.attributes, "training_mode", 0) or len(results) > 1:
        raise NotImplementedError("training_mode")
    operands = [np.broadcast_to(_channels(each, x.ndim), x.shape) for each in others]
    numbers = [single(call, "epsilon", _EPSILON)]
    do.run("batch_normalization", results, [x, *operands], numbers=numbers)


def _by_rows(
    call: Call, results: Sequence[Array], do: Steps, epsilon: float, *, centered: bool
) -> None:
    """Normalize rows; save their statistics where results are there for them."""
    x, scale, *bias = call.inputs
    axes = _row_axes(call, x)
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    mean, squares = do.own(shape), do.own(shape)
    count = prod(x.shape[axis] for axis in axes)
    _means(do, x, axes, [mean, squares], count)
    used = mean if centered else do.own(())
    normalized, _ = _normalized(do, x, used, squares, epsilon)
    _scaled(do, results[0], normalized, scale, bias[0] if bias else None)
    saved = [mean, squares] if centered else [squares]
    for result, of in zip(results[1:], saved, strict=len(results) > 1):
        do.copy(result, of)


def _layer(call: Call, results: Sequence[Array], do: Steps) -> None:
    if len(results) > 1:
        raise NotImplementedError("statistics")
    _by_rows(call, results, do, single(call, "epsilon", _EPSILON), centered=True)


def _layer_training(call: Call, results: Sequence[Array], do: Steps) -> None:
    _by_rows(call, results, do, _epsilon(call), centered=True)


def _rms(call: Call, results: Sequence[Array], do: Steps) -> None:
    _by_rows(call, results, do, _epsilon(call), centered=False)


def _gradients(
    call: Call,
    results: Sequence[Array],
    do: Steps,
    normalized: tuple[Array, Array],
    *,
    scale: Array,
    axes: tuple[int, ...],
    centered: bool = True,
) -> None:
    """Make dX, and the gradients of scale and bias, of those shapes that are wanted."""
    dy, (found, inverse), left = call.inputs[0], normalized, [*results]
    if left and left[0].shape == dy.shape:
        operands = [dy, np.broadcast_to(scale, dy.shape), found, inverse]
        turned = [rows(each, axes) for each in (left.pop(0), *operands)]
        arrays, size = [each for each, _, _ in turned], turned[0][1:]
        do.run("normalization_gradient", arrays[:1], arrays[1:], [*size, int(centered)])
    if call.whole_numbers:
        found = do.made("round_whole", [found])
    for place, result in enumerate(left):
        of = dy if place else do.made("product", [dy, found])
        same = prod(scale.shape) == result.size
        summed_to(do, of, scale.shape if same else result.shape, result.reshape(scale.shape))


def _norm_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Make gradients of normalization with statistics of channels, or of rows."""
    _, x, scale, mean, squares = call.inputs
    axes = _row_axes(call, x)
    if mean.ndim == 1 < x.ndim:
        axes = (0, *range(2, x.ndim))
        mean, squares, scale = (_channels(each, x.ndim) for each in (mean, squares, scale))
    normalized = _normalized(do, x, mean, squares, _epsilon(call))
    _gradients(call, results, do, normalized, scale=scale, axes=axes)


def _rms_gradient(call: Call, results: Sequence[Array], do: Steps) -> None:
    _, x, scale, squares = call.inputs
    normalized = _normalized(do, x, do.own(()), squares, _epsilon(call))
    axes = _row_axes(call, x)
    _gradients(call, results, do, normalized, scale=scale, axes=axes, centered=False)


def _of_channels(
    call: Call, x: Array, mean: Array, squares: Array, do: Steps
) -> tuple[Array, Array]:
    mean, squares = (_channels(each, x.ndim) for each in (mean, squares))
    return _normalized(do, x, mean, squares, _epsilon(call), rounded=call.whole_numbers)


def _sums(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, x, mean, squares = call.inputs
    normalized, _ = _of_channels(call, x, mean, squares, do)
    for result, of in zip(results, (do.made("product", [dy, normalized]), dy), strict=True):
        turned, many, inner = rows(of, (0, *range(2, x.ndim)))
        do.run("sum_rows", [result], [turned], [many, inner], [1])


def _apply_sums(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, x, scale, mean, squares, of_scale, of_bias = call.inputs
    normalized, inverse = _of_channels(call, x, mean, squares, do)
    scale, of_scale, of_bias = (
        np.broadcast_to(_channels(each, x.ndim), x.shape) for each in (scale, of_scale, of_bias)
    )
    operands = [dy, scale, normalized, inverse, of_scale, of_bias]
    do.run("batch_gradient", results, operands, numbers=[call.pieces * x.size // x.shape[1]])


DESCRIBED: Mapping[str, Describing] = {
    "BatchNormalization": _batch,
    "BatchNormalizationStatistics": _statistics,
    "BatchNormalizationOfStatistics": _batch_apply,
    "LayerNormalization": _layer,
    "LayerNormalizationTraining": _layer_training,
    "RMSNormalization": _rms,
    "RMSNormalizationTraining": _rms,
    "NormalizationGradient": _norm_gradient,
    "NormalizationGradientSums": _sums,
    "NormalizationGradientApply": _apply_sums,
    "RMSNormalizationGradient": _rms_gradient,
}
