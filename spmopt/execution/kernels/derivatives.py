"""Gradients of element-wise operators: dX of dY and of the input or result that the rule reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi, sqrt

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel, places_of, sum_to
from spmopt.execution.kernels.forward import normal_share, of_tanh, sigmoid
from spmopt.execution.kernels.products import of_operator
from spmopt.graph.operators.attributes import number

Slope = Callable[[Array, Call], Array]
"""The derivative as a function of the input, or of the result where that suffices."""


def _clip(y: Array, call: Call) -> Array:
    low = number(call.attributes, "min", -np.inf)
    return ((y > low) & (y < number(call.attributes, "max", np.inf))).astype(y.dtype)


# 0 < Y < 1 only on the slope.
def _hard_sigmoid(y: Array, call: Call) -> Array:
    return number(call.attributes, "alpha", 0.2) * ((y > 0) & (y < 1))


def _hard_swish(x: Array, call: Call) -> Array:
    return np.where(x <= -3, 0, np.where(x >= 3, 1, (2 * x + 3) / 6)).astype(x.dtype)


def _gelu(x: Array, call: Call) -> Array:
    # Hendrycks and Gimpel, "Gaussian error linear units" (2016).
    if of_tanh(call):
        slope = sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)
        t = np.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))
        found: Array = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope
        return found
    return normal_share(x) + x * np.exp(-0.5 * x * x) / sqrt(2 * pi)


def _swish(x: Array, call: Call) -> Array:
    alpha = number(call.attributes, "alpha", 1.0)
    s = sigmoid(alpha * x)
    found: Array = s + alpha * x * s * (1 - s)
    return found


def _mish(x: Array, call: Call) -> Array:
    t = np.tanh(np.logaddexp(0, x))
    found: Array = t + x * sigmoid(x) * (1 - t * t)
    return found


def _elu(x: Array, call: Call) -> Array:
    return np.where(x > 0, 1, number(call.attributes, "alpha", 1.0) * np.exp(np.minimum(x, 0)))


def _selu(x: Array, call: Call) -> Array:
    alpha = number(call.attributes, "alpha", 1.6732632423543772)
    gamma = number(call.attributes, "gamma", 1.0507009873554805)
    return gamma * np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0)))


def _leaky(of: Array, call: Call) -> Array:
    return np.where(of > 0, 1, number(call.attributes, "alpha", 0.01)).astype(of.dtype)


def _celu(x: Array, call: Call) -> Array:
    alpha = number(call.attributes, "alpha", 1.0)
    return np.where(x > 0, 1, np.exp(np.minimum(x, 0) / alpha))


def _shrink(x: Array, call: Call) -> Array:
    return (np.abs(x) > number(call.attributes, "lambd", 0.5)).astype(x.dtype)


_SLOPES: Mapping[str, Slope] = {
    "Relu": lambda y, call: (y > 0).astype(y.dtype),
    "Clip": _clip,
    "Sigmoid": lambda y, call: y * (1 - y),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Tanh": lambda y, call: 1 - y * y,
    "Gelu": _gelu,
    "Swish": _swish,
    "Mish": _mish,
    "Erf": lambda x, call: 2 / sqrt(pi) * np.exp(-x * x),
    "Sqrt": lambda y, call: 0.5 / y,
    "Exp": lambda y, call: y,
    "Abs": lambda x, call: np.sign(x),
    "Log": lambda x, call: 1 / x,
    "Reciprocal": lambda y, call: -y * y,
    "Sin": lambda x, call: np.cos(x),
    "Cos": lambda x, call: -np.sin(x),
    "Tan": lambda y, call: 1 + y * y,
    "Sinh": lambda x, call: np.cosh(x),
    "Cosh": lambda x, call: np.sinh(x),
    "Asin": lambda x, call: 1 / np.sqrt(1 - x * x),
    "Acos": lambda x, call: -1 / np.sqrt(1 - x * x),
    "Atan": lambda x, call: 1 / (1 + x * x),
    "Asinh": lambda x, call: 1 / np.sqrt(1 + x * x),
    "Acosh": lambda x, call: 1 / np.sqrt(x * x - 1),
    "Atanh": lambda x, call: 1 / (1 - x * x),
    "Elu": _elu,
    "Selu": _selu,
    "Softplus": lambda x, call: sigmoid(x),
    "Softsign": lambda x, call: 1 / (1 + np.abs(x)) ** 2,
    "LeakyRelu": _leaky,
    "Celu": _celu,
    "Shrink": _shrink,
    "ThresholdedRelu": lambda y, call: (y > 0).astype(y.dtype),
}


def _by_slope(slope: Slope) -> NodeKernel:
    def kernel(call: Call) -> Sequence[Array]:
        dy, of = call.inputs
        return [dy * slope(of, call)]

    return kernel


def _softmax(call: Call) -> Sequence[Array]:
    dy, y = call.inputs
    axis = call.axis()
    return [y * (dy - np.sum(dy * y, axis=axis, keepdims=True))]


def _log_softmax(call: Call) -> Sequence[Array]:
    dy, y = call.inputs
    return [dy - np.exp(y) * np.sum(dy, axis=call.axis(), keepdims=True)]


def _product(call: Call) -> Sequence[Array]:
    """Multiply dY by the other operand, for each gradient that is wanted."""
    dy, *others = call.inputs
    return [sum_to(dy * other, shape) for other, shape in zip(others, call.shapes, strict=True)]


def _quotient(call: Call) -> Sequence[Array]:
    """Return dA = dY / B, and dB = -dY Y / B where Y is read."""
    dy, b, *results = call.inputs
    first = dy / b
    both = [first, *(-first * y for y in results)]
    # Y is read for dB: if one gradient is wanted and Y is there, it is dB.
    wanted = both if len(both) == len(call.shapes) else both[1:]
    return [call.sum_up(each, place) for place, each in enumerate(wanted)]


def _choice(call: Call) -> Sequence[Array]:
    """Return gradients of a choice: dY where the condition chose the operand."""
    dy, condition = call.inputs
    chosen = condition.astype(bool)
    both = {1: np.where(chosen, dy, 0), 2: np.where(chosen, 0, dy)}
    wanted = call.of or tuple(place + 1 for place in places_of(call, 2))
    return [sum_to(both[k], shape) for k, shape in zip(wanted, call.shapes, strict=True)]


def _leaky_of_each(call: Call) -> Sequence[Array]:
    """Return dX, and the gradient of the slopes, of those that are wanted."""
    dy, x, *slopes = call.inputs
    found = [dy * np.where(x > 0, 1, slopes[0])] if slopes else []
    found.append(np.where(x > 0, 0, dy * x))
    return [sum_to(each, shape) for each, shape in zip(found, call.shapes, strict=False)]


def _power(call: Call) -> Sequence[Array]:
    """Return dX = dY E X^(E-1), and dE = dY Y ln X where Y is read; of X below 0 it has none."""
    dy, x, e, *results = call.inputs
    found = [dy * e * np.power(x, e - 1)]
    found += [np.where(x > 0, dy * y * np.log(np.where(x > 0, x, 1)), 0) for y in results]
    wanted = found if len(found) == len(call.shapes) else found[1:]
    return [call.sum_up(each, place) for place, each in enumerate(wanted)]


def _gate(call: Call) -> Sequence[Array]:
    """Return gradients of Y = A sigmoid(alpha A) B, of those operands that are wanted."""
    dy, a, *others = call.inputs
    s = sigmoid(number(call.attributes, "alpha", 1.0) * a)
    found = [dy * b * _swish(a, call) for b in others] + [dy * a * s]
    return [call.sum_up(each, place) for place, each in enumerate(found[: len(call.shapes)])]


def _mean(call: Call) -> Sequence[Array]:
    """Return gradients of a mean: each operand's share of dY."""
    (dy,) = call.inputs
    count = len(call.given) or len(places_of(call, len(call.shapes)))
    # A mean of whole numbers would be no whole number.
    count = 1 if call.whole_numbers else count  # of whole numbers a mean is their sum
    return [sum_to(dy / count, shape) for shape in call.shapes]


