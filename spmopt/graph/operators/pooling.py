"""Pooling.

The gradient of max pooling finds each maximum again by comparing X with Y; no index tensor
is kept. That of average pooling reads dY alone. ``RoiAlign`` pools regions of the images by mean;
its gradient adds dY up over a map of zeros, at places that the regions tell.
"""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import expect_inputs, expect_rank, integer, integers
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


def _region_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """X (N, C, H, W), R regions (R, 4) and the image of each (R)."""
    expect_inputs(inputs, 3)
    x, regions, images = inputs
    if len(x) != 4 or regions != (*images, 4):
        raise InputError(
            f"X {x}, regions {regions} and images {images} must be 4-D, (R, 4) and (R)"
        )
    height, width = (integer(attributes, f"output_{side}", 1) for side in ("height", "width"))
    return ((*images, x[1], height, width),)


def _samples(attributes: Attributes) -> int:
    """Operations for one element of the result: 8 for each bilinear sample, and the mean."""
    return 9 * max(1, integer(attributes, "sampling_ratio", 1)) ** 2


def _region_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    return _samples(attributes) * prod(outputs[0])


def _region_gradient_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    return _samples(attributes) * prod(inputs[0])


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
    pointwise(
        "RoiAlign",
        _region_operations,
        _region_shapes,
        gradient_reads("RoiAlignGradient", (("x", 1), ("x", 2))),
    ),
    pointwise("RoiAlignGradient", _region_gradient_operations, None),
)
