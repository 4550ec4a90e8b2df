"""What a kernel is given, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spmopt.graph.operators.attributes import integer, position
from spmopt.graph.operators.spec import Attributes, Shape, Shapes

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operator on its operands.

    Attributes
    ----------
    operator, attributes
        As in a node of a graph.
    inputs
        Its operands; of one that is updated in place the old contents are none of them, but for
        what an optimizer updates.
    shapes
        Of its results.
    pieces
        It is one of so many pieces of the batch: of a mean over the batch it makes its share.
    whole_numbers
        All operands are whole numbers. What is summed up must be, too, so that the order of sums
        does not matter.
    """

    operator: str
    attributes: Attributes
    inputs: Sequence[Array]
    shapes: Shapes
    pieces: int = 1
    whole_numbers: bool = False

    def axis(self, default: int = -1) -> int:
        """Return the attribute ``axis``, counted from the front of the first operand."""
        return position(integer(self.attributes, "axis", default), self.inputs[0].ndim)


NodeKernel = Callable[[Call], Sequence[Array]]
"""Computes the results of an operator, in the order of its outputs, in any type of numbers."""


def summed_to(array: Array, shape: Shape) -> Array:
    """Return the sum over what broadcasting has repeated: the gradient of a broadcast operand."""
    if array.size == prod(shape):
        return array.reshape(shape)
    more = array.ndim - len(shape)
    padded = (1,) * more + tuple(shape)
    axes = tuple(k for k, size in enumerate(padded) if size == 1 and array.shape[k] != 1)
    found: Array = np.sum(array, axis=axes).reshape(shape)
    return found
