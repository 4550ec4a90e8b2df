"""Operations of a lowered graph computed by kernels of their operators, whole or in pieces.

A piece gets the parts of tensors that it names, each laid where it belongs in an array of the whole
tensor that is poison elsewhere. Of that the kernel sees the piece's share of the batch; of a band
of rows it computes all rows, most of them of poison, and the band is what is kept. So a row that a
band needs and does not name shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.graph import Node
from spmopt.core.pieces.listing import Listing, whole
from spmopt.core.pieces.segments import Cover, Origin
from spmopt.execution.kernels import Call, kernel_of
from spmopt.execution.kernels.call import Array, NodeKernel
from spmopt.execution.kernels.folded import plain_operands, scaled
from spmopt.execution.kernels.reductions import COMBINED
from spmopt.execution.kernels.training import UPDATES
from spmopt.execution.lineage import Lineage
from spmopt.execution.memory import Bytes
from spmopt.execution.part_layout import PartLayout
from spmopt.execution.values import WRAP, dtype_of, initial_values, is_view, seen, wrapped
from spmopt.graph.axes import LinkedAxes, NodeCut
from spmopt.graph.lower import Lowering

_UNFIT = ArithmeticError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError
"""What kernels raise of attributes and operands that they do not know."""
_LONGEST = 200
"""Letters of what such an error says."""
_STATISTICS = "BatchNormalizationStatistics"
_GONE = np.empty(0, np.uint8)
_EXACT = (_STATISTICS,)
"""Operators whose results are shares of means: not wrapped, for they are not whole."""
_BY_PLACE = (
    *("RotaryEmbedding", "RotaryEmbeddingGradient", "DropoutTraining"),
    *("MaxPoolIndices", "MaxPoolIndicesGradient", "MaxPoolIndexGradient"),
)
"""Operators that treat an element by where it stands: computed whole, of which a piece is cut."""


class GraphKernel:
    """Computes the operations of a cover of a listing; see :data:`.executor.Kernel`.

    Parameters
    ----------
    listing
        Of a graph.
    cover
        Its segments; by default whole operations.
    data
        ``integer`` or ``normal``.

    Raises
    ------
    InputError
        An operator has no kernel: the line names it; or numbers of a type that numpy lacks.
    """

    def __init__(self, listing: Listing, cover: Cover | None = None, data: str = "integer") -> None:
        assert listing.graph is not None
        low = Lowering(listing.graph, listing.machine, listing.lowering)
        self.graph, self._data, self._low = low.graph, data, low
        self.instance, self._origins = listing.instance(cover or whole(listing))
        self._nodes = [_renamed(node, low) for node in low.nodes]
        self._kernels = _kernels(self._nodes)
        self._origins_of = list(map(Lineage(self.graph).of, self._nodes))
        self._views = {node.outputs[0]: node for node in self.graph.nodes if is_view(node)}
        self._layout = PartLayout(low, listing, cover or whole(listing))
        self._require_whole_classes()

    @cached_property
    def _cuts(self) -> list[NodeCut | None]:
        axes = LinkedAxes(self.graph)
        return [axes.cut(node, axes.batch) for node in self._low.nodes]

    def _require_whole_classes(self) -> None:
        """Refuse pieces of the gradient that training begins at, a softmax, along its classes."""
        for origin in self._origins:
            node = self._nodes[origin.operation]
            cut = self._cuts[origin.operation] if origin.pieces > 1 else None
            rank = len(self.graph.values[node.outputs[0]].shape)
            if node.operator == "LossGradient" and cut and cut.outputs[0] == rank - 1:
                raise InputError(
                    f"kernels: LossGradient ({node.name}) is cut along its classes; use kernels "
                    "hash, or pieces of the batch"
                )

    @property
    def dtypes(self) -> list[np.dtype[Any] | None]:
        """Types of the elements of the instance's tensors; None of what is packed."""
        return self._layout.dtypes

    @property
    def roots(self) -> Sequence[int]:
        """Values that the tensors of whole operations are."""
        return self._layout.roots

    def contents(self, seed: int) -> list[Bytes | None]:
        """Return bytes of each of the instance's tensors at the start, None of those not there."""
        values = initial_values(self.graph, self._data, seed)
        given: list[Array | None] = [values.get(root) for root in self._layout.roots]
        parts = self._layout.cut(given)
        return [
            each if tensor.in_dram else None
            for each, tensor in zip(parts, self.instance.tensors, strict=True)
        ]

    def cut(self, tensors: Sequence[Bytes]) -> list[Bytes]:
        """Return the parts of whole tensors, as those of the instance; nothing of what is gone."""
        arrays = [
            self._layout.array(t, each) if each.size else None for t, each in enumerate(tensors)
        ]
        return [_GONE if each is None else each for each in self._layout.cut(arrays)]

    def __call__(self, index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        """Compute an operation of the instance."""
        operation, origin = self.instance.operations[index], self._origins[index]
        node, used = self._nodes[origin.operation], self._low.used[origin.operation]
        given = self._layout.joined(dict(zip(operation.reads, operands, strict=True)))
        cut = self._cuts[origin.operation] if origin.pieces > 1 else None
        old = {v: given[t] for v, t in zip(node.outputs, used.outputs, strict=True) if t in given}
        inputs = []
        for place, (value, tensor) in enumerate(zip(node.inputs, used.inputs, strict=True)):
            if value not in old or node.operator in UPDATES:
                array = self._seen(value, given[tensor])
                axis = cut.inputs[place] if cut and node.operator not in _BY_PLACE else None
                inputs.append(_widened(_share(array, axis, origin)))
        axes = cut.outputs if cut else (None,) * len(node.outputs)
        inputs, scales = plain_operands(node.operator, inputs)
        by_place = node.operator in _BY_PLACE
        call = self._call(node, inputs, (None,) * len(axes) if by_place else axes, origin)
        results = _computed(self._kernels[origin.operation], call, node)
        results = [scaled(node.operator, each, scales) for each in results]
        if by_place:
            results = [_share(each, axis, origin) for each, axis in zip(results, axes, strict=True)]
        made = {}
        for place, result in enumerate(results):
            before = None if node.operator in UPDATES else old.get(node.outputs[place])
            if before is not None:
                before = _widened(_share(before, axes[place], origin))
            found = self._result(call, place, result, before)
            made[used.outputs[place]] = found, axes[place]
        return [
            self._layout.part(tensor, *made[self._layout.tensor_of(tensor)], origin)
            for tensor in operation.writes
        ]

    def _call(
        self, node: Node, inputs: Sequence[Array], axes: Sequence[int | None], origin: Origin
    ) -> Call:
        values = self.graph.values
        line = self._origins_of[origin.operation]
        shapes = [values[v].shape for v in node.outputs]
        return Call(
            operator=node.operator,
            attributes=node.attributes,
            inputs=inputs,
            shapes=tuple(
                shape
                if axis is None
                else (*shape[:axis], shape[axis] // origin.pieces, *shape[axis + 1 :])
                for shape, axis in zip(shapes, axes, strict=True)
            ),
            pieces=origin.pieces,
            whole_numbers=self._data == "integer",
            name=node.name,
            dtypes=tuple(dtype_of(values[v]) for v in node.outputs),
            whole=tuple(values[v].shape for v in node.inputs),
            of=line.of,
            given=line.given,
            above=line.above,
        )

    def _result(self, call: Call, place: int, result: Array, before: Array | None) -> Array:
        """Add what a piece or a reader before has left there, and wrap whole numbers."""
        found = np.asarray(result)
        combine = COMBINED.get(call.operator)
        if combine is not None:
            return found if before is None else combine(before, found)
        if self._data == "integer" and found.dtype.kind == "f" and call.operator not in _EXACT:
            scale = found.shape[call.axis()] if call.operator == "Softmax" else 1
            found = wrapped(found, call.inputs, before, scale=scale)
            return np.mod(found, 2 * WRAP) if call.dtypes[place].kind == "u" else found
        return found if before is None else before + found

    def _seen(self, value: int, array: Array) -> Array:
        """Return what a value, perhaps a view of views, is of the array of its tensor."""
        node = self._views.get(value)
        if node is None:
            return array
        source = self._seen(node.inputs[0], array)
        return seen(node, source, self.graph.values[value].shape)


def _renamed(node: Node, low: Lowering) -> Node:
    """Return a node under the name of its kernel: one of other operands goes by another."""
    if node.operator == "BatchNormalization":
        made = {v: each.operator for each in low.nodes for v in each.outputs}
        if made.get(node.inputs[3]) == _STATISTICS:
            return replace(node, operator="BatchNormalizationOfStatistics")
    return node


def _kernels(nodes: Sequence[Node]) -> list[NodeKernel]:
    found, lacking = list[NodeKernel](), dict[str, str]()
    for node in nodes:
        kernel = kernel_of(node)
        if kernel is None:
            lacking.setdefault(node.operator, node.name)
        else:
            found.append(kernel)
    if lacking:
        names = ", ".join(f"{operator} ({name})" for operator, name in lacking.items())
        raise InputError(
            f"kernels: none for {names}; use kernels hash, or give one by register_kernel"
        )
    return found


def _computed(kernel: NodeKernel, call: Call, node: Node) -> Sequence[Array]:
    """Compute an operator; what its kernel cannot do is an error of the input."""
    try:
        with np.errstate(all="ignore"):
            return kernel(call)
    except _UNFIT as error:
        why = " ".join(str(error).split()) or type(error).__name__
        why = why.split(". ")[0][:_LONGEST]
        raise InputError(
            f"kernels: {node.operator} ({node.name}) cannot be computed so: {why}; use kernels hash"
        ) from error


def _share(array: Array, axis: int | None, origin: Origin) -> Array:
    """Return a piece's share of a whole array along an axis."""
    if axis is None:
        return array
    size = array.shape[axis] // origin.pieces
    inner = slice(origin.piece * size, (origin.piece + 1) * size)
    return array[(slice(None),) * axis + (inner,)]


def _widened(array: Array) -> Array:
    """Return numbers narrower than 32 bits in fp32, as sums of them are kept."""
    narrow = array.dtype.itemsize < 4 and array.dtype.kind not in "iub"
    return array.astype(np.float32) if narrow else array
