"""Forward operators that ONNX lacks, or knows with other operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erf, pi, prod, sqrt

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.graph.operators.attention import visible_keys
from spmopt.graph.operators.attributes import number, text


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def softmax(x: Array, axis: int = -1) -> Array:
    """Return the shares of exponentials along an axis."""
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return np.asarray(shifted / np.sum(shifted, axis=axis, keepdims=True))


def causal_softmax(call: Call, scores: Array) -> Array:
    """Return the shares of the keys that each row of scores sees, if its softmax is causal."""
    visible = visible_keys(call.attributes, *scores.shape[-2:]) if scores.ndim > 1 else None
    if visible is None:
        return softmax(scores, call.axis())
    seen = np.arange(scores.shape[-1]) < visible[:, None]
    return softmax(np.where(seen, scores, -np.inf))


def log_softmax(x: Array, axis: int = -1) -> Array:
    """Return logarithms of the shares of exponentials along an axis."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)))


def of_tanh(call: Call) -> bool:
    """Return whether Gelu is its approximation by tanh."""
    return text(call.attributes, "approximate", "none") == "tanh"


# numpy has no erf; the standard library has one of numbers.
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
    x = call.inputs[0]
    return [x * sigmoid(number(call.attributes, "alpha", 1.0) * x)]


def _sum(call: Call) -> Sequence[Array]:
    """Add up one after the other, as fusion tiles do."""
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


def _convert(call: Call) -> Sequence[Array]:
    """Return numbers for another type: integers lose their fraction."""
    (x, *_), to = call.inputs, call.dtypes
    whole = bool(to) and to[0].kind in "iu" and x.dtype.kind == "f"
    return [np.trunc(x) if whole else x]


def _fill(call: Call) -> Sequence[Array]:
    """Stand for an unknown operator: a sum of odd multiples of all operands, element by element.

    Operands are repeated, or added up by blocks, to the size of the result.
    """
    found = []
    for place, shape in enumerate(call.shapes):
        total = np.zeros(prod(shape), np.float32)
        for at, each in enumerate(call.inputs):
            # A multiple of the result's size, so that every element of the operand counts.
            rows = -(-each.size // total.size) * total.size
            whole = np.resize(each.astype(np.float32).ravel(), rows).reshape(-1, total.size)
            total = total + (2 * at + 2 * place + 1) * whole.sum(axis=0)
        found.append(total.reshape(shape))
    return found


KERNELS: Mapping[str, NodeKernel] = {
    "Gelu": _gelu,
    "Erf": lambda call: [2 * normal_share(sqrt(2) * call.inputs[0]) - 1],
    "Cast": _convert,
    "CastLike": _convert,
    "AssumedPointwise": _fill,
    "AssumedPointwiseGradient": _fill,
    "Swish": _swish,
    "SwiGLU": lambda call: [_swish(call)[0] * call.inputs[1]],
    "Sum": _sum,
    "LSTMGate": _gate,
    "LSTMCell": _cell,
}
