"""Operators of quantized networks, of ONNX and of ONNX Runtime: integers with scales.

A number stands for ``scale (q - zero)``. Scales and zeros that are single numbers known beforehand
are no operands of ours, so that their values are gone: then they are 1 and 0 here, of which any
other choice would show the same. Sums are of whole numbers, thus exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.forward import sigmoid
from spmopt.execution.kernels.products import of_operator
from spmopt.execution.kernels.reductions import axes_reduced
from spmopt.execution.kernels.windows import average_pool, channels_first
from spmopt.graph.operators.attributes import integer, number

_Given = Mapping[str, Array]
"""Scales (``xs``) and zeros (``xz``) by the operand, ``x``, that they are of; ``y``: the result."""


def _split(call: Call, count: int, names: Sequence[str]) -> tuple[list[Array], _Given]:
    """Return the operands, and scales and zeros behind them.

    They are in the order of ``names``. Where some are left out, it is not said which: what is of
    channels is then of the second operand, the weights, and other zeros are of what has their type.
    """
    operands, rest = list(call.inputs[:count]), list(call.inputs[count:])
    weights = [name for name in names if name[0] in "bw"]
    types = {name: each.dtype for name, each in zip(("a", "x"), operands[:1] * 2, strict=True)}
    types |= dict.fromkeys("bw", operands[-1].dtype)
    found: dict[str, Array] = {}
    for each in rest:
        order = [*weights, *names] if len(rest) < len(names) and each.size > 1 else names
        kind = "s" if each.dtype.kind == "f" else "z"
        fits = [name for name in order if name[1] == kind and name not in found]
        if len(rest) < len(names) and kind == "z":
            fits.sort(key=lambda name: types.get(name[0], each.dtype) != each.dtype)
        if fits:
            found[fits[0]] = each
    return operands, found


def real(x: Array, of: str, given: _Given, axis: int = -1) -> Array:
    """Return the numbers that integers stand for; scales of several are along an axis."""
    scale, zero = given.get(f"{of}s"), given.get(f"{of}z")
    found = x.astype(np.float64)
    if zero is not None:
        found = found - spread(zero, x.shape, axis)
    return found if scale is None else found * _divisor(spread(scale, x.shape, axis))


def whole(y: Array, call: Call, given: _Given, axis: int = -1) -> Array:
    """Return the integers that stand for numbers, as far as their type goes."""
    scale, zero = given.get("ys"), given.get("yz")
    if scale is not None:
        y = y / _divisor(spread(scale, y.shape, axis))
    if call.dtypes and call.dtypes[0].kind not in "iu":
        return y
    y = np.rint(y)
    return saturate(y if zero is None else y + spread(zero, y.shape, axis), call)


def saturate(y: Array, call: Call) -> Array:
    """Return numbers as integers of the type of the result."""
    dtype = call.dtypes[0] if call.dtypes else np.dtype(np.int64)
    return y if dtype.kind not in "iu" else cast(y, dtype)


def cast(y: Array, dtype: np.dtype) -> Array:
    """Round to integers of a type; the nearest ones where numbers are beyond it."""
    limits = np.iinfo(dtype)
    high = limits.max if dtype.itemsize < 8 else 2.0**62
    low = limits.min if dtype.itemsize < 8 else -(2.0**62) * (dtype.kind == "i")
    found: Array = np.rint(np.clip(np.nan_to_num(y), low, high)).astype(dtype)
    return found


def _divisor(scale: Array) -> Array:
    """Return a scale; 1 for one of 0, which would hide what is scaled."""
    found: Array = np.where(scale == 0, 1, scale).astype(np.float64)
    return found


def spread(scale: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Return scales as what has a shape broadcasts them: of all, along an axis, or of blocks."""
    if scale.size == 1:
        return scale.reshape(())
    axis %= len(shape)
    if scale.ndim == 1 and scale.size == shape[axis]:
        return scale.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    if scale.ndim != len(shape):
        return np.asarray(np.sum(scale))
    found = scale
    for k, (own, size) in enumerate(zip(scale.shape, shape, strict=True)):
        if own not in (1, size):
            found = np.repeat(found, -(-size // own), k).take(range(size), k)
    return found


def _axis(call: Call) -> int:
    return integer(call.attributes, "axis", 1 if call.inputs[0].ndim > 1 else 0)


def _quantize(call: Call) -> Sequence[Array]:
    (x,), given = _split(call, 1, ("ys", "yz"))
    return [whole(x.astype(np.float64), call, given, _axis(call))]


def _dequantize(call: Call) -> Sequence[Array]:
    (x,), given = _split(call, 1, ("xs", "xz"))
    return [real(x, "x", given, _axis(call)).astype(np.float32)]


def _product(call: Call) -> Sequence[Array]:
    (a, b), given = _split(call, 2, ("as", "az", "bs", "bz", "ys", "yz"))
    return [whole(_real_rows(a, given) @ real(b, "b", given), call, given)]


def _real_rows(a: Array, given: _Given) -> Array:
    """Return the left factor, whose scales are of its rows."""
    return real(a, "a", given, -2 if a.ndim > 1 else -1)


def _product_of_integers(call: Call) -> Sequence[Array]:
    (a, b), given = _split(call, 2, ("az", "bz"))
    return [saturate(_real_rows(a, given) @ real(b, "b", given), call)]


def _product_to_float(call: Call) -> Sequence[Array]:
    (a, b), given = _split(call, 2, ("as", "bs", "az", "bz"))
    return [(_real_rows(a, given) @ real(b, "b", given)).astype(np.float32)]


def _with_bias(call: Call) -> int:
    """Return the number of operands, of which a third is a bias in 32 bits."""
    return 3 if len(call.inputs) > 2 and call.inputs[2].dtype == np.int32 else 2


def _general_product(call: Call) -> Sequence[Array]:
    (a, b, *bias), given = _split(call, _with_bias(call), ("as", "az", "bs", "bz", "ys", "yz"))
    left, right = _real_rows(a, given), real(b, "b", given)
    left = left.T if integer(call.attributes, "transA", 0) else left
    right = right.T if integer(call.attributes, "transB", 0) else right
    found = left @ right
    for each in bias:  # it stands for numbers by the product of both scales
        scales = (given[name] for name in ("as", "bs") if name in given)
        found = found + prod(_divisor(scale) for scale in scales) * each
    return [whole(number(call.attributes, "alpha", 1.0) * found, call, given)]


def _convolution(call: Call) -> Sequence[Array]:
    names = ("xs", "xz", "ws", "wz", "ys", "yz")
    (x, w, *bias), given = _split(call, _with_bias(call), names)
    return [whole(_convolve(call, x, w, bias, given), call, given, 1)]


def _convolution_of_integers(call: Call) -> Sequence[Array]:
    (x, w), given = _split(call, 2, ("xz", "wz"))
    return [saturate(_convolve(call, x, w, [], given), call)]


def _convolve(call: Call, x: Array, w: Array, bias: Sequence[Array], given: _Given) -> Array:
    inputs = [real(x, "x", given, 1), real(w, "w", given, 0)]
    if bias:  # it stands for numbers by the product of both scales
        one = {k: v for k, v in given.items() if k in ("xs", "ws")}
        scaled = real(bias[0], "w", {"ws": one["ws"]} if "ws" in one else {}, 0)
        inputs.append(real(scaled, "x", {"xs": one["xs"]} if "xs" in one else {}, 0))
    return of_operator("Conv", call.attributes, inputs, call.shapes)[0]


def _of_two(combine: Callable[[Array, Array], Array]) -> NodeKernel:
    def kernel(call: Call) -> Sequence[Array]:
        (a, b), given = _split(call, 2, ("as", "az", "bs", "bz", "ys", "yz"))
        return [whole(combine(real(a, "a", given), real(b, "b", given)), call, given)]

    return kernel


def _of_one(compute: Callable[[Call, Array], Array]) -> NodeKernel:
    def kernel(call: Call) -> Sequence[Array]:
        (x,), given = _split(call, 1, ("xs", "xz", "ys", "yz"))
        of = real(x, "x", given, 1)
        return [whole(compute(replace(call, inputs=[of]), of), call, given, 1)]

    return kernel


def _leaky(call: Call, x: Array) -> Array:
    return np.where(x < 0, number(call.attributes, "alpha", 0.01) * x, x)


def _softmax(call: Call) -> Sequence[Array]:
    """Return the shares of exponentials; where nothing says the scale, in 255 levels."""
    (x,), given = _split(call, 1, ("xs", "xz", "ys", "yz"))
    of, axis = real(x, "x", given, 1), call.axis()
    shifted = np.exp(of - np.max(of, axis=axis, keepdims=True))
    found = shifted / np.sum(shifted, axis=axis, keepdims=True)
    given = given if "ys" in given else {**given, "ys": np.array(1 / 255)}
    return [whole(found, call, given, 1)]


def _mean(call: Call, x: Array) -> Array:
    found: Array = np.mean(x, axis=axes_reduced(call, x.ndim))
    return found.reshape(call.shapes[0])


def _average(call: Call, x: Array) -> Array:
    if integer(call.attributes, "channels_last", 0):
        return np.moveaxis(average_pool(channels_first(call))[0], 1, -1)
    return average_pool(call)[0]


def _global_average(call: Call, x: Array) -> Array:
    last = integer(call.attributes, "channels_last", 0)
    axes = tuple(range(1, x.ndim - 1)) if last else tuple(range(2, x.ndim))
    found: Array = np.mean(x, axis=axes, keepdims=True)
    return found


def _where(call: Call) -> Sequence[Array]:
    (condition, a, b), given = _split(call, 3, ("as", "az", "bs", "bz", "ys", "yz"))
    chosen = np.where(condition.astype(bool), real(a, "a", given), real(b, "b", given))
    return [whole(chosen, call, given)]


KERNELS: Mapping[str, NodeKernel] = {
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "QLinearMatMul": _product,
    "MatMulInteger": _product_of_integers,
    "QLinearConv": _convolution,
    "ConvInteger": _convolution_of_integers,
    "com.microsoft.QGemm": _general_product,
    "com.microsoft.MatMulIntegerToFloat": _product_to_float,
    "com.microsoft.QLinearAdd": _of_two(np.add),
    "com.microsoft.QLinearMul": _of_two(np.multiply),
    "com.microsoft.QLinearWhere": _where,
    "com.microsoft.QLinearLeakyRelu": _of_one(_leaky),
    "com.microsoft.QLinearSigmoid": _of_one(lambda call, x: sigmoid(x)),
    "com.microsoft.QLinearSoftmax": _softmax,
    "com.microsoft.QLinearReduceMean": _of_one(_mean),
    "com.microsoft.QLinearAveragePool": _of_one(_average),
    "com.microsoft.QLinearGlobalAveragePool": _of_one(_global_average),
}
