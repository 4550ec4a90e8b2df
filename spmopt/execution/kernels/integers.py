"""Operators of integer networks for embedded targets, which are in no standard.

As tools that make them (QuantLib, Deeploy) say in their attributes; what a file leaves out is as it
changes least. Exponentials and the error function are polynomials there; where their figures are
not in the file, they are the functions themselves, rounded down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.quantized import cast
from spmopt.execution.kernels.reductions import axes_reduced
from spmopt.graph.operators.attributes import integer


def _figure(call: Call, name: str, default: float) -> float:
    """Return an attribute, which tools write as a number, a row of one, or a text."""
    value = call.attributes.get(name, default)
    if isinstance(value, tuple):
        value = value[0] if value else default
    try:
        return float(value)
    except ValueError:
        return default


def _in_levels(call: Call, y: Array) -> Array:
    """Clip to as many levels as the result has, and to its type."""
    levels = _figure(call, "n_levels", 256)
    signed = _figure(call, "signed", 1) or (call.dtypes and call.dtypes[0].kind == "i")
    low = -(levels // 2) if signed else 0
    return _whole(call, np.clip(y, low, low + levels - 1))


def _whole(call: Call, y: Array) -> Array:
    """Round down, to the type of the result if that is one of integers."""
    y, dtype = np.floor(y), call.dtypes[0] if call.dtypes else np.dtype(np.float64)
    return cast(y, dtype) if dtype.kind in "iu" else y


def _per_channel(of: Array, x: Array) -> Array:
    """Return figures of channels, the second axis, as X broadcasts them; of all, or of the last."""
    if of.size == 1:
        return of.reshape(())
    if of.ndim == 1 and x.ndim > 1 and of.size == x.shape[1] != x.shape[-1]:
        return of.reshape((1, -1, *(1,) * (x.ndim - 2)))
    return of


def _wide(call: Call) -> list[Array]:
    return [each.astype(np.float64) for each in call.inputs]


def _requantize(call: Call) -> Sequence[Array]:
    """Return (x mul + add) / div, rounded down: div is a power of two, a shift."""
    return [_in_levels(call, _shift(call, *_wide(call)))]


def _shift(call: Call, x: Array, *figures: Array) -> Array:
    found = x * _per_channel(figures[0], x) if figures else x
    if len(figures) > 1:
        found = found + _per_channel(figures[1], x)
    for each in figures[2:]:
        found = found / np.exp2(np.clip(_per_channel(each, x), 0, 31))
    return found / _figure(call, "div", 1)


def _gelu_of(call: Call, x: Array) -> Array:
    """Return x (1 + erf x) / 2 with erf a parabola up to where it is 1: sign (1 - (|x| + b)^2)."""
    b, one = _figure(call, "b", -2), _figure(call, "one", 4)
    rest = np.minimum(np.abs(x), -b) + b
    return x * (one + np.sign(x) * (one - rest * rest)) / 2


def _hard_swish_of(call: Call, x: Array) -> Array:
    three, six = _figure(call, "three", 3), _figure(call, "six", 6)
    return x * np.clip(x + three, 0, six) * _figure(call, "one_over_six", 1)


def _gelu(call: Call) -> Sequence[Array]:
    return [_whole(call, _gelu_of(call, *_wide(call)))]


def _hard_swish(call: Call) -> Sequence[Array]:
    return [_whole(call, _hard_swish_of(call, *_wide(call)))]


def _gelu_requantized(call: Call) -> Sequence[Array]:
    x, *figures = _wide(call)
    return [_in_levels(call, _shift(call, _gelu_of(call, x), *figures))]


def _hard_swish_requantized(call: Call) -> Sequence[Array]:
    x, *figures = _wide(call)
    found = _hard_swish_of(call, x) * _figure(call, "mul", 1) + _figure(call, "add", 0)
    given = _shift(call, found, *figures) if figures else found
    return [_in_levels(call, given / 2 ** _figure(call, "shift", 0))]


def _softmax(call: Call) -> Sequence[Array]:
    """Return the shares of powers, of e or of 2 by eighths of a bit, in levels."""
    (x,), axis = _wide(call), call.axis()
    base = 2 ** (1 / 32) if call.operator.startswith("ITA") else np.e
    powers = base ** (x - np.max(x, axis=axis, keepdims=True))
    share = powers / np.sum(powers, axis=axis, keepdims=True)
    return [_whole(call, share * (_figure(call, "n_levels", 256) - 1))]


def _normalize(call: Call) -> Sequence[Array]:
    """Return rows normalized, by mean and deviation or by their length, scaled and shifted."""
    x, *figures = _wide(call)
    axis = integer(call.attributes, "axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    if "RMS" not in call.operator:
        x = np.floor(x - np.mean(x, axis=axes, keepdims=True))
    spread = np.floor(np.sqrt(np.mean(x * x, axis=axes, keepdims=True)))
    scale = figures[0] if figures else 1
    found = np.floor(x * scale / (spread + 1)) + (figures[1] if len(figures) > 1 else 0)
    return [_whole(call, found / _figure(call, "D", 1))]


def _scale(call: Call) -> Sequence[Array]:
    x, *figures = _wide(call)
    return [_whole(call, _shift(call, x, *figures))]


def _divide(call: Call) -> Sequence[Array]:
    """Return x Delta / (y + eps); y is a constant where there is no second operand."""
    x, *divisor = _wide(call)
    by = divisor[0] + _figure(call, "eps", 1) if divisor else _figure(call, "divisor", 2)
    by = np.where(by == 0, 1, by)
    return [_whole(call, x * _figure(call, "Delta", 1) / by)]


def _mean(call: Call) -> Sequence[Array]:
    (x,) = _wide(call)
    return [_whole(call, np.mean(x, axis=axes_reduced(call, x.ndim)).reshape(call.shapes[0]))]


KERNELS: Mapping[str, NodeKernel] = {
    **dict.fromkeys(
        ("RequantShift", "ai.onnx.contrib.RequantShift", "PACTOps.RequantShift"), _requantize
    ),
    **dict.fromkeys(("iSoftmax", "ITAMax", "ITAPartialMax"), _softmax),
    **dict.fromkeys(("iLayerNorm", "iRMSNorm"), _normalize),
    **dict.fromkeys(("TrueIntegerDiv", "IntegerDiv"), _divide),
    "iGELU": _gelu,
    "iHardswish": _hard_swish,
    "RequantizediGELU": _gelu_requantized,
    "RequantizediHardswish": _hard_swish_requantized,
    "iNoNorm": _scale,
    "IntegerMean": _mean,
}
