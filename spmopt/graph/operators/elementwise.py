"""Element-wise choices: between inputs, and by a learned slope."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from spmopt.graph.operators.pointwise import per_output, pointwise
from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
)
from spmopt.graph.operators.table import joined_shapes

_X = (("x", 0),)


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


def _value_bytes(element_bytes: tuple[int, ...], attributes: Attributes) -> tuple[int, ...]:
    return (element_bytes[1],)


SPECS: tuple[OperatorSpec, ...] = (
    pointwise("PRelu", per_output(2), gradients=_slope_gradients),
    pointwise("PReluGradient", _work_per_gradient, None),
    pointwise("Max", _extreme_operations, joined_shapes, _extreme_gradients),
    pointwise("Min", _extreme_operations, joined_shapes, _extreme_gradients),
    pointwise("ExtremeGradient", _work_per_gradient, None),
    replace(
        pointwise("Where", per_output(1), joined_shapes, _where_gradients),
        result_bytes=_value_bytes,
    ),
    pointwise("WhereGradient", _work_per_gradient, None),
)
