"""Published figures of a network: parameters and multiply-accumulates."""

from __future__ import annotations

from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.operators.attributes import integer


def parameters(graph: Graph) -> int:
    """Return the elements of all trained tensors (without running statistics).

    Of an embedding table that is looked up (``Lookup``) the whole table, though the graph only
    holds the rows that one step reads.
    """
    count = sum(value.elements for value in graph.values if value.kind is TensorKind.WEIGHT)
    for node in graph.nodes:
        if node.operator == "Lookup":
            rows, width = graph.values[node.inputs[0]].shape
            count += (integer(node.attributes, "table") - rows) * width
    return count


def macs(graph: Graph) -> int:
    """Return the multiply-accumulates of all matrix products, convolutions included."""
    total = 0
    for node in graph.nodes:
        spec = operators.lookup(node.operator)
        shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
        products = (rule for rule in (spec.gemm, spec.second) if rule is not None)
        total += sum(rule(*shapes, node.attributes).macs for rule in products)
    return total


def operations(graph: Graph) -> int:
    """Return the multiplications, additions and the like of all nodes (2 per MAC)."""
    total = 0
    for node in graph.nodes:
        shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
        total += operators.lookup(node.operator).operations(*shapes, node.attributes)
    return total
