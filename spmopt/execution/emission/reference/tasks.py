"""Operations of a graph, whole or in pieces, as steps of kernels in C.

What :class:`~spmopt.execution.graph_kernel.GraphKernel` does with arrays is written down here: a
whole tensor is put together of the parts that a piece names, not a number elsewhere; of it the
kernel gets the piece's share, and of what it makes each part is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan, prod

import numpy as np

from spmopt.core.errors import InputError
from spmopt.execution.emission.reference.registry import describing
from spmopt.execution.emission.reference.steps import Steps
from spmopt.execution.graph_kernel import EXACT, UNFIT, GraphKernel, Task, wrapping_scale
from spmopt.execution.kernels.call import Array, Call
from spmopt.execution.kernels.folded import plain_operands
from spmopt.execution.kernels.reductions import COMBINED
from spmopt.execution.values import FACTOR
from spmopt.graph.operators.attributes import integers

_COMBINED = {"ReduceMax": "greatest", "ReduceMin": "least", "ReduceProd": "product"}
_TRUTHS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Not")


def tasks(kernel: GraphKernel) -> list[Steps]:
    """Return the steps of each operation.

    Raises
    ------
    InputError
        There are no kernels in C for an operator, its attributes, or a type of elements; one line
        names all such operators.
    """
    _require_kernels(kernel)
    return [_Writing(kernel, index).steps for index in range(len(kernel.instance.operations))]


def _require_kernels(kernel: GraphKernel) -> None:
    lacking = dict[str, str]()
    for index in range(len(kernel.instance.operations)):
        node = kernel.task(index).node
        if describing(node) is None:
            lacking.setdefault(node.operator, node.name)
    if lacking:
        names = ", ".join(f"{operator} ({name})" for operator, name in lacking.items())
        raise InputError(f"kernels: none in C for {names}; use kernels hash")


@dataclass
class _Writing:
    """The steps of one operation."""

    kernel: GraphKernel
    index: int
    steps: Steps = field(default_factory=Steps)

    def __post_init__(self) -> None:
        operation, task = self.kernel.instance.operations[self.index], self.kernel.task(self.index)
        given = self._joined(operation.reads)
        call = self.kernel.call(task, [self._operand(task, at, given) for at in task.operands])
        floating = _makes_numbers(call)
        made = [self.steps.own(shape, "f" if floating else "i") for shape in call.shapes]
        self._describe(task, call, made)
        found = dict[int, Array]()
        for place, array in enumerate(made):
            axis = task.output_axes[place]
            before = None
            if task.node.outputs[place] in task.old:
                before = task.share(given[task.outputs[place]], axis)
            result = task.share(array, axis) if task.by_place else array
            found[place] = self._finished(call, place, result, before)
        layout, places = self.kernel.layout, {t: place for place, t in enumerate(task.outputs)}
        for place, tensor in enumerate(operation.writes):
            at = places[layout.tensor_of(tensor)]
            shape, where = layout.share(tensor, task.output_axes[at], task.origin)
            whole = self.steps.reshaped(found[at], shape)
            self.steps.write(place, layout.dtypes[tensor], whole[where] if where else whole)

    def _joined(self, reads: Sequence[int]) -> dict[int, Array]:
        """Return whole tensors, no numbers where no part is read."""
        do, layout, found = self.steps, self.kernel.layout, dict[int, Array]()
        for place, part in enumerate(reads):
            tensor, dtype = layout.tensor_of(part), layout.dtypes[part]
            shape, where = layout.place(part)
            whole = _elements(shape, where) == prod(shape)
            own = layout.shape(tensor) if whole else _shape(shape, where)
            array = do.read(place, dtype, own)
            if whole:
                found[tensor] = array
                continue
            if tensor not in found:
                found[tensor] = do.own(layout.shape(tensor), array.dtype.kind)
                do.run("fill", [found[tensor]], numbers=[nan])
            do.copy(found[tensor].reshape(shape)[where], array)
        return found

    def _operand(self, task: Task, at: int, given: Mapping[int, Array]) -> Array:
        array = self._seen(task.node.inputs[at], given[task.inputs[at]])
        return task.share(array, task.input_axes[at])

    def _seen(self, value: int, array: Array) -> Array:
        """Return what a value, perhaps a view of views, is of the array of its tensor."""
        node = self.kernel.views.get(value)
        if node is None:
            return array
        array = self._seen(node.inputs[0], array)
        if node.operator.startswith("StridedView"):
            split, perm = (integers(node.attributes, name) for name in ("split", "perm"))
            if node.operator.endswith("Gradient"):
                split, perm = tuple(split[axis] for axis in perm), tuple(np.argsort(perm).tolist())
            array = self.steps.reshaped(array, split).transpose(perm)
        return self.steps.reshaped(array, self.kernel.graph.values[value].shape)

    def _describe(self, task: Task, call: Call, made: Sequence[Array]) -> None:
        """Add the steps of the operator; what they cannot do is an error of the input."""
        found, node = describing(task.node), task.node
        assert found is not None
        try:
            self._require_plain(task, call)
            found(call, made, self.steps)
        except UNFIT as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                f"kernels: {node.operator} ({node.name}) cannot be computed so in C: {why}; use "
                "kernels hash"
            ) from error

    def _require_plain(self, task: Task, call: Call) -> None:
        """Refuse integers where floating point is computed, as quantized networks have them."""
        whole = self.kernel.layout.whole_dtypes
        dtypes = [whole[task.inputs[at]] for at in task.operands]
        if any(each is None or each.kind in "iub" for each in dtypes):
            samples = [np.ones(1, each or np.int8) for each in dtypes]
            plain, scales = plain_operands(task.node.operator, samples)
            if scales or any(a is not b for a, b in zip(plain, samples, strict=True)):
                raise NotImplementedError("its operands are quantized")
        if any(each.kind == "u" for each in call.dtypes) and _makes_numbers(call):
            raise NotImplementedError("its results are unsigned")

    def _finished(self, call: Call, place: int, result: Array, before: Array | None) -> Array:
        """Add what a piece or a reader before has left there, and wrap whole numbers."""
        do = self.steps
        if call.operator in COMBINED:
            return result if before is None else do.made(_COMBINED[call.operator], [before, result])
        if self.kernel.whole_numbers and result.dtype.kind == "f" and call.operator not in EXACT:
            others = [each for each in call.inputs if each.dtype.kind == "f"]
            operands = [result, *([] if before is None else [before]), *others]
            counts = [result.size, before is not None, len(others), *(e.size for e in others)]
            found = do.own(result.shape)
            do.run("wrap", [found], operands, counts, [FACTOR * wrapping_scale(call)])
            return found
        return result if before is None else do.made("sum", [result, before])


def _makes_numbers(call: Call) -> bool:
    """Return whether results are real numbers, not integers or truth values."""
    if call.operator in _TRUTHS:
        return False
    used = {"Gather": call.inputs[:1], "Where": call.inputs[1:]}.get(call.operator, call.inputs)
    return any(each.dtype.kind == "f" for each in used)


def _shape(whole: Sequence[int], where: Sequence[slice]) -> tuple[int, ...]:
    return tuple(len(range(*each.indices(n))) for n, each in zip(whole, where, strict=True))


def _elements(whole: Sequence[int], where: Sequence[slice]) -> int:
    return prod(_shape(whole, where))
