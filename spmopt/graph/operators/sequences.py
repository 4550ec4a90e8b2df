"""Rules of operators on sequences: recurrent gates and cells, rotary embedding.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import integer
from spmopt.graph.operators.spec import Attributes, Gemm, Shapes


def gate_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply X (N, I) and h (N, H) by W (I + H, H)."""
    x, h, w = inputs
    if len(x) != 2 or len(h) != 2 or x[0] != h[0] or w != (x[1] + h[1], h[1]):
        raise InputError(f"x {x}, h {h} and W {w} must be (N, I), (N, H) and (I + H, H)")
    return (h,)


def gate_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Multiply [x, h] (N, I + H) by W (I + H, H)."""
    x, _, w = inputs
    return Gemm(m=x[0], k=w[0], n=w[1], a=(0, 1), b=(2,))


def gate_input_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DX, dh (N, I + H) = dY (N, H) W^T; only the columns that are needed."""
    dy = inputs[0]
    columns = sum(shape[1] for shape in outputs)
    return Gemm(m=dy[0], k=dy[1], n=columns, c=tuple(range(len(outputs))))


def gate_weight_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DW (I + H, H) = [x, h]^T dY; inputs dY, x, h."""
    w = outputs[0]
    return Gemm(m=w[0], k=inputs[0][0], n=w[1], a=(1, 2), b=(0,))


def cell_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the output h and the state c."""
    if len(set(inputs)) > 1:
        raise InputError(f"i, f, o, g and c must have one shape, are {inputs}")
    return (inputs[0], inputs[0])


def recurrent_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply X (N, I) by one direction of W (D, G H, I), transposed."""
    x, w = inputs[:2]
    wanted = (w[0], 2 * w[1]) if len(w) == 3 else ()
    if len(x) != 2 or len(w) != 3 or w[2] != x[1] or inputs[2:] not in ((), (wanted,)):
        raise InputError(f"X, W and bias {inputs} must be (N, I), (D, G H, I) and (D, 2 G H)")
    return ((x[0], w[1]),)


def recurrent_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply by one direction of the weights; each gate has a bias of X and one of h."""
    direction, gates = integer(attributes, "direction", 0), outputs[0][1]
    halves = (f"; y0[n, g] += x2[{direction}, g + {first}]" for first in (0, gates))
    bias = "".join(halves) if inputs[2:] else ""
    return f"y0[n, g] += x0[n, i] * x1[{direction}, g, i]{bias}"


def recurrent_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Multiply X (N, I) by one direction of W (D, G H, I), transposed."""
    x, w = inputs[:2]
    return Gemm(m=x[0], k=x[1], n=w[1])


def recurrent_state_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the state and the output of an LSTM, each (N, H)."""
    return recurrent_hidden_shapes(inputs, attributes, gates=4) * 2


def recurrent_hidden_shapes(inputs: Shapes, attributes: Attributes, gates: int = 3) -> Shapes:
    """Return the new state (N, H) of gates from X and from h, and the state before."""
    state = inputs[2]
    if len(state) != 2 or inputs[:2] != ((state[0], gates * state[1]),) * 2:
        raise InputError(f"gates {inputs[:2]} must be {gates} times as wide as the state {state}")
    return (state,)


def rotary_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Turn pairs of features by tables, of all positions or of those of each image."""
    places = "n, :, :" if len(inputs[1]) == 3 else ":, :"
    return f"y0[n, ..., :] = x0[n, ..., :] * x1[{places}] * x2[{places}]"
