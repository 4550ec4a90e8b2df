"""What point-wise operators share: work per element, and how to declare one."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
    Style,
    TrainingForm,
)

ShapeRule = Callable[[Shapes, Attributes], Shapes]
Operations = Callable[[Shapes, Shapes, Attributes], int]
Gradients = Callable[[Shapes, Shapes, Attributes, Needed], tuple[GradientRule, ...]]
Reads = tuple[tuple[str, int], ...]


def same_shape(inputs: Shapes, attributes: Attributes) -> Shapes:
    """One result, of the shape of input 0."""
    return (inputs[0],)


def per_output(count: int) -> Operations:
    """``count`` operations for each element of output 0."""
    return lambda inputs, outputs, attributes: count * prod(outputs[0])


def per_input(count: int) -> Operations:
    """``count`` operations for each element of input 0."""
    return lambda inputs, outputs, attributes: count * prod(inputs[0])


def no_operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """Data is moved, nothing is computed."""
    return 0


def gradient_reads(operator: str, reads: Reads) -> Gradients:
    """One gradient operation, for input 0, that reads dY and ``reads``."""
    rule = GradientRule(of=(0,), reads=reads, operator=operator)
    return lambda inputs, outputs, attributes, needed: (rule,) if 0 in needed else ()


def joint_gradient(operator: str, reads: Reads, dy: tuple[int, ...] = (0,)) -> Gradients:
    """One gradient operation, for all inputs that need a gradient, that reads dY and ``reads``."""
    return lambda inputs, outputs, attributes, needed: (
        GradientRule(of=tuple(sorted(needed)), reads=reads, operator=operator, dy=dy),
    )


def pointwise(
    name: str,
    operations: Operations,
    shapes: ShapeRule | None = same_shape,
    gradients: Gradients | None = None,
    training: TrainingForm | None = None,
) -> OperatorSpec:
    """An operator that streams every operand once."""
    return OperatorSpec(
        name=name,
        style=Style.POINTWISE,
        shapes=shapes,
        operations=operations,
        gradients=gradients,
        training=training,
    )


def unary(name: str, work: int, gradient_work: int, reads: Reads) -> tuple[OperatorSpec, ...]:
    """An element-wise function of one input, and its gradient operator."""
    gradient = f"{name}Gradient"
    return (
        pointwise(name, per_output(work), gradients=gradient_reads(gradient, reads)),
        pointwise(gradient, per_output(gradient_work), shapes=None),
    )
