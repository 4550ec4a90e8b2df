"""Published figures of a network: parameters and multiply-accumulates."""

from __future__ import annotations

from functools import partial

from spmopt.core.graph import Graph, Node
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.operators.attributes import integer


def parameters(graph: Graph) -> int:
    """Return the elements of all trained tensors (without running statistics).

    Of an embedding table that is looked up (``Lookup``) the whole table, though the graph only
    holds the rows that one step reads.
    """
    held = sum(value.elements for value in graph.values if value.kind is TensorKind.WEIGHT)
    return held + sum(map(partial(_not_held, graph), graph.nodes))


def _not_held(graph: Graph, node: Node) -> int:
    if node.operator != "Lookup":
        return 0
    rows, width = graph.values[node.inputs[0]].shape
    return (integer(node.attributes, "table") - rows) * width


def macs(graph: Graph) -> int:
    """Return the multiply-accumulates of all matrix products, convolutions included."""
    total = 0
    for node in graph.nodes:
        gemm = operators.lookup(node.operator).gemm
        if gemm is not None:
            shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
            total += gemm(*shapes, node.attributes).macs
    return total


def operations(graph: Graph) -> int:
    """Return the multiplications, additions and the like of all nodes (2 per MAC)."""
    total = 0
    for node in graph.nodes:
        shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
        total += operators.lookup(node.operator).operations(*shapes, node.attributes)
    return total
