"""A graph in another element type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spmopt.core.elements import ElementKind, element_type, sum_type
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.graph import operators


def with_element_type(graph: Graph, name: str) -> Graph:
    """Return a forward graph whose floating-point tensors are all of the type ``name``.

    Integers stay (tokens, indices), and so do types that a machine could not compute with: where
    the type is an integer one, a bias of a product is of the type of its sums. Conversions between
    floating-point types become conversions to this one.

    Raises
    ------
    InputError
        There is no such type, or it is none to compute in.
    """
    wanted = element_type(name)
    if wanted.kind not in (ElementKind.FLOAT, ElementKind.INTEGER):
        raise InputError(f"element type {name}: networks do not compute in it; use fp32 or bf16")
    # A bias in the narrow integer type would overflow: it is added to sums.
    biases = set(_biases(graph)) if wanted.kind is ElementKind.INTEGER else set()
    values = tuple(
        replace(value, element_type=sum_type(name) if index in biases else name)
        if value.type.kind is ElementKind.FLOAT
        else value
        for index, value in enumerate(graph.values)
    )
    return replace(graph, values=values, nodes=tuple(_retype(n, name) for n in graph.nodes))


def _biases(graph: Graph) -> Iterator[int]:
    """Return the inputs of products that are no factors and that nothing computes."""
    written = {value for node in graph.nodes for value in node.outputs}
    for node in graph.nodes:
        spec = operators.lookup(node.operator)
        if spec.gemm is not None:
            inputs, outputs = graph.shapes(node.inputs), graph.shapes(node.outputs)
            gemm = spec.gemm(inputs, outputs, node.attributes)
            for position, value in enumerate(node.inputs):
                if position not in (*gemm.a, *gemm.b) and value not in written:
                    yield value


def _retype(node: Node, name: str) -> Node:
    # Casts to integers and booleans keep their target: their results are indices or masks.
    target = node.attributes.get("to")
    if not isinstance(target, str) or element_type(target).kind is not ElementKind.FLOAT:
        return node
    return replace(node, attributes={**node.attributes, "to": name})
