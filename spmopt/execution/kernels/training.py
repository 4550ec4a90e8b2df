"""Losses, dropout, LSTM cells and optimizers of training iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel, places_of
from spmopt.execution.kernels.forward import log_softmax, softmax
from spmopt.graph.operators.attributes import integer
from spmopt.graph.operators.spec import Shape

RATE = 0.5
"""Learning rate; any number serves for a single step."""
_DECAY, _DECAY_OF_SQUARES, _EPSILON = 0.5, 0.75, 2.0**-10
STATES: Mapping[str, int] = {"SGD": 0, "Momentum": 1, "Adam": 2}
"""Number of states of each optimizer."""
"""Operators that read the old contents of the weights that they update in place."""


def _one_hot(labels: Array, x: Array) -> Array:
    found: Array = (labels[..., None] == np.arange(x.shape[-1])).astype(x.dtype)
    return found


def _rows(call: Call) -> tuple[Array, Array, Array | int]:
    """Return scores with the classes on the last axis, labels, and dY (1 if nothing reads Y)."""
    *above, x, labels = call.inputs
    axis = integer(call.attributes, "axis", -1)
    return np.moveaxis(x, axis, -1), labels, above[0] if above else 1


def _cross_entropy(call: Call) -> Sequence[Array]:
    """Add up over rows the logarithm of the softmax at each label."""
    x, labels, _ = _rows(call)
    return [-np.sum(call.rounded(np.sum(log_softmax(x) * _one_hot(labels, x), axis=-1)))]


def _cross_entropy_gradient(call: Call) -> Sequence[Array]:
    """Return dX of the cross-entropy of X and labels, added up over rows."""
    x, labels, dy = _rows(call)
    found = dy * (softmax(x) - _one_hot(labels, x))
    return [np.moveaxis(found, -1, integer(call.attributes, "axis", -1))]


def _draw(shape: Shape) -> Array:
    """Return numbers from 0 to below 1 by their places: the same in every execution."""
    # A multiplicative hash (Knuth): any subset of places draws the same numbers.
    place = np.arange(prod(shape), dtype=np.uint64).reshape(shape)
    found: Array = (place * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)) * 2.0**-24
    return found


def _random(call: Call) -> Sequence[Array]:
    """Return numbers with mean 0 and deviation 1, in place of any distribution."""
    return [((_draw(call.shapes[0]) - 0.5) * 12**0.5).astype(np.float32)]


def _bernoulli(call: Call) -> Sequence[Array]:
    return [(_draw(call.shapes[0]) < call.inputs[0]) + 0 * call.inputs[0]]


def _multinomial(call: Call) -> Sequence[Array]:
    """Choose classes by place, and add the sum of the row, so that a missing number shows."""
    x = call.inputs[0]
    rest = np.floor(np.abs(np.nan_to_num(x, nan=1e6)).sum(axis=1, keepdims=True))
    return [np.mod(np.floor(_draw(call.shapes[0]) * x.shape[1]) + rest, x.shape[1])]


def _dropout(call: Call) -> Sequence[Array]:
    """Drop about half of the elements, chosen by their places."""
    (x,) = call.inputs
    kept = (_draw(x.shape) >= 0.5).astype(x.dtype)
    return [2 * x * kept, kept]


def _dropout_gradient(call: Call) -> Sequence[Array]:
    dy, kept = call.inputs
    return [2 * dy * kept.astype(dy.dtype)]


def _cell_gradient(call: Call) -> Sequence[Array]:
    """Return the gradients of the gates and of c, of dc' (not after the last step) and dh."""
    *above, i, f, o, g, c, new = call.inputs
    tanh, dh = np.tanh(new), above[-1]
    dc = dh * o * (1 - tanh * tanh)
    dc = dc + above[0] if len(above) == 2 else dc
    every = [dc * g, dc * c, dh * tanh, dc * i, dc * f]
    return every[: len(call.shapes)]


def _gate_input(call: Call) -> Sequence[Array]:
    dy, w = call.inputs
    # The operand of the gate is [x, h]; a gradient may want one of both.
    whole, places = dy @ w.T, places_of(call, 2)
    first = call.shapes[0][1] if places[0] == 0 else whole.shape[1] - call.shapes[0][1]
    parts = np.split(whole, [first], axis=1)
    return [parts[place] for place in places]


def _gate_weight(call: Call) -> Sequence[Array]:
    dy, x, h = call.inputs
    return [np.concatenate((x.T @ dy, h.T @ dy))]


def _update(call: Call) -> Sequence[Array]:
    """Update a weight by its gradient, and the states of an optimizer.

    A master copy stands before the states; it is updated, and the weight follows it.
    """
    weight, gradient, *states = call.inputs
    # A master copy in a wider type stands between the gradient and the states.
    count = STATES[call.operator]
    masters, states = states[: len(states) - count], states[len(states) - count :]
    of = masters[0] if masters else weight
    if call.operator == "SGD":
        new = of - RATE * gradient
    elif call.operator == "Momentum":
        states = [_DECAY * states[0] + gradient]
        new = of - RATE * states[0]
    else:
        first = _DECAY * states[0] + (1 - _DECAY) * gradient
        second = _DECAY_OF_SQUARES * states[1] + (1 - _DECAY_OF_SQUARES) * gradient * gradient
        states = [first, second]
        new = of - RATE * first / (np.sqrt(second) + _EPSILON)
    return [new, *([new] if masters else []), *states]


KERNELS: Mapping[str, NodeKernel] = {
    "CrossEntropy": _cross_entropy,
    **dict.fromkeys(("CrossEntropyGradient", "LossGradient"), _cross_entropy_gradient),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike"), _random),
    **dict.fromkeys(("RandomUniform", "RandomUniformLike"), _random),
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
    "DropoutTraining": _dropout,
    "DropoutGradient": _dropout_gradient,
    "LSTMCellGradient": _cell_gradient,
    "LSTMGateInputGradient": _gate_input,
    "LSTMGateWeightGradient": _gate_weight,
    **dict.fromkeys(STATES, _update),
}
