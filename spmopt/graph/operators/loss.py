"""Losses: where the backward pass begins. Not in ONNX under these names."""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import expect_inputs, integer
from spmopt.graph.operators.pointwise import (
    gradient_reads,
    per_input,
    per_output,
    pointwise,
)
from spmopt.graph.operators.spec import Attributes, OperatorSpec, Shapes

_READS = (("x", 0), ("x", 1))


def _shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """A scalar; labels have the shape of the scores without the class axis."""
    expect_inputs(inputs, 2)
    scores, labels = inputs
    axis = integer(attributes, "axis", -1)
    if not -len(scores) <= axis < len(scores):
        raise InputError(f"axis {axis} is outside scores of shape {scores}")
    axis %= len(scores)
    if labels != scores[:axis] + scores[axis + 1 :]:
        raise InputError(f"labels {labels} do not suit scores {scores} with classes on axis {axis}")
    return ((),)


SPECS: tuple[OperatorSpec, ...] = (
    # Scores are logits: softmax, its logarithm and a sum (6). The gradient takes the softmax
    # again and subtracts the label (6), so no probabilities are kept.
    pointwise(
        "CrossEntropy", per_input(6), _shapes, gradient_reads("CrossEntropyGradient", _READS)
    ),
    pointwise("CrossEntropyGradient", per_output(6), None),
    # Scores are probabilities (a Softmax stands before): logarithm and sum; a division.
    pointwise(
        "NegativeLogLikelihood",
        per_input(2),
        _shapes,
        gradient_reads("NegativeLogLikelihoodGradient", _READS),
    ),
    pointwise("NegativeLogLikelihoodGradient", per_output(1), None),
    # Seed of a graph without a loss: dY from Y and labels.
    pointwise("LossGradient", per_output(1), None),
)
