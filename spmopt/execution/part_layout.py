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
from spmopt.graph.tile_axes import tile_axes

_Place = tuple[slice, ...]
_Axes = tuple[int | None, ...]
_View = tuple[tuple[int, ...], _Axes, int | None]
"""A shape, and the axes of it along which there are fusion tiles, and that are rows."""


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
        parts = Parts(tileable, fusion_plan, stripes)
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
        self._axes: list[_Axes] = [(None,) * len(tileable.axes)] * count
        self._values = [values[root] for root in self.roots]
        self._owner, self._places = list[int](), list[_Place]()
        # Views matter only where some tensor is in parts.
        views_of = self._views(low, tileable) if parts.several else {}
        for tensor in range(count):
            for place in self._cut(parts, tensor, views_of.get(tensor, [])):
                self._owner.append(tensor)
                self._places.append(place)
        self._first = parts.first
        types = [dtype_of(value) if value.type.bits >= 8 else None for value in self._values]
        self.dtypes = [types[tensor] for tensor in self._owner]

    def _views(self, low: Mapper, tileable: TileableGraph) -> dict[int, list[_View]]:
        """Return shape, axes of tiles and row axis of the views of each tensor in memory order."""
        axes = LinkedAxes(low.graph)
        rows, named = RowAxes(axes), {each.name: each for each in tile_axes(axes)}
        every = [named[each.along] for each in tileable.axes]
        turned = set[int]()
        for node in low.graph.nodes:
            # Transposed elements have another order in memory than their tensor.
            if node.operator.startswith("StridedView") or turned.intersection(node.inputs):
                turned.update(node.outputs if is_view(node) else ())
        found: dict[int, list[_View]] = {}
        for value, tensor in low.tensor_of.items():
            if value not in turned:
                shape = low.graph.values[value].shape
                along = tuple(each.axis(axes, value) for each in every)
                found.setdefault(tensor, []).append((shape, along, rows.axis(value)))
        return found

    def _cut(self, parts: Parts, tensor: int, views: Sequence[_View]) -> list[_Place]:
        """Return the slices of each part of a tensor, in order."""
        counts, rows = parts.counts[tensor], parts.rows[tensor]
        if max(counts) == 1 and not rows:
            return [(slice(None),) * len(self._shapes[tensor])]
        for shape, axes, row in views:
            shown = zip(counts, axes, strict=True)
            if all(count == 1 or axis is not None for count, axis in shown) and (
                not rows or (row is not None and shape[row] == rows[-1])
            ):
                break
        else:
            raise InputError(
                f"kernels: tensor {parts.whole[tensor].name} is in parts, but no value shows along "
                "which axes; use kernels hash"
            )
        self._laid[tensor], self._axes[tensor] = shape, axes
        found = []
        for shares in parts.shares(tensor):
            place = [slice(None)] * len(shape)
            for axis, share, count in zip(axes, shares, counts, strict=True):
                if axis is not None and count > 1:
                    size = shape[axis] // count
                    place[axis] = slice(share * size, (share + 1) * size)
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
        value, shape = self._values[tensor], self._laid[tensor]
        along = self._axes[tensor][origin.axis]
        if axis is not None and along is not None:
            size = shape[along] // origin.micro_batches
            low, high, _ = place[along].indices(shape[along])
            # The result is a share itself: places count from its own beginning.
            place[along] = slice(low - origin.fusion_tile * size, high - origin.fusion_tile * size)
            shape = (*shape[:along], size, *shape[along + 1 :])
        if result.size != prod(shape):
            raise InputError(
                f"kernels: {value.name} has {result.size:,} elements where the graph has "
                f"{prod(shape):,}; the attributes of its node do not suit its shapes"
            )
        return bytes_of(result.reshape(shape)[tuple(place)], value)
