"""Rules of element-wise operators: each element of the result from the same place of the inputs.

The rules that others use by default are here, too. :mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from math import prod

from spmopt.graph.operators.attributes import broadcast_shape
from spmopt.graph.operators.spec import Attributes, Shapes
from spmopt.graph.operators.statements import align


def same_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0."""
    return (inputs[0],)


def broadcast_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape that all inputs broadcast to."""
    return (broadcast_shape(*inputs),)


def broadcast_of_two_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the shape that the first two inputs broadcast to."""
    return (broadcast_shape(*inputs[:2]),)


def elementwise_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Broadcast all operands; results that are smaller are sums. Operands that do not are whole."""
    largest = max((*inputs, *outputs), key=lambda shape: (prod(shape), len(shape)))
    reads = [align(f"x{k}", shape, largest) for k, shape in enumerate(inputs)]
    return "; ".join(
        f"{align(f'y{k}', shape, largest)} {'=' if shape == largest else '+='} "
        + " * ".join(reads or ["x0[...]"])
        for k, shape in enumerate(outputs)
    )


def masked_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the result, and a mask of its shape."""
    return (inputs[0], inputs[0])


def dynamic_quantization_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the integers, their scale, and their zero point."""
    return (inputs[0], (), ())


def dynamic_quantization_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Find the least and the largest of all; then round each."""
    return "m[()] max= x0[...]; y0[...] = x0[...] * m[()]; y1[()] = m[()]; y2[()] = m[()]"
