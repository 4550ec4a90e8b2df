"""Steps of recurrent layers with the gates of ONNX, linear attention, and their gradients."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.execution.kernels.forward import sigmoid
from spmopt.execution.kernels.onnx_reference import reference
from spmopt.graph.operators.attributes import integer, text


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


def _long_gates(
    x: Array, h: Array, c: Array, peepholes: Array | None
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the gates i, o, f, g, and the new state, of products of x and h in that order."""
    i, o, f, g = np.split(x + h, 4, axis=1)
    pi, po, pf = (
        np.split(peepholes.reshape(1, -1), 3, axis=1)
        if peepholes is not None
        else (np.zeros((), x.dtype),) * 3
    )
    i, f, g = sigmoid(i + pi * c), sigmoid(f + pf * c), np.tanh(g)
    new = f * c + i * g
    return i, sigmoid(o + po * new), f, g, new


def _long_update(call: Call) -> Sequence[Array]:
    x, h, c, *peepholes = call.inputs
    _, o, _, _, new = _long_gates(x, h, c, peepholes[0] if peepholes else None)
    return [new, o * np.tanh(new)]


def _long_update_back(call: Call) -> Sequence[Array]:
    """Return gradients of the gates' products, the state and the peepholes, that are wanted."""
    above = _gradients_above(call, 2)
    x, h, c, *rest = call.inputs[len(above) :]
    peepholes = rest[0] if len(rest) == 2 else None
    i, o, f, g, new = _long_gates(x, h, c, peepholes)
    zero = np.zeros_like(c)
    dnew, dh = above.get(0, zero), above.get(1, zero)
    tanh = np.tanh(new)
    pi, po, pf = (
        np.split(peepholes.reshape(1, -1), 3, axis=1) if peepholes is not None else (zero,) * 3
    )
    do = dh * tanh * o * (1 - o)
    dnew = dnew + dh * o * (1 - tanh * tanh) + do * po
    di, df, dg = dnew * g * i * (1 - i), dnew * c * f * (1 - f), dnew * i * (1 - g * g)
    gates = np.concatenate((di, do, df, dg), axis=1)
    terms = (di * c, do * new, df * c)
    of_peepholes = np.concatenate([call.rounded(each).sum(axis=0) for each in terms])
    both = {0: gates, 1: gates, 2: dnew * f + di * pi + df * pf, 3: of_peepholes}
    wanted = call.of or tuple(range(len(call.shapes)))
    return [both[k].reshape(shape) for k, shape in zip(wanted, call.shapes, strict=True)]


def _gradients_above(call: Call, results: int) -> dict[int, Array]:
    """Return the gradients of results by their position; of one alone it is the output h."""
    count = len(call.above) or len(call.inputs) - 4
    places = call.above or (tuple(range(results)) if count == results else (results - 1,))
    return dict(zip(places, call.inputs, strict=False))


def _short_gates(x: Array, h: Array, state: Array) -> tuple[Array, Array, Array, Array]:
    """Return the gates z and r, what h gives to the candidate, and the candidate."""
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


def _linear_attention(call: Call) -> Sequence[Array]:
    """Let ONNX compute it; the rest out in between shows in the rule and in ranks."""
    rule = text(call.attributes, "update_rule", "gated_delta")
    more = list(call.inputs[3:])
    state = more.pop(0) if more and more[0].ndim == 4 else None
    decay = more.pop(0) if "gated" in rule and more else None
    beta = more.pop(0) if "delta" in rule and more else None
    operands = [*call.inputs[:3], state, decay, beta]
    return reference("LinearAttention", call.attributes, operands, len(call.shapes))


KERNELS: Mapping[str, NodeKernel] = {
    "RecurrentGemm": _product,
    "LSTMUpdate": _long_update,
    "LSTMUpdateGradient": _long_update_back,
    "GRUUpdate": _short_update,
    "GRUUpdateGradient": _short_update_back,
    "LinearAttention": _linear_attention,
}
