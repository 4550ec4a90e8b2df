"""Further element-wise functions, choices and comparisons.

A comparison has no gradient: what is trained may not pass through one.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import broadcast
from spmopt.graph.operators.pointwise import per_output, pointwise, unary
from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
)

_X = (("x", 0),)
_Y = (("y", 0),)


def _joined_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    if not inputs:
        raise InputError("takes at least 1 input")
    return (broadcast(*inputs),)


def _extreme_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """Comparisons."""
    return (len(inputs) - 1) * prod(outputs[0])


def _extreme_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DY goes where an input equals the result."""
    of = tuple(sorted(needed))
    reads = (*(("x", position) for position in of), ("y", 0))
    return (GradientRule(of=of, reads=reads, operator="ExtremeGradient"),)


def _where_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    of = tuple(sorted(needed - {0}))
    return (GradientRule(of=of, reads=_X, operator="WhereGradient"),) if of else ()


def _slope_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """Reads X, and the slope if dX is wanted."""
    reads = (("x", 0), ("x", 1)) if 0 in needed else _X
    return (GradientRule(of=tuple(sorted(needed)), reads=reads, operator="PReluGradient"),)


def _work_per_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """Two operations an element of dY for each gradient."""
    return 2 * len(outputs) * prod(inputs[0])


def _one_byte(element_bytes: tuple[int, ...], attributes: Attributes) -> tuple[int, ...]:
    return (1,)


def _value_bytes(element_bytes: tuple[int, ...], attributes: Attributes) -> tuple[int, ...]:
    return (element_bytes[1],)


def _comparison(name: str) -> OperatorSpec:
    return replace(pointwise(name, per_output(1), _joined_shapes), result_bytes=_one_byte)


SPECS: tuple[OperatorSpec, ...] = (
    *unary("Abs", 1, 2, _X),
    *unary("Log", 1, 1, _X),
    *unary("Reciprocal", 1, 3, _Y),
    *unary("Sin", 1, 2, _X),
    *unary("Cos", 1, 2, _X),
    *unary("Elu", 4, 3, _X),
    *unary("Selu", 5, 4, _X),
    *unary("Softplus", 3, 4, _X),
    *unary("Softsign", 3, 4, _X),
    *unary("Mish", 9, 12, _X),
    pointwise("PRelu", per_output(2), gradients=_slope_gradients),
    pointwise("PReluGradient", _work_per_gradient, None),
    pointwise("Max", _extreme_operations, _joined_shapes, _extreme_gradients),
    pointwise("Min", _extreme_operations, _joined_shapes, _extreme_gradients),
    pointwise("ExtremeGradient", _work_per_gradient, None),
    replace(
        pointwise("Where", per_output(1), _joined_shapes, _where_gradients),
        result_bytes=_value_bytes,
    ),
    pointwise("WhereGradient", _work_per_gradient, None),
    *(
        _comparison(name)
        for name in (
            "Equal",
            "Greater",
            "GreaterOrEqual",
            "Less",
            "LessOrEqual",
            "And",
            "Or",
            "Xor",
            "Not",
        )
    ),
    *(pointwise(name, per_output(1)) for name in ("Ceil", "Floor", "Round", "Sign")),
)
