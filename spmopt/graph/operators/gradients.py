"""Gradients, work and bytes of operators that depend on shapes or attributes.

``operators.toml`` calls the rules by their names.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from spmopt.graph.operators.attributes import integer, integers, number
from spmopt.graph.operators.spec import Attributes, GradientRule, Needed, Shapes

Gradients = Callable[[Shapes, Shapes, Attributes, Needed], tuple[GradientRule, ...]]
Factor = Callable[[Shapes, Shapes, Attributes], int]


def product_gradients(operator: str) -> Gradients:
    """Return the rule of a product of input 0 and weight 1 with an optional bias 2.

    dW comes first, so that dX is fresh when the operation before reads it. The bias gradient
    is summed while dY passes by for dW; alone if no dW is needed.
    """

    def gradients(
        inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
    ) -> tuple[GradientRule, ...]:
        rules = []
        of = tuple(sorted(needed & {1, 2}))
        if 1 in needed:
            name = f"{operator}WeightGradient"
            rules.append(GradientRule(of=of, reads=(("x", 0),), operator=name))
        elif 2 in needed:
            rules.append(GradientRule(of=of, reads=(), operator="ReduceSum"))
        if 0 in needed:
            name = f"{operator}InputGradient"
            rules.append(GradientRule(of=(0,), reads=(("x", 1),), operator=name))
        return tuple(rules)

    return gradients


def _sum(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DY itself, a view; where an input was broadcast, summed over the broadcast elements."""
    return tuple(
        GradientRule(
            of=(position,),
            reads=(),
            operator="ViewGradient" if prod(inputs[position]) == prod(outputs[0]) else "ReduceSum",
        )
        for position in sorted(needed)
    )


def _mean(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DY divided by the number of inputs, summed where an input was broadcast."""
    return (GradientRule(of=tuple(sorted(needed)), reads=(), operator="MeanGradient"),)


def _difference(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DA = dY, dB = -dY, each summed where its input was broadcast."""
    rules = _sum(inputs, outputs, attributes, needed & {0})
    if 1 in needed:
        rules = (*rules, GradientRule(of=(1,), reads=(), operator="SubGradient"))
    return rules


def _leaky(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """The sign of Y is that of X only while the slope is positive."""
    place = "y" if number(attributes, "alpha", 0.01) > 0 else "x"
    rule = GradientRule(of=(0,), reads=((place, 0),), operator="LeakyReluGradient")
    return (rule,) if 0 in needed else ()


def _extreme(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """DY goes where an input equals the result."""
    of = tuple(sorted(needed))
    reads = (*(("x", position) for position in of), ("y", 0))
    return (GradientRule(of=of, reads=reads, operator="ExtremeGradient"),)


def _assume(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    """All at once, reading every input, as most operators' gradients do."""
    reads = tuple(("x", position) for position in range(len(inputs)))
    of = tuple(sorted(needed))
    return (GradientRule(of=of, reads=reads, operator="AssumedPointwiseGradient"),)


def _bits(number: int) -> int:
    """Return the logarithm of a number, rounded up."""
    return max(number - 1, 0).bit_length()


def _transform(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
    """5 n log n operations make n complex numbers: 5/2 log n each real one."""
    length = attributes.get("dft_length", attributes.get("frame_length"))
    if not isinstance(length, int):
        axis = integer(attributes, "axis", -2)
        length = inputs[0][axis] if -len(inputs[0]) <= axis < len(inputs[0]) else inputs[0][-1]
    return -(-5 * _bits(length) // 2)


GRADIENTS: dict[str, Gradients] = {
    "sum": _sum,
    "mean": _mean,
    "difference": _difference,
    "leaky": _leaky,
    "extreme": _extreme,
    "assumed": _assume,
}
"""Rules of gradients that no table can say, by name."""

FACTORS: dict[str, Factor] = {
    "once": lambda inputs, outputs, attributes: 1,
    "inputs after the first": lambda inputs, outputs, attributes: len(inputs) - 1,
    "inputs": lambda inputs, outputs, attributes: len(inputs),
    "results": lambda inputs, outputs, attributes: len(outputs),
    "kernel": lambda inputs, outputs, attributes: prod(integers(attributes, "kernel_shape")),
    # Square and sum over the window, then scale, add, power, divide.
    "norm": lambda inputs, outputs, attributes: 2 * integer(attributes, "size") + 4,
    "top": lambda inputs, outputs, attributes: 1 + _bits(integers(attributes, "k")[0]),
    "sorting": lambda inputs, outputs, attributes: 1 + _bits(prod(inputs[0])),
    "rows": lambda inputs, outputs, attributes: -(-2 * inputs[0][-1] // 3),
    "transform": _transform,
    # 8 operations for each bilinear sample, and the mean or maximum. With a sampling ratio of 0,
    # the default, ONNX takes a number of samples that depends on the data: 1 is counted.
    "samples": lambda inputs, outputs, attributes: (
        9 * max(1, integer(attributes, "sampling_ratio", 1)) ** 2
    ),
}
"""Factors of work, by name."""
