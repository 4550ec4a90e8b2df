"""Pooling.

The gradient of max pooling finds each maximum again by comparing X with Y; no index tensor
is kept. That of average pooling reads dY alone.
"""

from __future__ import annotations

from math import prod

from spmopt.graph.operators.attributes import expect_rank, integers
from spmopt.graph.operators.pointwise import (
    gradient_reads,
    per_input,
    per_output,
    pointwise,
)
from spmopt.graph.operators.spec import Attributes, OperatorSpec, Shapes
from spmopt.graph.operators.windows import window_shape


def _shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_rank(inputs[0], 3, "input")
    kernel = integers(attributes, "kernel_shape")
    return ((*inputs[0][:2], *window_shape(inputs[0][2:], kernel, attributes)),)


def _global_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_rank(inputs[0], 3, "input")
    return ((*inputs[0][:2], *(1 for _ in inputs[0][2:])),)


def _operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """One comparison or addition for each element of each window."""
    return prod(integers(attributes, "kernel_shape")) * prod(outputs[0])


def _gradient_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """One for each element of each window of dY."""
    return prod(integers(attributes, "kernel_shape")) * prod(inputs[0])


SPECS: tuple[OperatorSpec, ...] = (
    pointwise(
        "MaxPool",
        _operations,
        _shapes,
        gradient_reads("MaxPoolGradient", (("x", 0), ("y", 0))),
    ),
    pointwise("MaxPoolGradient", _gradient_operations, None),
    pointwise("AveragePool", _operations, _shapes, gradient_reads("AveragePoolGradient", ())),
    pointwise("AveragePoolGradient", _gradient_operations, None),
    pointwise(
        "GlobalAveragePool",
        per_input(1),
        _global_shapes,
        gradient_reads("GlobalAveragePoolGradient", ()),
    ),
    pointwise("GlobalAveragePoolGradient", per_output(1), None),
    pointwise(
        "GlobalMaxPool",
        per_input(1),
        _global_shapes,
        gradient_reads("GlobalMaxPoolGradient", (("x", 0), ("y", 0))),
    ),
    pointwise("GlobalMaxPoolGradient", per_output(1), None),
)
