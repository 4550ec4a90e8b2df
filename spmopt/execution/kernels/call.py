"""Arguments of kernels, and functions that several kernels share."""

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
"""Factor of fractions before they are rounded to whole numbers; odd, so that no bit is lost."""
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
        Its operands. The old contents of an operand that is updated in place are none of them,
        except in optimizers.
    shapes
        Shapes of its results.
    micro_batches
        Number of micro-batches, of which this is one: it makes its share of a mean over the batch.
    whole_numbers
        All operands are whole numbers. Terms of sums must be whole, too, so that sums are equal in
        any order.
    dtypes
        Element types of the results; empty where they do not matter.
    whole
        Shapes of the operands of all micro-batches together; empty where there is one.
    of, given
        Gradients only: the position of the forward operand of each result, and the shapes of all
        forward operands; empty where they are not known.
    name
        Name of the node.
    above
        Gradients only: positions of the forward results whose gradients the first operands are.
    """

    operator: str
    attributes: Attributes
    inputs: Sequence[Array]
    shapes: Shapes
    micro_batches: int = 1
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
        """Return terms to be summed over micro-batches, as whole numbers if operands are."""
        return np.round(FRACTIONS * terms) if self.whole_numbers else terms

    def sum_up(self, terms: Array, place: int) -> Array:
        """Return the gradient of an operand that may have been broadcast."""
        shape = self.shapes[place]
        # Of the whole batch: in a micro-batch both may look alike.
        before, after = shape, terms.shape
        if self.of and self.given and self.whole:
            before, after = self.given[self.of[place]], self.whole[0]
        return sum_to(self.rounded(terms) if before != after else terms, shape)


NodeKernel = Callable[[Call], Sequence[Array]]
"""Computes the results of an operator, in the order of its outputs, in any type of numbers."""


def places_of(call: Call, reads: int) -> tuple[int, ...]:
    """Return the position of the forward operand of each result of a gradient.

    By default they are the first ``reads`` operands.
    """
    if call.of or len(call.shapes) == reads:
        return call.of or tuple(range(reads))
    raise NotImplementedError(f"{call.operator} does not say of which operands it is")


def sum_to(array: Array, shape: Shape) -> Array:
    """Return the sum over broadcast axes: the gradient of a broadcast operand."""
    # Nothing was broadcast; axes of length 1 may differ.
    if array.size == prod(shape):
        return array.reshape(shape)
    more = array.ndim - len(shape)
    padded = (1,) * more + tuple(shape)
    axes = tuple(k for k, size in enumerate(padded) if size == 1 and array.shape[k] != 1)
    found: Array = np.sum(array, axis=axes).reshape(shape)
    return found
