"""Kernels called by the name of their operator, on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spmopt.core.graph import Graph, Node
from spmopt.execution.kernels import Call, kernel_of
from spmopt.execution.kernels.call import Array, NodeKernel
from spmopt.execution.values import dtype_of
from spmopt.graph.operators.spec import Attributes

Like = tuple[tuple[int, ...], str | np.dtype[np.generic]]
"""Shape and type of a result."""


def computed(
    operator: str, inputs: list[Array], like: Sequence[Like], attributes: Attributes
) -> list[Array]:
    """Return the results of an operator's kernel."""
    node = Node(name="it", operator=operator, inputs=(), outputs=(), attributes=attributes)
    kernel = kernel_of(node)
    assert kernel is not None
    call = Call(
        operator=operator,
        attributes=attributes,
        inputs=inputs,
        shapes=tuple(shape for shape, _ in like),
        dtypes=tuple(np.dtype(dtype) for _, dtype in like),
    )
    return [np.asarray(each) for each in kernel(call)]


def results_of(
    graph: Graph, node: Node, values: Mapping[int, Array], kernel: NodeKernel | None = None
) -> dict[int, Array]:
    """Return what a node of a graph computes, by the index of the value."""
    kernel = kernel or kernel_of(node)
    assert kernel is not None
    call = Call(
        operator=node.operator,
        attributes=node.attributes,
        inputs=[values[v] for v in node.inputs],
        shapes=graph.shapes(node.outputs),
        dtypes=tuple(dtype_of(graph.values[v]) for v in node.outputs),
        whole=graph.shapes(node.inputs),
    )
    return dict(zip(node.outputs, map(np.asarray, kernel(call)), strict=True))


def evaluated(graph: Graph, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return the values of a graph by name, from those that no node writes."""
    names = [value.name for value in graph.values]
    values = {index: given[name] for index, name in enumerate(names) if name in given}
    for node in graph.nodes:
        values |= results_of(graph, node, values)
    return {names[index]: array for index, array in values.items()}
