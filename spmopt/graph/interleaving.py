"""The two gradients of a layer as one operation, which reads dY for both (Kim et al., MICRO 2023).

Training lists dW just before dX. Both read dY, and where neither reads the other, their tiles may
be computed in turns. :mod:`.gradient_tiles` has the ways to do so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spmopt.core.graph import Graph, Node
from spmopt.graph import operators
from spmopt.graph.naming import Names, find_unused

_WEIGHT, _INPUT, _BOTH = "WeightGradient", "InputGradient", "Gradients"


def interleave_gradients(graph: Graph) -> Graph:
    """Return ``graph`` with dW and dX of a layer as one node, where one follows the other.

    Doing it a second time changes nothing.
    """
    names = Names()
    for node in graph.nodes:
        names.add(node.name)
    nodes = tuple(_join(graph, names))
    return graph if len(nodes) == len(graph.nodes) else replace(graph, nodes=nodes)


def _join(graph: Graph, names: Names) -> Iterator[Node]:
    """Yield the nodes, pairs of gradients as one."""
    left = iter((*graph.nodes, None))
    node = next(left)
    while node is not None:
        following = next(left)
        if following is not None and _are_of_one_layer(graph, node, following):
            yield _both(node, following, names)
            following = next(left)
        else:
            yield node
        node = following


def _are_of_one_layer(graph: Graph, one: Node, other: Node) -> bool:
    """Return whether two nodes are dW and dX of a layer."""
    operator = one.operator.removesuffix(_WEIGHT)
    if (one.operator, other.operator) != (f"{operator}{_WEIGHT}", f"{operator}{_INPUT}"):
        return False
    shape = [value.shape for value in graph.values]
    return (
        operators.SPECS.find(f"{operator}{_BOTH}") is not None
        and one.attributes == other.attributes
        # Of a product of a weight by itself one adds to the result of the other.
        and set(one.outputs).isdisjoint((*other.inputs, *other.outputs))
        and one.inputs[0] == other.inputs[0]
        # dX is of X, and dW of W.
        and shape[one.inputs[1]] == shape[other.outputs[0]]
        and shape[one.outputs[0]] == shape[other.inputs[1]]
    )


def _both(weight: Node, of_input: Node, names: Names) -> Node:
    """Return the node of dY, W, X and gradients that it adds to, which makes dX and dW."""
    stem = weight.name.rpartition(".")[0] or weight.name
    return replace(
        weight,
        name=find_unused(f"{stem}.gradients", names),
        operator=weight.operator.removesuffix(_WEIGHT) + _BOTH,
        inputs=(*of_input.inputs[:2], weight.inputs[1], *of_input.inputs[2:], *weight.inputs[2:]),
        outputs=(*of_input.outputs, *weight.outputs),
    )
