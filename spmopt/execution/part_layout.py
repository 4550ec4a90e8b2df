"""Parts of tensors as arrays, by their place in the whole tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusionPlan, Origin
from spmopt.core.fusion.parts import Parts
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.execution.kernels.call import Array
from spmopt.execution.memory import POISON, Bytes
from spmopt.execution.values import array_of, bytes_of, dtype_of, is_view
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.lower import Mapper
from spmopt.graph.rows import RowAxes

_Place = tuple[slice, ...]
_View = tuple[tuple[int, ...], int | None, int | None]
"""A shape, and the axes of it that are the batch and rows."""


class PartLayout:
    """The parts of the tensors of a fusion plan.

    Attributes
    ----------
    roots
        Value of each whole tensor that others are views of.
    dtypes
        Element type of each part; None for packed elements of less than a byte.
    """

    def __init__(self, low: Mapper, tileable: TileableGraph, fusion_plan: FusionPlan) -> None:
        stripes = [tileable.boundaries(each) if each.stripes > 1 else [] for each in fusion_plan]
        parts = Parts(
            tileable.tensors, tileable.operations, fusion_plan, stripes, tileable.stripe_mappings
        )
        values, count = low.graph.values, len(tileable.tensors)
        views = {node.outputs[0] for node in low.graph.nodes if is_view(node)}
        first = {tensor: v for v, tensor in low.tensor_of.items() if v not in views}
        # A tensor of views alone has no value to take its type and shape from.
        if len(first) < count:
            missing = next(t for t in range(count) if t not in first)
            name = tileable.tensors[missing].name
            raise InputError(f"kernels: tensor {name} is made by views alone")
        self.roots = [first[tensor] for tensor in range(count)]
        self._shapes = [values[root].shape for root in self.roots]
        self._laid = list(self._shapes)  # as those of its views that show its parts see it
        self._batch: list[int | None] = [None] * count
        self._values = [values[root] for root in self.roots]
        self._owner, self._places = list[int](), list[_Place]()
        # Views matter only where some tensor is in parts.
        views_of = self._views(low) if max(parts.count) > 1 or any(parts.rows) else {}
        for tensor in range(count):
            for place in self._cut(parts, tensor, views_of.get(tensor, [])):
                self._owner.append(tensor)
                self._places.append(place)
        self._first = parts.first
        types = [dtype_of(value) if value.type.bits >= 8 else None for value in self._values]
        self.dtypes = [types[tensor] for tensor in self._owner]

    def _views(self, low: Mapper) -> dict[int, list[_View]]:
        """Return shape, batch axis and row axis of the views of each tensor in memory order."""
        axes = LinkedAxes(low.graph)
        rows = RowAxes(axes)
        turned = set[int]()
        for node in low.graph.nodes:
            # Transposed elements have another order in memory than their tensor.
            if node.operator.startswith("StridedView") or turned.intersection(node.inputs):
                turned.update(node.outputs if is_view(node) else ())
        found: dict[int, list[_View]] = {}
        for value, tensor in low.tensor_of.items():
            if value not in turned:
                shape = low.graph.values[value].shape
                view = (shape, axes.axis(value, axes.batch), rows.axis(value))
                found.setdefault(tensor, []).append(view)
        return found

    def _cut(self, parts: Parts, tensor: int, views: Sequence[_View]) -> list[_Place]:
        """Return the slices of each part of a tensor, in order."""
        count, rows = parts.count[tensor], parts.rows[tensor]
        if count == 1 and not rows:
            return [(slice(None),) * len(self._shapes[tensor])]
        for shape, batch, row in views:
            if (count == 1 or batch is not None) and (
                not rows or (row is not None and shape[row] == rows[-1])
            ):
                break
        else:
            raise InputError(
                f"kernels: tensor {parts.whole[tensor].name} is in parts, but no value shows along "
                "which axes; use kernels hash"
            )
        self._laid[tensor], self._batch[tensor] = shape, batch
        found = []
        for part in range(count):
            place = [slice(None)] * len(shape)
            if batch is not None and count > 1:
                size = shape[batch] // count
                place[batch] = slice(part * size, (part + 1) * size)
            for low, high in pairwise(rows) if rows else [(0, 0)]:
                if row is not None and rows:
                    place[row] = slice(low, high)
                found.append(tuple(place))
        return found

    def tensor_of(self, part: int) -> int:
        """Return the tensor that a part is of."""
        return self._owner[part]

    def array(self, tensor: int, content: Bytes) -> Array:
        """Return all of a tensor as an array."""
        shape = self._shapes[tensor]
        return array_of(content, self._values[tensor], prod(shape)).reshape(shape)

    def cut(self, arrays: Sequence[Array | None]) -> list[Bytes | None]:
        """Return the bytes of all parts; None for absent tensors."""
        found = list[Bytes | None]()
        for tensor, place in zip(self._owner, self._places, strict=True):
            array = arrays[tensor]
            laid = None if array is None else array.reshape(self._laid[tensor])
            value = self._values[tensor]
            found.append(None if laid is None else bytes_of(laid[place], value))
        return found

    def join(self, parts: Mapping[int, Bytes]) -> dict[int, Array]:
        """Return arrays of whole tensors, poison where no part is given."""
        found: dict[int, Array] = {}
        for part, content in parts.items():
            tensor = self._owner[part]
            value = self._values[tensor]
            # A tensor in one part needs no array around it.
            if self._first[tensor + 1] - self._first[tensor] == 1:
                found[tensor] = self.array(tensor, content)
                continue
            if tensor not in found:
                size = value.size_bytes
                found[tensor] = self.array(tensor, np.full(size, POISON, np.uint8))
            there = found[tensor].reshape(self._laid[tensor])[self._places[part]]
            there[...] = array_of(content, value, there.size).reshape(there.shape)
        return found

    def part(self, part: int, result: Array, axis: int | None, origin: Origin) -> Bytes:
        """Return a part of a result, which is whole or the share of a micro-batch along an axis.

        Raises
        ------
        InputError
            It has not as many elements: attributes in a file may not suit its shapes.
        """
        tensor, place = self._owner[part], list(self._places[part])
        value, shape, batch = self._values[tensor], self._laid[tensor], self._batch[tensor]
        if axis is not None and batch is not None:
            size = shape[batch] // origin.micro_batches
            low, high, _ = place[batch].indices(shape[batch])
            # The result is a share itself: places count from its own beginning.
            place[batch] = slice(low - origin.fusion_tile * size, high - origin.fusion_tile * size)
            shape = (*shape[:batch], size, *shape[batch + 1 :])
        if result.size != prod(shape):
            raise InputError(
                f"kernels: {value.name} has {result.size:,} elements where the graph has "
                f"{prod(shape):,}; the attributes of its node do not suit its shapes"
            )
        return bytes_of(result.reshape(shape)[tuple(place)], value)
