"""Matrix products and convolutions, and their gradients, as loops of one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spmopt.core.graph import Node
from spmopt.execution.emission.reference.steps import Steps
from spmopt.execution.kernels.call import Array, Call
from spmopt.graph import operators
from spmopt.graph.operators.attributes import number
from spmopt.graph.operators.loops import Access, Index, LoopNest, loop_nest
from spmopt.graph.operators.spec import Style

_INNER = "products", "sums"


def is_product(node: Node) -> bool:
    """Return whether loops say what a node computes: sums of products."""
    spec = operators.lookup(node.operator)
    return spec.style is Style.GEMM and spec.computes is not None


def described(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Add up products, statement by statement."""
    rule = operators.lookup(call.operator).computes
    assert rule is not None
    inputs = tuple(each.shape for each in call.inputs)
    attributes = call.attributes
    nest = loop_nest(rule(inputs, call.shapes, attributes), inputs, call.shapes, attributes)
    scales = _scales(call)
    for statement in nest.statements:
        if not statement.combines or len(statement.reads) > 2:
            raise NotImplementedError("it is no sum of products")
        factor = scales.get(statement.reads[-1].tensor, scales.get(statement.target.tensor, 1.0))
        operands = [(each, call.inputs[int(each.tensor[1:])]) for each in statement.reads]
        if factor != 1.0:
            access, array = operands[0]
            operands[0] = access, do.made("scale_by", [array], [factor])
        target = statement.target, results[int(statement.target.tensor[1:])]
        add_up(do, nest.extents, target, operands)


def _scales(call: Call) -> Mapping[str, float]:
    """Return the factors of Gemm: of its product and bias, or of gradients of these."""
    if not call.operator.startswith("Gemm"):
        return {}
    alpha, beta = (number(call.attributes, name, 1.0) for name in ("alpha", "beta"))
    if call.operator == "Gemm":
        alpha, beta = (float(np.float32(each)) for each in (alpha, beta))  # as ONNX has them
        return {"x2": beta, "y0": alpha}
    return {f"y{place}": beta if place else alpha for place in range(len(call.shapes))}


Used = tuple[Access, Array]
"""How loops index an array."""


def add_up(
    do: Steps,
    extents: Mapping[str, int],
    target: Used,
    operands: Sequence[Used],
    kernel: str | None = None,
    *,
    outside: float = 0.0,
) -> None:
    """Loop: combine in ``target`` what ``operands`` have, ``outside`` where windows leave them.

    Parameters
    ----------
    do
        Gets the steps.
    extents
        How far each loop runs.
    target, operands
        Arrays, and which elements are combined. What is written outside the target is dropped.
    kernel
        By default sums of products, or of the one operand.
    """
    padded = [_padded(do, extents, used, outside) for used in operands]
    access, result = target
    room, inner, here = _room(extents, access, result), result, result
    if any(map(any, room)):
        inner, here = _with_room(do, result, room)
        do.copy(here, result)
    every = [_steps(access, inner, room), *padded]
    order = _order(extents, [steps for _, _, steps in every])
    integers = [len(order), len(every), *(start for _, start, _ in every)]
    for loop in order:
        integers += [extents[loop], *(steps.get(loop, 0) for _, _, steps in every)]
    arrays = [array for array, _, _ in every]
    name = _INNER[len(arrays) == 2] if kernel is None else kernel
    do.run(name, arrays[:1], arrays[1:], integers)
    if here is not result:
        do.copy(result, here)


_Stepping = tuple[Array, int, dict[str, int]]
"""An array, the element where loops begin, and how far each loop goes at a step."""


def _order(extents: Mapping[str, int], steps: Sequence[Mapping[str, int]]) -> list[str]:
    """Return loops from the outermost on: inside stands a long one of small steps."""
    used = [loop for loop in extents if any(loop in each for each in steps)] or [*extents][:1]

    def key(loop: str) -> tuple[bool, int]:
        return extents[loop] >= 8, -sum(abs(each.get(loop, 0)) for each in steps)

    inside = max(used, key=key)
    return [*(loop for loop in used if loop != inside), inside]


def _padded(do: Steps, extents: Mapping[str, int], used: Used, outside: float) -> _Stepping:
    access, array = used
    room = _room(extents, access, array)
    if not any(map(any, room)):
        return _steps(access, do.dense(array), room)
    inner, here = _with_room(do, array, room)
    if outside:
        do.run("fill", [inner], numbers=[outside])
    do.copy(here, array)
    return _steps(access, inner, room)


def _with_room(do: Steps, array: Array, room: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
    """Return an array with room around one of this shape, and the part of it that this is."""
    inner = do.own([n + b + a for n, (b, a) in zip(array.shape, room, strict=True)])
    return inner, inner[tuple(slice(b, b + n) for n, (b, _) in zip(array.shape, room, strict=True))]


def _steps(access: Access, array: Array, room: Sequence[tuple[int, int]]) -> _Stepping:
    start, steps = 0, dict[str, int]()
    for axis, index in enumerate(access.axes):
        assert index is not None
        stride = prod(array.shape[axis + 1 :])
        start += (index.offset + room[axis][0]) * stride
        for loop, coefficient in index.terms:
            steps[loop] = steps.get(loop, 0) + coefficient * stride
    return array, start, steps


def _room(extents: Mapping[str, int], access: Access, array: Array) -> list[tuple[int, int]]:
    """Return how far windows go beyond each axis, at both ends."""
    found = []
    for size, index in zip(array.shape, access.axes, strict=True):
        if index is None:
            raise NotImplementedError("its elements depend on data")
        low, high = _reach(extents, index)
        found.append((max(-low, 0), max(high + 1 - size, 0)))
    return found


def _reach(extents: Mapping[str, int], index: Index) -> tuple[int, int]:
    if index.divisor != 1:
        raise NotImplementedError("an index is a quotient")
    ends = [coefficient * (extents[loop] - 1) for loop, coefficient in index.terms]
    low = index.offset + sum(min(end, 0) for end in ends)
    return low, index.offset + sum(max(end, 0) for end in ends)


def nest_of(source: str, call: Call) -> LoopNest:
    """Return loops of a text over the operands and results of a call."""
    inputs = tuple(each.shape for each in call.inputs)
    return loop_nest(source, inputs, call.shapes, call.attributes)
