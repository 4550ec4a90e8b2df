"""Layouts of views in memory: lengths and strides of each axis, as in CuTe.

A view's axis may run over several stretches of memory, as tokens do that are joined with the
queries of a group. Fusion tiles of it are fusion tiles of the first of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from spmopt.core.graph import Graph, Node
from spmopt.graph import operators
from spmopt.graph.operators.attributes import integers
from spmopt.graph.operators.spec import Shape, Style

Factor = tuple[int, int]
"""A length and its stride, in elements."""
Layout = tuple[tuple[Factor, ...], ...]
"""Of each axis its factors, the slowest first; none of length 1."""


def layouts(graph: Graph) -> list[Layout | None]:
    """Return the layout of each value in memory, in that of its operand if it is a view.

    None where an axis of a view takes parts of a factor that do not divide it.
    """
    found: list[Layout | None] = [of_shape(value.shape) for value in graph.values]
    for node in graph.nodes:
        if operators.lookup(node.operator).style is Style.VIEW:
            before = found[node.inputs[0]]
            after = graph.values[node.outputs[0]].shape
            found[node.outputs[0]] = None if before is None else _view(node, before, after)
    return found


def of_shape(shape: Shape) -> Layout:
    """Return the layout of a tensor whose last axis is the fastest."""
    return tuple(
        ((size, prod(shape[axis + 1 :])),) if size > 1 else () for axis, size in enumerate(shape)
    )


def first_run(factors: Sequence[Factor]) -> Factor:
    """Return the length and stride of an axis, as far as it is one stretch from its beginning."""
    length, stride = factors[0] if factors else (1, 1)
    for size, inner in factors[1:]:
        if stride != size * inner:
            break
        length, stride = length * size, inner
    return length, stride


def reshape(layout: Layout, shape: Shape) -> Layout | None:
    """Return the layout of the same elements in the same order under another shape.

    None where a factor would have to be taken apart unevenly, or the elements are not as many.
    """
    rest = list[Factor]()  # the fastest first
    for size, stride in (factor for axis in reversed(layout) for factor in reversed(axis)):
        # Contiguous with the factor before: one factor.
        if rest and stride == rest[-1][0] * rest[-1][1]:
            rest[-1] = (rest[-1][0] * size, rest[-1][1])
        else:
            rest.append((size, stride))
    found = list[tuple[Factor, ...]]()
    for wanted in reversed(shape):
        axis, left = list[Factor](), wanted
        while left > 1:
            if not rest:
                return None
            size, stride = rest.pop(0)
            taken = min(size, left)
            # Neither divides the other: no strides describe this view.
            if size % taken or left % taken:
                return None
            if size > taken:
                rest.insert(0, (size // taken, stride * taken))
            axis.insert(0, (taken, stride))
            left //= taken
        found.insert(0, tuple(axis))
    return None if rest else tuple(found)


def _view(node: Node, layout: Layout, shape: Shape) -> Layout | None:
    """Return the layout of a view."""
    if "perm" not in node.attributes:
        return reshape(layout, shape)
    split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
    if node.operator == "StridedView":
        parts = reshape(layout, split)
        return None if parts is None else reshape(tuple(parts[axis] for axis in perm), shape)
    parts = reshape(layout, tuple(split[axis] for axis in perm))
    if parts is None:
        return None
    return reshape(tuple(parts[perm.index(axis)] for axis in range(len(perm))), shape)
