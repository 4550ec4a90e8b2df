"""Operations of a graph computed by kernels of their operators, whole or in fusion tiles.

A fusion tile gets the parts of tensors that it names, each at its place in an array of the whole
tensor that is poison elsewhere. The kernel sees the tile's share of the batch. Of a stripe it
computes all rows, most of them of poison, and the rows of the stripe are kept. So a row that a
stripe needs and does not name shows as poison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusionPlan, Origin
from spmopt.core.fusion.tileable_graph import TileableGraph, whole
from spmopt.core.graph import Node
from spmopt.core.problem import TensorKind
from spmopt.execution.kernels import Call, kernel_of
from spmopt.execution.kernels.call import WRAP, Array, NodeKernel
from spmopt.execution.kernels.folded import plain_operands, scale
from spmopt.execution.kernels.reductions import COMBINED, COMBINED_WHOLE
from spmopt.execution.lineage import Lineage
from spmopt.execution.memory import Bytes
from spmopt.execution.part_layout import PartLayout
from spmopt.execution.values import dtype_of, initial_values, inspect, is_view, wrap
from spmopt.graph.axes import LinkedAxes, NodeCut
from spmopt.graph.lower import Mapper
from spmopt.graph.tile_axes import tile_axes

UNFIT = ArithmeticError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError
"""Errors that kernels raise for attributes and operands that they do not know."""
_LONGEST = 200
"""Most letters of the text of such an error in a message."""
_STATISTICS = "BatchNormalizationStatistics"
_GONE = np.empty(0, np.uint8)
EXACT = (_STATISTICS,)
"""Operators whose results are shares of means: not wrapped, as they are no whole numbers."""
_BY_PLACE = (
    *("RotaryEmbedding", "RotaryEmbeddingGradient", "DropoutTraining", "DeformConv"),
    *("EyeLike", "Trilu", "TriluGradient", "RandomNormalLike", "RandomUniformLike"),
    *("Bernoulli", "Multinomial"),
)
"""Operators whose result depends on the place of an element: computed whole, then cut."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Operator, operands and fusion tile of one operation of a fusion plan.

    Attributes
    ----------
    node
        Its operator, under the name of its kernel, and values.
    inputs, outputs
        Whole tensor of each value.
    origin
        Its fusion tile.
    operands
        Positions of the inputs that the kernel gets. Old contents that a gradient is added to are
        added to the result instead.
    old
        The outputs that have old contents.
    input_axes, output_axes
        Axes along which a micro-batch is cut; None where it has all.
    by_place
        The kernel computes whole results, from which the share is cut.
    """

    node: Node
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    origin: Origin
    operands: tuple[int, ...]
    old: frozenset[int]
    input_axes: tuple[int | None, ...]
    output_axes: tuple[int | None, ...]
    by_place: bool

    def share(self, array: Array, axis: int | None) -> Array:
        """Return its share of a whole array along an axis."""
        if axis is None:
            return array
        size = array.shape[axis] // self.origin.micro_batches
        inner = slice(self.origin.fusion_tile * size, (self.origin.fusion_tile + 1) * size)
        return array[(slice(None),) * axis + (inner,)]


class GraphKernel:
    """Computes the operations of a fusion plan of a tileable graph; see :data:`.executor.Kernel`.

    Parameters
    ----------
    tileable
        Tileable graph, with its graph.
    fusion_plan
        Fused groups; by default whole operations.
    data
        ``integer`` or ``normal``.

    Raises
    ------
    InputError
        An operator has no kernel: the line names it; or numbers of a type that numpy lacks.
    """

    def __init__(
        self, tileable: TileableGraph, fusion_plan: FusionPlan | None = None, data: str = "integer"
    ) -> None:
        assert tileable.graph is not None
        low = Mapper(tileable.graph, tileable.machine, tileable.mapper)
        self.graph, self._low = low.graph, low
        self._data, self.whole_numbers = data, data == "integer"
        self._along = [each.along for each in tileable.axes]
        self.problem, self._origins = tileable.problem(fusion_plan or whole(tileable))
        self._nodes = [_rename(node, low) for node in low.nodes]
        self._kernels = _kernels(self._nodes)
        self._origins_of = list(map(Lineage(self.graph).of, self._nodes))
        self.views = {node.outputs[0]: node for node in self.graph.nodes if is_view(node)}
        # Parts of tensors by the fusion plan, which operations name.
        self.layout = PartLayout(low, tileable, fusion_plan or whole(tileable))

    @cached_property
    def _axes(self) -> LinkedAxes:
        return LinkedAxes(self.graph)

    @cached_property
    def _cuts(self) -> list[list[NodeCut | None]]:
        """How nodes are cut, by axis."""
        named = {each.name: each for each in tile_axes(self._axes)}
        every = [[named[name].cut(self._axes, n) for n in self._low.nodes] for name in self._along]
        return [[None if each is None else each[0] for each in cuts] for cuts in every]

    @property
    def dtypes(self) -> list[np.dtype[Any] | None]:
        """Element types of the problem's tensors; None for packed elements."""
        return self.layout.dtypes

    @property
    def roots(self) -> Sequence[int]:
        """Value of each tensor of whole operations."""
        return self.layout.roots

    def contents(self, seed: int) -> list[Bytes | None]:
        """Return bytes of each of the problem's tensors at the start, None of those not there."""
        values = initial_values(self.graph, self._data, seed)
        given: list[Array | None] = [values.get(root) for root in self.layout.roots]
        parts = self.layout.cut(given)
        return [
            each if tensor.in_dram else None
            for each, tensor in zip(parts, self.problem.tensors, strict=True)
        ]

    def cut(self, tensors: Sequence[Bytes]) -> list[Bytes]:
        """Return the problem's tensors as parts of whole ones; empty for dropped contents."""
        arrays = [
            self.layout.array(t, each) if each.size else None for t, each in enumerate(tensors)
        ]
        return [_GONE if each is None else each for each in self.layout.cut(arrays)]

    def task(self, index: int) -> Task:
        """Return the task of an operation of the problem."""
        operation, origin = self.problem.operations[index], self._origins[index]
        node, used = self._nodes[origin.operation], self._low.used[origin.operation]
        several = origin.micro_batches > 1
        cut = self._cuts[origin.axis][origin.operation] if several else None
        # Without a cut operand only the place of the result says which share is meant.
        placed = node.operator in _BY_PLACE or "causal" in node.attributes
        by_place = cut is not None and (placed or not any_axis(cut.inputs))
        # An output that is read too is a partial sum, or is updated in place.
        there = {*map(self.layout.tensor_of, operation.reads)}
        old = {v for v, t in zip(node.outputs, used.outputs, strict=True) if t in there}
        # Old contents that its own statements read are an operand like others; but no gradient of a
        # weight, to which another one is added. Point-wise statements name all that is given.
        statements = self._axes.nest(self._low.nodes[origin.operation]).statements
        read = {access.tensor for each in statements for access in each.reads}
        own = {v for at, v in enumerate(node.inputs) if f"x{at}" in read}
        if node.operator.endswith("Gradient"):
            values = self.graph.values
            own = {v for v in own if values[v].kind is not TensorKind.WEIGHT_GRADIENT}
        added = frozenset(old - own)
        uncut = (None,) * len(node.inputs)
        return Task(
            node=node,
            inputs=tuple(used.inputs),
            outputs=tuple(used.outputs),
            origin=origin,
            operands=tuple(at for at, v in enumerate(node.inputs) if v not in added),
            old=added,
            input_axes=cut.inputs if cut and not by_place else uncut,
            output_axes=cut.outputs if cut else (None,) * len(node.outputs),
            by_place=by_place,
        )

    def __call__(self, index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        """Compute an operation of the problem."""
        operation, task = self.problem.operations[index], self.task(index)
        given = self.layout.join(dict(zip(operation.reads, operands, strict=True)))
        inputs, scales = plain_operands(
            task.node.operator, [self._operand(task, at, given) for at in task.operands]
        )
        call = self.call(task, inputs)
        results = _compute(self._kernels[task.origin.operation], call, task.node)
        made = {}
        for place, result in enumerate(results):
            tensor, axis = task.outputs[place], task.output_axes[place]
            before = None
            if task.node.outputs[place] in task.old:
                before = self._widen(task.share(given[tensor], axis))
            # Scales of folded conversions multiply results, not operands.
            found = scale(task.node.operator, result, scales)
            if task.by_place:
                found = task.share(found, axis)
            made[tensor] = self._result(task, call, place, found, before), axis
        return [
            self.layout.part(tensor, *made[self.layout.tensor_of(tensor)], task.origin)
            for tensor in operation.writes
        ]

    def _operand(self, task: Task, at: int, given: Mapping[int, Array]) -> Array:
        array = self._seen(task.node.inputs[at], given[task.inputs[at]])
        return self._widen(task.share(array, task.input_axes[at]))

    def call(self, task: Task, inputs: Sequence[Array]) -> Call:
        """Return the arguments of the kernel of a task."""
        values, node, count = self.graph.values, task.node, task.origin.micro_batches
        line = self._origins_of[task.origin.operation]
        shapes = [values[v].shape for v in node.outputs]
        axes = (None,) * len(shapes) if task.by_place else task.output_axes
        return Call(
            operator=node.operator,
            attributes=node.attributes,
            inputs=inputs,
            shapes=tuple(
                shape if axis is None else (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])
                for shape, axis in zip(shapes, axes, strict=True)
            ),
            micro_batches=count,
            whole_numbers=self.whole_numbers,
            name=node.name,
            dtypes=tuple(dtype_of(values[v]) for v in node.outputs),
            whole=tuple(values[v].shape for v in node.inputs),
            of=line.of,
            given=line.given,
            above=line.above,
        )

    def _result(
        self, task: Task, call: Call, place: int, result: Array, before: Array | None
    ) -> Array:
        """Add the sum of earlier tiles or readers, and wrap whole numbers."""
        found = np.asarray(result)
        # Maxima and products are not added up over tiles.
        combine = (COMBINED_WHOLE if self.whole_numbers else COMBINED).get(call.operator)
        if combine is not None:
            return found if before is None else combine(before, found)
        if self.whole_numbers and found.dtype.kind == "f" and call.operator not in EXACT:
            banded = task.origin.rows is not None and not task.by_place
            plain = banded and self._is_elementwise(task.origin.operation)
            scale = wrapping_scale(call)
            found = wrap(found, call.inputs, before, scale=scale, elementwise=plain)
            # Unsigned types have no negative residues.
            return np.mod(found, 2 * WRAP) if call.dtypes[place].kind == "u" else found
        return found if before is None else before + found

    def _is_elementwise(self, operation: int) -> bool:
        """Return whether each element of a result depends on the same place of operands alone."""
        for each in self._axes.nest(self._low.nodes[operation]).statements:
            target = [index and index.loop for index in each.target.axes]
            for access in each.reads:
                loops = [index and index.loop for index in access.axes]
                if each.combines or None in loops or loops != target[len(target) - len(loops) :]:
                    return False
        return True

    def _widen(self, array: Array) -> Array:
        """Return whole numbers in fp64, others narrower than 32 bits in fp32, as sums are kept.

        So sums of whole numbers are exact, and rounding (of an exponential) does not depend on the
        library that computes it.
        """
        # Integers and truth values are indices, labels, or exact already.
        if array.dtype.kind in "iub":
            return array
        if self.whole_numbers:
            return array.astype(np.float64)
        return array.astype(np.float32) if array.dtype.itemsize < 4 else array

    def _seen(self, value: int, array: Array) -> Array:
        """Return a value, perhaps a view of views, from the array of its tensor."""
        node = self.views.get(value)
        if node is None:
            return array
        source = self._seen(node.inputs[0], array)
        return inspect(node, source, self.graph.values[value].shape)


def any_axis(axes: Sequence[int | None]) -> bool:
    """Return whether any operand is cut."""
    return any(axis is not None for axis in axes)


def _rename(node: Node, low: Mapper) -> Node:
    """Return a node under the name of its kernel: one of other operands goes by another."""
    # In training it reads the mean and the mean of squares of the batch, no variance.
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
            f"kernels: none for {names}; give one by register_kernel, or use kernels hash without "
            "a network"
        )
    return found


def _compute(kernel: NodeKernel, call: Call, node: Node) -> Sequence[Array]:
    """Compute an operator; a failure of its kernel is an error of the input."""
    try:
        # Poison (NaN) passes through all kernels on purpose.
        with np.errstate(all="ignore"):
            return kernel(call)
    except UNFIT as error:
        why = " ".join(str(error).split()) or type(error).__name__
        # Messages of ONNX run over many lines.
        why = why.split(". ")[0][:_LONGEST]
        raise InputError(
            f"kernels: {node.operator} ({node.name}) cannot be computed so: {why}; use kernels hash"
        ) from error


def wrapping_scale(call: Call) -> int:
    """Return the factor of results before they are wrapped: probabilities are small."""
    return call.shapes[0][call.axis()] if call.operator == "Softmax" else 1
