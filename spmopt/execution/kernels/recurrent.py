"""Steps of recurrent layers with the gates of ONNX, and their gradients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.forward import sigmoid
from spmopt.graph.operators.attributes import integer


def _product(call: Call) -> Sequence[Array]:
    """Multiply X, or the output of the step before, by one direction of the weights.

    The two products of a step are added up, so that of X adds both halves of the biases, and that
    of h none. (With ``linear_before_reset`` the reset gate would come in between.)
    """
    x, w, *bias = call.inputs
    direction = integer(call.attributes, "direction", 0)
    found = x @ w[direction].T
    if bias and re.search(r"\.h(_\d+)?$", call.name) is None:
        found = found + sum(np.split(bias[0][direction], 2))
    return [found]


def _long_gates(x: Array, h: Array, c: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return the gates i, o, f, g, and the new state, of products of x and h in that order."""
    # The order of ONNX: input, output, forget, cell.
    i, o, f, g = np.split(x + h, 4, axis=1)
    i, o, f, g = sigmoid(i), sigmoid(o), sigmoid(f), np.tanh(g)
    return i, o, f, g, f * c + i * g


def _long_update(call: Call) -> Sequence[Array]:
    _, o, _, _, new = _long_gates(*call.inputs)
    return [new, o * np.tanh(new)]


def _long_update_back(call: Call) -> Sequence[Array]:
    """Return the gradients of the gates' products and of the state, if they are wanted."""
    above = _gradients_above(call, 2)
    c = call.inputs[-2]
    i, o, f, g, new = _long_gates(*call.inputs[-4:-1])
    zero = np.zeros_like(c)
    dnew, dh = above.get(0, zero), above.get(1, zero)
    # h = o tanh(c'), so dc' gets a share of dh.
    tanh = np.tanh(new)
    do = dh * tanh * o * (1 - o)
    dnew = dnew + dh * o * (1 - tanh * tanh)
    di, df, dg = dnew * g * i * (1 - i), dnew * c * f * (1 - f), dnew * i * (1 - g * g)
    gates = np.concatenate((di, do, df, dg), axis=1)
    both = {0: gates, 1: gates, 2: dnew * f}
    wanted = call.of or tuple(range(len(call.shapes)))
    return [both[k].reshape(shape) for k, shape in zip(wanted, call.shapes, strict=True)]


def _gradients_above(call: Call, results: int) -> dict[int, Array]:
    """Return the gradients of results by their position; of one alone it is the output h."""
    count = len(call.above) or len(call.inputs) - 4
    places = call.above or (tuple(range(results)) if count == results else (results - 1,))
    return dict(zip(places, call.inputs, strict=False))


def _short_gates(x: Array, h: Array, state: Array) -> tuple[Array, Array, Array, Array]:
    """Return the gates z and r, the share of h in the candidate, and the candidate."""
    # The candidate of linear_before_reset = 1, which PyTorch exports.
    (xz, xr, xn), (hz, hr, hn) = (np.split(each, 3, axis=1) for each in (x, h))
    z, r = sigmoid(xz + hz), sigmoid(xr + hr)
    return z, r, hn, np.tanh(xn + r * hn)


def _short_update(call: Call) -> Sequence[Array]:
    x, h, state = call.inputs
    z, _, _, new = _short_gates(x, h, state)
    return [(1 - z) * new + z * state]


def _short_update_back(call: Call) -> Sequence[Array]:
    dy, x, h, state = call.inputs
    z, r, hn, new = _short_gates(x, h, state)
    dz = dy * (state - new) * z * (1 - z)
    dn = dy * (1 - z) * (1 - new * new)
    dr = dn * hn * r * (1 - r)
    both = {
        0: np.concatenate((dz, dr, dn), axis=1),
        1: np.concatenate((dz, dr, dn * r), axis=1),
        2: dy * z,
    }
    wanted = call.of or tuple(range(len(call.shapes)))
    return [both[k] for k in wanted]


KERNELS: Mapping[str, NodeKernel] = {
    "RecurrentGemm": _product,
    "LSTMUpdate": _long_update,
    "LSTMUpdateGradient": _long_update_back,
    "GRUUpdate": _short_update,
    "GRUUpdateGradient": _short_update_back,
}
