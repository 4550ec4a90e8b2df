"""An operator without a rule of its own, taken for point-wise because the user said so."""

from __future__ import annotations

from math import prod

from spmopt.graph.operators.pointwise import pointwise
from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
)


def _operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """One for each element of the results."""
    return sum(map(prod, outputs))


def _gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """All at once, reading every input, as most operators' gradients do."""
    reads = tuple(("x", position) for position in range(len(inputs)))
    dy = tuple(range(len(outputs)))
    of = tuple(sorted(needed))
    return (GradientRule(of=of, reads=reads, operator="AssumedPointwiseGradient", dy=dy),)


SPECS: tuple[OperatorSpec, ...] = (
    pointwise("AssumedPointwise", _operations, None, _gradients),
    pointwise("AssumedPointwiseGradient", _operations, None),
)
