"""Losses: where the backward pass begins. Not in ONNX under these names."""

from __future__ import annotations

from dataclasses import replace

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


def _loss(name: str, work: int, gradient_work: int) -> tuple[OperatorSpec, ...]:
    gradient = f"{name}Gradient"
    forward = pointwise(name, per_input(work), _shapes, gradient_reads(gradient, _READS))
    return replace(forward, loss=True), pointwise(gradient, per_output(gradient_work), None)


SPECS: tuple[OperatorSpec, ...] = (
    # Scores are logits: softmax (5), logarithm, sum. The gradient takes the softmax again and
    # subtracts the label, so no probabilities are kept.
    *_loss("CrossEntropy", 7, 6),
    # Scores are probabilities, a Softmax stands before: logarithm, sum; a division.
    *_loss("NegativeLogLikelihood", 2, 1),
    # Seed of a graph without a loss: dY from Y and labels.
    pointwise("LossGradient", per_output(1), None),
)
