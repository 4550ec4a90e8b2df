"""Normalizations.

In a training graph batch normalization takes the statistics of the batch and saves them for
the gradient (two numbers a channel); the running averages are left out, since nothing in the
step reads them. For inference it is one multiplication and one addition an element.
"""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    expect_inputs,
    expect_rank,
    integer,
    position,
)
from spmopt.graph.operators.pointwise import (
    gradient_reads,
    joint_gradient,
    per_input,
    per_output,
    pointwise,
)
from spmopt.graph.operators.spec import (
    Attributes,
    OperatorSpec,
    Shapes,
    Style,
    TrainingForm,
)


def _batch_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 5)
    _check_channels(inputs)
    return (inputs[0],)


def _batch_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Y, and the mean and inverse deviation of each channel."""
    expect_inputs(inputs, 3)
    _check_channels(inputs)
    channels = inputs[0][1:2]
    return (inputs[0], channels, channels)


def _check_channels(inputs: Shapes) -> None:
    expect_rank(inputs[0], 2, "input")
    if any(shape != inputs[0][1:2] for shape in inputs[1:]):
        raise InputError(f"scale, bias and statistics must have shape {inputs[0][1:2]}")


def _layer_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2, 3)
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def _layer_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Y, and the mean and inverse deviation of each normalized row."""
    (result,) = _layer_shapes(inputs, attributes)
    axis = position(integer(attributes, "axis", -1), len(result))
    rows = result[:axis] + (1,) * (len(result) - axis)
    return (result, rows, rows)


def _root_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2)
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def _root_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Y, and the inverse root mean square of each normalized row."""
    expect_inputs(inputs, 2)
    return _layer_training_shapes(inputs, attributes)[:2]


_root_gradients = joint_gradient("RMSNormalizationGradient", (("x", 0), ("x", 1), ("y", 1)))
"""All gradients at once, from X, scale and the saved statistic."""
_statistics_gradients = joint_gradient(
    "NormalizationGradient", (("x", 0), ("x", 1), ("y", 1), ("y", 2))
)
"""All gradients at once, from X, scale and the saved statistics."""


def _lrn_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """Square and sum over the window, then scale, add, power, divide."""
    return (2 * integer(attributes, "size") + 4) * prod(outputs[0])


def _lrn_gradient_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """The scale again, then a weighted sum over the window and four more."""
    return (4 * integer(attributes, "size") + 8) * prod(outputs[0])


SPECS: tuple[OperatorSpec, ...] = (
    OperatorSpec(
        name="BatchNormalization",
        style=Style.POINTWISE,
        shapes=_batch_shapes,
        operations=per_output(2),
        states=(3, 4),
        training=TrainingForm(operator="BatchNormalizationTraining", inputs=(0, 1, 2)),
    ),
    # Sum, square, sum of squares; multiply, add.
    pointwise(
        "BatchNormalizationTraining", per_output(5), _batch_training_shapes, _statistics_gradients
    ),
    pointwise(
        "LayerNormalization",
        per_output(7),
        _layer_shapes,
        training=TrainingForm(operator="LayerNormalizationTraining", inputs=(0, 1, 2)),
    ),
    # Sum, square, sum of squares; subtract, multiply, scale, shift.
    pointwise(
        "LayerNormalizationTraining", per_output(7), _layer_training_shapes, _statistics_gradients
    ),
    pointwise(
        "RMSNormalization",
        per_output(4),
        _root_shapes,
        training=TrainingForm(operator="RMSNormalizationTraining", inputs=(0, 1)),
    ),
    # Square, sum of squares; multiply, scale.
    pointwise("RMSNormalizationTraining", per_output(4), _root_training_shapes, _root_gradients),
    # Normalize again (1), the sum for the scale (2), then dX (5).
    pointwise("RMSNormalizationGradient", per_input(8), shapes=None),
    # Normalize again (2), sums for the shift (1) and the scale (2), then dX (5).
    pointwise("NormalizationGradient", per_input(10), shapes=None),
    pointwise(
        "LRN", _lrn_operations, gradients=gradient_reads("LRNGradient", (("x", 0), ("y", 0)))
    ),
    pointwise("LRNGradient", _lrn_gradient_operations, shapes=None),
)
