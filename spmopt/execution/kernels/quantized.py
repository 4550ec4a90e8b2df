"""Operators of quantized networks, of ONNX and of ONNX Runtime: integers with scales.

An integer q stands for ``scale (q - zero)``. Each operator is computed in three steps: operands as
the numbers that they stand for, the operator on these, and integers that stand for its result.
Constant scales and zeros of one number are no operands, so that their values are lost: they count
as 1 and 0, and any other choice would show the same. Sums are of whole numbers, thus exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.forward import sigmoid, softmax
from spmopt.execution.kernels.products import of_operator
from spmopt.execution.kernels.windows import average_pool
from spmopt.graph.operators.attributes import integer, number

_Given = Mapping[str, Array]
"""Scales (``xs``) and zeros (``xz``) by the operand, ``x``, that they are of; ``y``: the result."""


def _split(call: Call, count: int, names: Sequence[str]) -> tuple[list[Array], _Given]:
    """Return the operands, and scales and zeros behind them.

    They are in the order of ``names``. The file does not say which of them are left out: scales of
    channels then count as those of the weights, and other zeros go to an operand of their type.
    """
    operands, rest = list(call.inputs[:count]), list(call.inputs[count:])
    weights = [name for name in names if name[0] in "bw"]
    types = {name: each.dtype for name, each in zip(("a", "x"), operands[:1] * 2, strict=True)}
    types |= dict.fromkeys("bw", operands[-1].dtype)
    found: dict[str, Array] = {}
    for each in rest:
        # A vector of scales is of output channels, thus of the weights.
        order = [*weights, *names] if len(rest) < len(names) and each.size > 1 else names
        kind = "s" if each.dtype.kind == "f" else "z"
        fits = [name for name in order if name[1] == kind and name not in found]
        if len(rest) < len(names) and kind == "z":
            fits.sort(key=lambda name: types.get(name[0], each.dtype) != each.dtype)
        if fits:
            found[fits[0]] = each
    return operands, found


def real(x: Array, of: str, given: _Given, axis: int = -1) -> Array:
    """Return the numbers that integers stand for; several scales run along an axis."""
    scale, zero = given.get(f"{of}s"), given.get(f"{of}z")
    found = x.astype(np.float64)
    if zero is not None:
        found = found - spread(zero, x.shape, axis)
    return found if scale is None else found * _divisor(spread(scale, x.shape, axis))


def whole(y: Array, call: Call, given: _Given, axis: int = -1) -> Array:
    """Return the integers that stand for numbers, the nearest ones that their type has."""
    scale, zero = given.get("ys"), given.get("yz")
    if scale is not None:
        y = y / _divisor(spread(scale, y.shape, axis))
    dtype = call.dtypes[0] if call.dtypes else np.dtype(np.int64)
    if dtype.kind not in "iu":
        return y.astype(np.float32)
    y = np.rint(y)
    y = np.nan_to_num(y if zero is None else y + spread(zero, y.shape, axis))
    limits = np.iinfo(dtype)
    # Floating point has no number just below 2^63, and one beyond it would wrap.
    high = limits.max if dtype.itemsize < 8 else 2.0**62
    low = limits.min if dtype.itemsize < 8 else -(2.0**62) * (dtype.kind == "i")
    return np.asarray(np.rint(np.clip(y, low, high)).astype(dtype))


def _divisor(scale: Array) -> Array:
    """Return a scale; 1 in place of 0, which would hide all differences."""
    found: Array = np.where(scale == 0, 1, scale).astype(np.float64)
    return found


def spread(scale: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Return scales as a shape broadcasts them: one, along an axis, or of blocks."""
    if scale.size == 1:
        return scale.reshape(())
    # Blocks (below) follow ONNX: each scale repeats along its axis.
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


_ONE = "xs xz ys yz"


