"""Published figures of a network: parameters and multiply-accumulates."""

from __future__ import annotations

from spmopt.core.instance import TensorKind
from spmopt.graph import operators
from spmopt.graph.ir import Graph


def parameters(graph: Graph) -> int:
    """Elements of all trained tensors (without running statistics)."""
    return sum(value.elements for value in graph.values if value.kind is TensorKind.WEIGHT)


def macs(graph: Graph) -> int:
    """Multiply-accumulates of all matrix products, convolutions included."""
    total = 0
    for node in graph.nodes:
        gemm = operators.lookup(node.operator).gemm
        if gemm is not None:
            shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
            total += gemm(*shapes, node.attributes).macs
    return total


def operations(graph: Graph) -> int:
    """Multiplications, additions and the like of all nodes (2 per MAC)."""
    total = 0
    for node in graph.nodes:
        shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
        total += operators.lookup(node.operator).operations(*shapes, node.attributes)
    return total
