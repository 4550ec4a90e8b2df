"""Element-wise arithmetic with broadcasting, and reductions.

A gradient that is dY itself is a view: it moves no data. Where an input was broadcast, its
gradient is dY summed over the broadcast elements.
"""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    broadcast,
    expect_inputs,
    integer,
    integers,
    positions,
)
from spmopt.graph.operators.pointwise import (
    gradient_reads,
    no_operations,
    per_input,
    per_output,
    pointwise,
)
from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shape,
    Shapes,
    Style,
)


def _binary_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2)
    return (broadcast(*inputs),)


def _sum_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    if not inputs:
        raise InputError("takes at least 1 input")
    return (broadcast(*inputs),)


def _sum_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    return (len(inputs) - 1) * prod(outputs[0])


def _pass_on(position: int, inputs: Shapes, outputs: Shapes) -> GradientRule:
    same = prod(inputs[position]) == prod(outputs[0])
    return GradientRule(of=(position,), reads=(), operator="ViewGradient" if same else "ReduceSum")


def _sum_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    return tuple(_pass_on(position, inputs, outputs) for position in sorted(needed))


def _sub_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DB = -dY, summed where B was broadcast."""
    rules = [_pass_on(0, inputs, outputs)] if 0 in needed else []
    if 1 in needed:
        rules.append(GradientRule(of=(1,), reads=(), operator="SubGradient"))
    return tuple(rules)


def _mul_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DA = dY B, dB = dY A, in one operation that reads dY once."""
    of = tuple(sorted(needed))
    reads = tuple(("x", 1 - position) for position in of)
    return (GradientRule(of=of, reads=reads, operator="MulGradient"),)


def _div_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DA = dY / B, dB = -dY Y / B."""
    reads = (("x", 1), ("y", 0)) if 1 in needed else (("x", 1),)
    return (GradientRule(of=tuple(sorted(needed)), reads=reads, operator="DivGradient"),)


def _pow_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DX = dY E X^(E-1), dE = dY Y ln X."""
    reads = (("x", 0), ("x", 1), *((("y", 0),) if 1 in needed else ()))
    return (GradientRule(of=tuple(sorted(needed)), reads=reads, operator="PowGradient"),)


def _work_per_result(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """Two operations an element of dY for each gradient: factor and product (or sum)."""
    return 2 * len(outputs) * prod(inputs[0])


def _reduced(shape: Shape, attributes: Attributes) -> Shape:
    axes = integers(attributes, "axes", ()) or tuple(range(len(shape)))
    gone = positions(axes, len(shape))
    if integer(attributes, "keepdims", 1):
        return tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def _reduce_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    return (_reduced(inputs[0], attributes),)


def _reduction(name: str) -> tuple[OperatorSpec, ...]:
    gradient = f"{name}Gradient"
    return (
        OperatorSpec(
            name=name,
            style=Style.POINTWISE,
            shapes=_reduce_shapes,
            operations=per_input(1),
            gradients=gradient_reads(gradient, ()),
            constants={1: "axes"},
        ),
        pointwise(gradient, per_output(1) if name == "ReduceMean" else no_operations, shapes=None),
    )


SPECS: tuple[OperatorSpec, ...] = (
    pointwise("Add", per_output(1), _binary_shapes, _sum_gradients),
    pointwise("Sum", _sum_operations, _sum_shapes, _sum_gradients),
    pointwise("Sub", per_output(1), _binary_shapes, _sub_gradients),
    pointwise("SubGradient", per_input(1), None),
    pointwise("Mul", per_output(1), _binary_shapes, _mul_gradients),
    pointwise("MulGradient", _work_per_result, None),
    pointwise("Div", per_output(1), _binary_shapes, _div_gradients),
    pointwise("DivGradient", _work_per_result, None),
    pointwise("Pow", per_output(1), _binary_shapes, _pow_gradients),
    pointwise("PowGradient", _work_per_result, None),
    pointwise("Neg", per_output(1), gradients=gradient_reads("Neg", ())),
    *_reduction("ReduceMean"),
    *_reduction("ReduceSum"),
)