@dataclass(frozen=True, slots=True)
class _Rule:
    """The operator on numbers, and which scales and zeros stand behind its operands.

    Attributes
    ----------
    compute
        Returns the result from operands as numbers.
    operands
        A letter each; a bias in 32 bits may follow.
    order
        Scales (``s``) and zeros (``z``) of operands and the result (``y``), as the operator has
        them.
    axes
        Along which several scales of each operand, and of the result, run; by default the
        attribute ``axis``.
    biased
        Whether an operand in 32 bits is a bias.
    """

    compute: Callable[[Call], Array]
    operands: str = "x"
    order: str = _ONE
    axes: tuple[int, ...] | None = (1, 1)
    biased: bool = False

    def __call__(self, call: Call) -> Sequence[Array]:
        """Compute a call."""
        count = len(self.operands)
        biased = self.biased and len(call.inputs) > count and call.inputs[count].dtype == np.int32
        (*operands,), given = _split(call, count + biased, self.order.split())
        axis = integer(call.attributes, "axis", 1 if operands[0].ndim > 1 else 0)
        axes = self.axes or (axis,) * (count + 1)
        # A vector has one axis, whichever its matrices have scales along.
        numbers = [
            real(x, letter, given, max(along, -x.ndim))
            for letter, x, along in zip(self.operands, operands, axes, strict=False)
        ]
        for bias in operands[count:]:
            # It stands for numbers by the product of both scales.
            scales = [given[f"{name}s"] for name in self.operands if f"{name}s" in given]
            factors = (_divisor(spread(scale, bias.shape, -1)) for scale in scales)
            numbers.append(prod(factors, start=bias.astype(np.float64)))
        result = self.compute(replace(call, inputs=numbers))
        return [whole(result, call, given, max(axes[-1], -result.ndim))]


def _gemm(call: Call) -> Array:
    left, right, *bias = call.inputs
    left = left.T if integer(call.attributes, "transA", 0) else left
    right = right.T if integer(call.attributes, "transB", 0) else right
    product = number(call.attributes, "alpha", 1.0) * (left @ right + sum(bias))
    return np.asarray(product)


def _convolve(call: Call) -> Array:
    return of_operator("Conv", call.attributes, call.inputs, call.shapes)[0]


def _leaky(call: Call) -> Array:
    (x,) = call.inputs
    return np.where(x < 0, number(call.attributes, "alpha", 0.01) * x, x)


def _softmax(call: Call) -> Sequence[Array]:
    scaled = "ys" in _split(call, 1, _ONE.split())[1]
    # Where nothing says the scale of the result, shares are in 255 levels.
    levels = 1 if scaled else 255
    return _Rule(lambda numbers: levels * softmax(numbers.inputs[0], numbers.axis()))(call)


def _mean_of_images(call: Call) -> Array:
    (x,) = call.inputs
    return np.asarray(np.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True))


def _product(call: Call) -> Array:
    return np.asarray(call.inputs[0] @ call.inputs[1])


_BOTH, _ROWS = "as az bs bz ys yz", (-2, -1, -1)
_IMAGES = (1, 0, 1)
KERNELS: Mapping[str, NodeKernel] = {
    "QuantizeLinear": _Rule(lambda call: call.inputs[0], order="ys yz", axes=None),
    "DequantizeLinear": _Rule(lambda call: call.inputs[0], order="xs xz", axes=None),
    "QLinearMatMul": _Rule(_product, "ab", _BOTH, _ROWS),
    "MatMulInteger": _Rule(_product, "ab", "az bz", _ROWS),
    "QLinearConv": _Rule(_convolve, "xw", "xs xz ws wz ys yz", _IMAGES, biased=True),
    "ConvInteger": _Rule(_convolve, "xw", "xz wz", _IMAGES),
    "com.microsoft.QGemm": _Rule(_gemm, "ab", _BOTH, _ROWS, biased=True),
    "com.microsoft.MatMulIntegerToFloat": _Rule(_product, "ab", "as bs az bz", _ROWS),
    "com.microsoft.QLinearAdd": _Rule(
        lambda call: call.inputs[0] + call.inputs[1], "ab", _BOTH, (-1, -1, -1)
    ),
    "com.microsoft.QLinearMul": _Rule(
        lambda call: call.inputs[0] * call.inputs[1], "ab", _BOTH, (-1, -1, -1)
    ),
    "com.microsoft.QLinearLeakyRelu": _Rule(_leaky),
    "com.microsoft.QLinearSigmoid": _Rule(lambda call: sigmoid(call.inputs[0])),
    "com.microsoft.QLinearSoftmax": _softmax,
    "com.microsoft.QLinearAveragePool": _Rule(lambda call: average_pool(call)[0]),
    "com.microsoft.QLinearGlobalAveragePool": _Rule(_mean_of_images),
}
