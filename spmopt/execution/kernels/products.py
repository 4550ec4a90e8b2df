"""Matrix products, poolings and copies, and their gradients, as their loops say.

The rule of an operator is statements over loops (:mod:`spmopt.graph.operators.loops`), which are
executed here. Operands are strided views with an axis for each loop. numpy's matrix product adds up
over loops that both operands have and the result lacks. Results of several taps of a window are
added tap by tap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from spmopt.core.graph import Node
from spmopt.core.loops import Access, Index, LoopNest
from spmopt.execution.kernels.call import Array, Call, NodeKernel
from spmopt.graph import operators
from spmopt.graph.operators.attributes import number
from spmopt.graph.operators.loops import loop_nest
from spmopt.graph.operators.spec import Attributes, Shape, Style

_FORWARD_OF_ONNX = ("Conv", "Gemm", "MatMul")
"""Products that ONNX's own reference computes; its transposed convolution knows no groups."""
_OTHERS = (
    *("Expand", "ExpandGradient", "MaxPool", "PadGradient", "ReduceSumGradient"),
    *("SpaceToDepthGradient", "DepthToSpaceGradient", "TransposeGradient"),
)
"""Operators beside products; ONNX's reference of poolings rounds some sizes of results otherwise
than its inference of shapes, and its Expand takes the shape of the whole batch."""


def product_kernel(node: Node) -> NodeKernel | None:
    """Return the kernel of an operator by its loops; None for other operators."""
    if node.operator in _OTHERS:
        return _compute
    spec = operators.lookup(node.operator)
    # ONNX computes output_shape into pads, which the loops do not know.
    ours = node.operator not in _FORWARD_OF_ONNX and "output_shape" not in node.attributes
    # ONNX's MatMul does not transpose, that of the training graph may.
    turned = node.operator == "MatMul" and {"transA", "transB"} & node.attributes.keys()
    known = spec.style is Style.GEMM and spec.computes is not None
    return _compute if known and (ours or turned) else None


def _compute(call: Call) -> Sequence[Array]:
    found = of_operator(call.operator, call.attributes, call.inputs, call.shapes)
    if call.operator.startswith("Gemm"):
        # Of both gradients the bias has the third.
        bias = 2 if call.operator == "GemmGradients" else 1
        found = [
            each * number(call.attributes, "alpha" if place < bias else "beta", 1.0)
            for place, each in enumerate(found)
        ]
    return found


def of_operator(
    operator: str, attributes: Attributes, inputs: Sequence[Array], shapes: Sequence[Shape]
) -> list[Array]:
    """Execute the loops of an operator's rule.

    Parameters
    ----------
    shapes
        Of the results.
    """
    return execute(nest_of(operator, attributes, inputs, shapes), inputs, shapes)


def nest_of(
    operator: str, attributes: Attributes, inputs: Sequence[Array], shapes: Sequence[Shape]
) -> LoopNest:
    """Return the loops of an operator's rule."""
    rule = operators.lookup(operator).computes
    assert rule is not None
    of, made = tuple(each.shape for each in inputs), tuple(shapes)
    return loop_nest(rule(of, made, attributes), of, made, attributes)


def execute(nest: LoopNest, inputs: Sequence[Array], shapes: Sequence[Shape]) -> list[Array]:
    """Execute statements that add up products, or that copy or take the greatest of one operand.

    Parameters
    ----------
    nest
        Statements, each of one read, or two that are multiplied.
    inputs
        Operands.
    shapes
        Of the results.
    """
    # The type of sums: the widest operand.
    dtype = np.result_type(*inputs)
    results = [np.zeros(shape, dtype) for shape in shapes]
    for statement in nest.statements:
        adds = statement.combiner == "+="
        if len(statement.reads) > 1 + adds:
            raise NotImplementedError("it is no sum of products")
        padding = least(dtype) if statement.combiner == "max=" else 0
        seen = [
            inspect(nest, each, inputs[int(each.tensor[1:])], padding) for each in statement.reads
        ]
        loops = sorted(statement.target.loops)
        array, axes = seen[0] if len(seen) == 1 else _multiply(seen[0], seen[1], loops)
        # What does not add up is written once, to zeros.
        array = _sum(array, axes, loops) if adds else array.max(axis=_axes_over(axes, loops))
        missing = [loop for loop in loops if loop not in axes]
        array = array.reshape(array.shape + (1,) * len(missing))
        order = [loop for loop in axes if loop in loops] + missing
        full = tuple(nest.extents[loop] for loop in order)
        add(
            nest,
            results[int(statement.target.tensor[1:])],
            statement.target,
            np.broadcast_to(array, full),
            order,
        )
    return results


_Seen = tuple[Array, list[str]]
"""An array, and the loop that each of its axes is."""


