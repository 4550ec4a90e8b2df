"""Activations: element-wise functions of one tensor, and softmax.

Each multiplication, addition, comparison, division and elementary function (exp, tanh's exp,
erf, sqrt) counts as one operation. Where the derivative can be had from the result the
gradient reads Y and X may be dropped (paper 001, table 3.1).
"""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import integer, number, position
from spmopt.graph.operators.pointwise import (
    gradient_reads,
    per_output,
    pointwise,
    unary,
)
from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
)

_X = (("x", 0),)
_Y = (("y", 0),)


def _leaky_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """The sign of Y is that of X only while the slope is positive."""
    reads = _Y if number(attributes, "alpha", 0.01) > 0 else _X
    return gradient_reads("LeakyReluGradient", reads)(inputs, outputs, attributes, needed)


def _softmax_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    if not inputs[0]:
        raise InputError("softmax of a scalar; give a tensor with a class axis")
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def _softmax(name: str, work: int) -> tuple[OperatorSpec, ...]:
    """Max, subtract, exp, sum, divide; gradient: product, sum, subtract, product."""
    forward, gradient = unary(name, work, 4, _Y)
    return replace(forward, shapes=_softmax_shapes), gradient


SPECS: tuple[OperatorSpec, ...] = (
    pointwise("LeakyRelu", per_output(2), gradients=_leaky_gradients),
    pointwise("LeakyReluGradient", per_output(2), shapes=None),
    *_softmax("Softmax", 5),
    *_softmax("LogSoftmax", 5),
)
