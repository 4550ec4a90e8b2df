"""What a GPU moves through its L2 cache: matrix products in blocks, other operators once."""

from __future__ import annotations

from spmopt.graph import operators
from spmopt.graph.ir import Graph, Node
from spmopt.graph.operators.spec import Gemm, Style


def accesses(graph: Graph, tile: int) -> tuple[int, int]:
    """Bytes that all operators read and write.

    A product of (m, k) by (k, n) is computed in blocks of ``tile`` rows and columns, each by a
    core that reads the rows and columns that it needs: the left matrix is read ``n / tile`` times
    (rounded up), the right one ``m / tile`` times, results are written once. A convolution reads
    its input as the matrix of its windows. What else there is reads its operands and writes its
    results once. Registers and shared memory hold a block; nothing is found in an L1 cache.
    """
    read = written = 0
    for node in graph.nodes:
        spec = operators.lookup(node.operator)
        if spec.style is Style.VIEW:
            continue
        if spec.gemm is None:
            read += _bytes(graph, node.inputs)
        else:
            shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
            read += _product(graph, node, spec.gemm(*shapes, node.attributes), tile)
        written += _bytes(graph, node.outputs)
    return read, written


def _product(graph: Graph, node: Node, gemm: Gemm, tile: int) -> int:
    left = gemm.batch * gemm.m * gemm.k * _element(graph, node, gemm.a)
    right = gemm.batch * gemm.k * gemm.n * _element(graph, node, gemm.b)
    factors = {node.inputs[place] for place in (*gemm.a, *gemm.b)}
    others = tuple(value for value in node.inputs if value not in factors)
    return left * -(-gemm.n // tile) + right * -(-gemm.m // tile) + _bytes(graph, others)


def _element(graph: Graph, node: Node, places: tuple[int, ...]) -> int:
    """Bytes of an element of a factor."""
    return graph.values[node.inputs[places[0]]].element_bytes


def _bytes(graph: Graph, values: tuple[int, ...]) -> int:
    return sum(graph.values[value].size_bytes for value in dict.fromkeys(values))
