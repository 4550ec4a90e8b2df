"""What all matrix products share: their work, and the gradients of ``x W (+ bias)``."""

from __future__ import annotations

from collections.abc import Callable

from spmopt.graph.operators.spec import (
    Attributes,
    Gemm,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
    Style,
)

GemmRule = Callable[[Shapes, Shapes, Attributes], Gemm]
ShapeRule = Callable[[Shapes, Attributes], Shapes]
Gradients = Callable[[Shapes, Shapes, Attributes, Needed], tuple[GradientRule, ...]]


def product_gradients(operator: str, needed: Needed) -> tuple[GradientRule, ...]:
    """Rules of a product of input 0 and weight 1 with an optional bias 2.

    dW comes first, so that dX is fresh when the operation before reads it. The bias gradient
    is summed while dY passes by for dW; alone if no dW is needed.
    """
    rules = []
    if 1 in needed:
        of = (1, 2) if 2 in needed else (1,)
        rules.append(GradientRule(of=of, reads=(("x", 0),), operator=f"{operator}WeightGradient"))
    elif 2 in needed:
        rules.append(GradientRule(of=(2,), reads=(), operator="ReduceSum"))
    if 0 in needed:
        rules.append(GradientRule(of=(0,), reads=(("x", 1),), operator=f"{operator}InputGradient"))
    return tuple(rules)


def product_spec(
    name: str,
    gemm: GemmRule,
    shapes: ShapeRule | None = None,
    *,
    gradients: Gradients | None = None,
    accumulates: bool = False,
) -> OperatorSpec:
    """A matrix product of 2 operations a MAC; the additions of a bias are not counted.

    A forward product without ``gradients`` has those of ``x W (+ bias)``.
    """

    def operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
        return 2 * gemm(inputs, outputs, attributes).macs

    def default(
        inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
    ) -> tuple[GradientRule, ...]:
        return product_gradients(name, needed)

    return OperatorSpec(
        name=name,
        style=Style.GEMM,
        shapes=shapes,
        operations=operations,
        gemm=gemm,
        gradients=gradients or (default if shapes else None),
        accumulates=accumulates,
    )
