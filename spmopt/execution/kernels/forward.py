"""Forward operators that ONNX lacks, or knows with other operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erf, pi, sqrt

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.graph.operators.attributes import number, text


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def of_tanh(call: Call) -> bool:
    """Return whether Gelu is its approximation by tanh."""
    return text(call.attributes, "approximate", "none") == "tanh"


def normal_share(x: Array) -> Array:
    """Return the share of the standard normal distribution below each number."""
    found = np.array([0.5 + 0.5 * erf(each / sqrt(2)) for each in x.ravel().tolist()], x.dtype)
    return found.reshape(x.shape)


def _gelu(call: Call) -> Sequence[Array]:
    (x,) = call.inputs
    if of_tanh(call):
        return [0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))]
    return [x * normal_share(x)]


def _swish(call: Call) -> Sequence[Array]:
    (x,) = call.inputs
    return [x * sigmoid(number(call.attributes, "alpha", 1.0) * x)]


def _sum(call: Call) -> Sequence[Array]:
    """Add up one after the other, as pieces do."""
    total = call.inputs[0]
    for each in call.inputs[1:]:
        total = total + each
    return [total]


def _gate(call: Call) -> Sequence[Array]:
    """Multiply [x, h] by W."""
    x, h, w = call.inputs
    return [x @ w[: x.shape[1]] + h @ w[x.shape[1] :]]


def _cell(call: Call) -> Sequence[Array]:
    """Update a cell: c' = f c + i g, h = o tanh(c')."""
    i, f, o, g, c = call.inputs
    new = f * c + i * g
    return [new, o * np.tanh(new)]


def _rotary(call: Call) -> Sequence[Array]:
    return [_turned(*call.inputs[:3])]


def _turned_back(call: Call) -> Sequence[Array]:
    dy, cosines, sines = call.inputs[:3]
    return [_turned(dy, cosines, -sines)]


def _turned(x: Array, cosines: Array, sines: Array) -> Array:
    """Turn pairs of features, one of each half of a head, by the angles of its position.

    Features are of several heads, (N, S, H D), or each has an axis of its own, (N, H, S, D).
    """
    half = cosines.shape[-1]
    split = x
    if x.ndim == 3:
        split = x.reshape(*x.shape[:2], -1, 2 * half).transpose(0, 2, 1, 3)
    if cosines.ndim == 3:
        cosines, sines = cosines[:, None], sines[:, None]
    one, other = split[..., :half], split[..., half:]
    found = np.concatenate((one * cosines - other * sines, other * cosines + one * sines), axis=-1)
    if x.ndim == 3:
        found = found.transpose(0, 2, 1, 3).reshape(x.shape)
    return found


KERNELS: Mapping[str, NodeKernel] = {
    "Gelu": _gelu,
    "Erf": lambda call: [2 * normal_share(sqrt(2) * call.inputs[0]) - 1],
    "Cast": lambda call: call.inputs[:1],
    "Swish": _swish,
    "Sum": _sum,
    "LSTMGate": _gate,
    "LSTMCell": _cell,
    "RotaryEmbedding": _rotary,
    "RotaryEmbeddingGradient": _turned_back,
}
