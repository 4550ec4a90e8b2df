"""A long short-term memory cell: four gate products and one point-wise update.

Not in ONNX, whose ``LSTM`` holds a whole sequence. A gate is ``[x, h] W``: one product of
(N, I + H) by (I + H, H), the bias folded into it. The gate's activation is a ``Sigmoid`` or
``Tanh`` of its own. The cell update is ``c = f c' + i g``, ``h = o tanh(c)``.
"""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import expect_inputs
from spmopt.graph.operators.pointwise import joint_gradient, per_input, per_output, pointwise
from spmopt.graph.operators.products import product_spec
from spmopt.graph.operators.spec import (
    Attributes,
    Gemm,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
)


def _gate_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 3)
    x, h, w = inputs
    if len(x) != 2 or len(h) != 2 or x[0] != h[0] or w != (x[1] + h[1], h[1]):
        raise InputError(f"x {x}, h {h} and W {w} must be (N, I), (N, H) and (I + H, H)")
    return (h,)


def _gate_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    x, _, w = inputs
    return Gemm(m=x[0], k=w[0], n=w[1], a=(0, 1), b=(2,))


def _gate_input_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DX, dh (N, I + H) = dY (N, H) W^T; only the columns that are needed."""
    dy = inputs[0]
    columns = sum(shape[1] for shape in outputs)
    return Gemm(m=dy[0], k=dy[1], n=columns, c=tuple(range(len(outputs))))


def _gate_weight_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DW (I + H, H) = [x, h]^T dY; inputs dY, x, h."""
    w = outputs[0]
    return Gemm(m=w[0], k=inputs[0][0], n=w[1], a=(1, 2), b=(0,))


def _gate_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    rules = []
    if 2 in needed:
        rules.append(
            GradientRule(of=(2,), reads=(("x", 0), ("x", 1)), operator="LSTMGateWeightGradient")
        )
    if of := tuple(sorted(needed & {0, 1})):
        rules.append(GradientRule(of=of, reads=(("x", 2),), operator="LSTMGateInputGradient"))
    return tuple(rules)


def _cell_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 5)
    if len(set(inputs)) > 1:
        raise InputError(f"i, f, o, g and c must have one shape, are {inputs}")
    return (inputs[0], inputs[0])


_cell_gradients = joint_gradient(
    "LSTMCellGradient", (*(("x", position) for position in range(5)), ("y", 0)), dy=(0, 1)
)
"""Reads the gates and both cell states; tanh(c) is computed again."""


SPECS: tuple[OperatorSpec, ...] = (
    product_spec("LSTMGate", _gate_gemm, _gate_shapes, gradients=_gate_gradients),
    product_spec("LSTMGateInputGradient", _gate_input_gemm, accumulates=True),
    product_spec("LSTMGateWeightGradient", _gate_weight_gemm, accumulates=True),
    # Two products and a sum; tanh (5) and a product.
    pointwise("LSTMCell", per_output(9), _cell_shapes, _cell_gradients),
    # tanh again (5); do (1), dc (4), di, dg, df and the earlier dc (4).
    pointwise("LSTMCellGradient", per_input(14), None),
)
