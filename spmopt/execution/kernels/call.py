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
FRACTIONS = 13
"""What fractions are multiplied by before they are rounded, so that they count: an odd number."""
WRAP = 8
"""With integer data results are residues: whole numbers from -8 to 7."""


def residue(array: Array) -> Array:
    """Return whole numbers from -8 to 7 that are the same modulo 16."""
    found: Array = np.mod(array + WRAP, 2 * WRAP) - WRAP
    return found


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
        It is one of so many micro-batches: of a mean over the batch it makes its share.
    whole_numbers
        All operands are whole numbers. What is summed up must be, too, so that the order of sums
        does not matter.
    dtypes
        Of the elements of the results; nothing where that does not matter.
    whole
        Shapes of the operands of all pieces; nothing where there is one.
    of, given
        Of a gradient: positions of the operands of its forward operator that results are gradients
        of, and the shapes of all of these operands; nothing where they are not known.
    name
        Of the node.
    above
        Of a gradient: positions of the forward results that the first operands are gradients of.
    """

    operator: str
    attributes: Attributes
    inputs: Sequence[Array]
    shapes: Shapes
    pieces: int = 1
    whole_numbers: bool = False
    dtypes: tuple[np.dtype[Any], ...] = ()
    whole: Shapes = ()
    of: tuple[int, ...] = ()
    given: Shapes = ()
    above: tuple[int, ...] = ()
    name: str = ""

    def axis(self, default: int = -1) -> int:
        """Return the attribute ``axis``, counted from the front of the first operand."""
        return position(integer(self.attributes, "axis", default), self.inputs[0].ndim)

    def rounded(self, terms: Array) -> Array:
        """Return what is to be summed up over pieces: of whole numbers, whole numbers again."""
        return np.round(FRACTIONS * terms) if self.whole_numbers else terms

    def sum_up(self, terms: Array, place: int) -> Array:
        """Return a gradient of an operand that broadcasting may have repeated."""
        shape = self.shapes[place]
        before, after = shape, terms.shape
        if self.of and self.given and self.whole:
            before, after = self.given[self.of[place]], self.whole[0]
        return sum_to(self.rounded(terms) if before != after else terms, shape)


NodeKernel = Callable[[Call], Sequence[Array]]
"""Computes the results of an operator, in the order of its outputs, in any type of numbers."""


def places_of(call: Call, reads: int) -> tuple[int, ...]:
    """Return the positions of the forward operands that the results of a gradient are of.

    Where nothing says so they are the first ones, of ``reads`` in all.
    """
    if call.of or len(call.shapes) == reads:
        return call.of or tuple(range(reads))
    raise NotImplementedError(f"{call.operator} does not say of which operands it is")


def sum_to(array: Array, shape: Shape) -> Array:
    """Return the sum over what broadcasting has repeated: the gradient of a broadcast operand."""
    if array.size == prod(shape):
        return array.reshape(shape)
    more = array.ndim - len(shape)
    padded = (1,) * more + tuple(shape)
    axes = tuple(k for k, size in enumerate(padded) if size == 1 and array.shape[k] != 1)
    found: Array = np.sum(array, axis=axes).reshape(shape)
    return found