def least(dtype: np.dtype[Any]) -> float:
    """Return a number below every other of a type."""
    return float(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf


def inspect(nest: LoopNest, access: Access, array: Array, padding: float = 0) -> _Seen:
    """Return an operand with an axis for each loop, padding where a window leaves it."""
    loops, strides, shape = list[str](), list[int](), list[int]()
    start = [0] * array.ndim
    pads = []
    for axis, index in enumerate(access.axes):
        if index is None:
            raise NotImplementedError("its elements depend on data")
        low, high = _reach(nest, index)
        pads.append((max(-low, 0), max(high + 1 - array.shape[axis], 0)))
        start[axis] = index.offset + pads[-1][0]
    if any(map(any, pads)):
        array = np.pad(array, pads, constant_values=padding)
    for axis, index in enumerate(access.axes):
        assert index is not None
        for loop, coefficient in index.terms:
            loops.append(loop)
            strides.append(coefficient * array.strides[axis])
            shape.append(nest.extents[loop])
    # A diagonal: no strided view of it exists.
    if len(set(loops)) < len(loops):
        raise NotImplementedError("a loop runs along two axes of an operand")
    origin = array[tuple(slice(each, None) for each in start)]
    return as_strided(origin, shape, strides, writeable=False), loops


def _reach(nest: LoopNest, index: Index) -> tuple[int, int]:
    """Return the least and the greatest index."""
    if index.divisor != 1:
        raise NotImplementedError("an index is a quotient")
    ends = [coefficient * (nest.extents[loop] - 1) for loop, coefficient in index.terms]
    low = index.offset + sum(min(end, 0) for end in ends)
    return low, index.offset + sum(max(end, 0) for end in ends)


def _multiply(one: _Seen, other: _Seen, loops: Sequence[str]) -> _Seen:
    """Multiply two operands, and add up over loops of both that the result lacks."""
    (a, of_a), (b, of_b) = one, other
    batch = [loop for loop in of_a if loop in of_b and loop in loops]
    inner = [loop for loop in of_a if loop in of_b and loop not in loops]
    a, rows = _sum(a, of_a, [*loops, *inner]), [x for x in of_a if x in loops and x not in of_b]
    b, columns = (
        _sum(b, of_b, [*loops, *inner]),
        [x for x in of_b if x in loops and x not in of_a],
    )
    size = dict(zip([x for x in of_a if x in loops or x in inner], a.shape, strict=True))
    size |= dict(zip([x for x in of_b if x in loops or x in inner], b.shape, strict=True))
    left = [x for x in of_a if x in size]
    right = [x for x in of_b if x in size]

    def many(names: Sequence[str]) -> int:
        return prod(size[name] for name in names)

    # Batch loops first, so that one call of matmul does all products.
    a = a.transpose([left.index(x) for x in (*batch, *rows, *inner)])
    b = b.transpose([right.index(x) for x in (*batch, *inner, *columns)])
    found = np.matmul(
        a.reshape(many(batch), many(rows), many(inner)),
        b.reshape(many(batch), many(inner), many(columns)),
    )
    axes = [*batch, *rows, *columns]
    return found.reshape([size[x] for x in axes]), axes


def _sum(array: Array, axes: Sequence[str], loops: Sequence[str]) -> Array:
    """Add up over the loops that are not wanted."""
    gone = _axes_over(axes, loops)
    return array.sum(axis=gone) if gone else array


def _axes_over(axes: Sequence[str], loops: Sequence[str]) -> tuple[int, ...]:
    return tuple(place for place, loop in enumerate(axes) if loop not in loops)


def add(nest: LoopNest, result: Array, target: Access, array: Array, axes: Sequence[str]) -> None:
    """Add the values of all loops to the result, at the places that they write."""
    mains, taps = list[str | None](), list[str]()
    for index in target.axes:
        assert index is not None
        names = [loop for loop, _ in index.terms]
        # The longest loop becomes a slice; the short ones, taps, are enumerated.
        main = max(names, key=lambda loop: nest.extents[loop], default=None)
        mains.append(main)
        taps += [name for name in names if name != main]
    order = [x for x in mains if x is not None] + taps
    array = array.transpose([list(axes).index(x) for x in order])
    for values in product(*(range(nest.extents[tap]) for tap in taps)):
        where = dict(zip(taps, values, strict=True))
        there, here = list[slice](), list[slice]()
        for axis, (index, main) in enumerate(zip(target.axes, mains, strict=True)):
            assert index is not None
            place, taken = _places(nest, index, main, where, result.shape[axis])
            there.append(place)
            here += [] if main is None else [taken]
        chosen: tuple[slice | int, ...] = (*here, *values)
        part = array[chosen]
        own = result[tuple(there)]
        own += part.reshape(own.shape)


def _places(
    nest: LoopNest, index: Index, main: str | None, where: Mapping[str, int], size: int
) -> tuple[slice, slice]:
    """Return the places along an axis that a loop writes to, and the part of the loop inside."""
    fixed = index.offset + sum(c * where[loop] for loop, c in index.terms if loop != main)
    if main is None:
        return slice(fixed, fixed + 1), slice(None)
    step = dict(index.terms)[main]
    # Places before the tensor are padding: skipped.
    first = max(0, -(fixed // step))
    last = min(nest.extents[main], (size - 1 - fixed) // step + 1)
    last = max(last, first)
    begin = fixed + step * first
    return slice(begin, begin + step * (last - first), step), slice(first, last)