def _extreme(call: Call) -> Sequence[Array]:
    dy, *operands, y = call.inputs
    return [
        sum_to(dy * (np.broadcast_to(x, y.shape) == y), shape)
        for x, shape in zip(operands, call.shapes, strict=True)
    ]


def _total(call: Call) -> Sequence[Array]:
    """Add up: along axes, forward; to the shape of a broadcast operand or a bias, backward."""
    (x,), (shape,) = call.inputs[:1], call.shapes
    # The bias of a convolution is of channels, on axis 1.
    if x.ndim > 2 and shape == x.shape[1:2] and "pads" in call.attributes:
        return [np.sum(x, axis=(0, *range(2, x.ndim)))]
    return of_operator(call.operator, call.attributes, [x], [shape])


KERNELS: Mapping[str, NodeKernel] = {
    **{f"{name}Gradient": _by_slope(slope) for name, slope in _SLOPES.items()},
    "SoftmaxGradient": _softmax,
    "LogSoftmaxGradient": _log_softmax,
    "SubGradient": lambda call: [-sum_to(call.inputs[0], call.shapes[0])],
    "MulGradient": _product,
    "DivGradient": _quotient,
    "WhereGradient": _choice,
    "PReluGradient": _leaky_of_each,
    "PowGradient": _power,
    "SwiGLUGradient": _gate,
    "MeanGradient": _mean,
    "ExtremeGradient": _extreme,
    "ReduceSum": _total,
    "CastGradient": lambda call: call.inputs[:1],
    "CastLikeGradient": lambda call: call.inputs[:1],
}
