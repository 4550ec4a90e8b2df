"""Tensors of torch that are another tensor seen in another order or broadcast.

``permute`` and ``expand`` move nothing in torch. Here a tensor is its elements in order, and
another order is a copy (``Transpose``), as in ONNX. So an order is kept as long as it can be:
further views turn it on, products take their operands transposed, and what is point-wise works in
the order that its operands are in. Only what needs the elements in order makes the copy, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from spmopt.graph.operators.spec import Shape


@dataclass(frozen=True, slots=True)
class Arranged:
    """A tensor of shape ``shape``: axis i is axis ``order[i]`` of value ``base``, broadcast."""

    base: int
    order: tuple[int, ...]
    shape: Shape

    @property
    def is_in_order(self) -> bool:
        """Whether axes are those of the value, perhaps broadcast."""
        return self.order == tuple(range(len(self.order)))

    def permuted(self, order: Sequence[int]) -> Arranged:
        """Return it with axis i in place of what was axis ``order[i]``."""
        return Arranged(
            self.base,
            tuple(self.order[axis] for axis in order),
            tuple(self.shape[axis] for axis in order),
        )

    def seen(self, shape: Shape) -> Shape:
        """Return the shape before broadcasting of a value of ``shape``."""
        return tuple(shape[axis] for axis in self.order)


def plain(base: int, shape: Shape) -> Arranged:
    """Return a value as it is."""
    return Arranged(base, tuple(range(len(shape))), shape)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the order that undoes another."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def is_view(order: Sequence[int], shape: Shape) -> bool:
    """Return whether a tensor of ``shape`` in another order of axes has its elements in order."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def without_ones(tensor: Arranged, shape: Shape, wanted: Shape) -> tuple[Shape, Arranged] | None:
    """Return ``tensor`` in the shape ``wanted``, where only axes of one element come or go.

    Parameters
    ----------
    tensor
        What is seen of a value of ``shape``.
    shape
        Of the value.
    wanted
        The new shape.

    Returns
    -------
    tuple
        The shape to which the value is to be reshaped, a view, and how that is seen. None where
        ``wanted`` has other axes.
    """
    kept = [axis for axis, size in zip(tensor.order, tensor.shape, strict=True) if size != 1]
    if [size for size in tensor.shape if size != 1] != [size for size in wanted if size != 1]:
        return None
    ones = sum(size == 1 for size in wanted)
    place = {axis: ones + k for k, axis in enumerate(sorted(kept))}
    reshaped = (*(1,) * ones, *(shape[axis] for axis in sorted(kept)))
    first, rest = iter(range(ones)), iter(kept)
    order = tuple(next(first) if size == 1 else place[next(rest)] for size in wanted)
    return reshaped, Arranged(tensor.base, order, wanted)


def merged(tensor: Arranged, shape: Shape, wanted: Shape) -> tuple[Shape, Arranged] | None:
    """Return ``tensor`` in the shape ``wanted``, where axes before the last two become others.

    As :func:`without_ones`. None where the last two axes are not those of the value in the one
    order or the other, or do not stay.
    """
    rank = len(shape)
    leads = tuple(range(rank - 2))
    turned = tensor.order == (*leads, rank - 1, rank - 2)
    if rank < 3 or not (turned or tensor.is_in_order) or tensor.seen(shape) != tensor.shape:
        return None
    if len(wanted) < 2 or wanted[-2:] != tensor.shape[-2:]:
        return None
    if prod(wanted[:-2]) != prod(shape[:-2]):
        return None
    new = tuple(range(len(wanted) - 2))
    last = (len(wanted) - 1, len(wanted) - 2) if turned else (len(wanted) - 2, len(wanted) - 1)
    return (*wanted[:-2], *shape[-2:]), Arranged(tensor.base, (*new, *last), wanted)
