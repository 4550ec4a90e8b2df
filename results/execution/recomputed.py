"""Training steps that compute activations again rather than keep them."""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.operators.spec import Style

_KINDS = (TensorKind.WEIGHT, TensorKind.STATE)


def recomputed(graph: Graph) -> tuple[Graph, int]:
    """Return a graph in which gradients read activations that are computed again before them.

    Those of point-wise operators of one result, which read activations and no weights: what they
    read is still what it was. Each is computed again once, before the first gradient that reads it.

    Returns
    -------
    Graph, int
        And how many operations it has more.
    """
    values, nodes = list(graph.values), list[Node]()
    makers = {node.outputs[0]: node for node in graph.nodes if _cheap(node, values)}
    again: dict[int, int] = {}
    for node in graph.nodes:
        backward = any(values[v].kind is TensorKind.GRADIENT for v in (*node.inputs, *node.outputs))
        for v in node.inputs if backward else ():
            if v in makers and v not in again and values[v].kind is TensorKind.ACTIVATION:
                again[v] = len(values)
                name = f"{values[v].name}.again"
                values.append(
                    Value(name=name, shape=values[v].shape, element_type=values[v].element_type)
                )
                maker = makers[v]
                nodes.append(replace(maker, name=f"{maker.name}.again", outputs=(again[v],)))
        inputs = tuple(again.get(v, v) if backward else v for v in node.inputs)
        nodes.append(replace(node, inputs=inputs))
    return replace(graph, values=tuple(values), nodes=tuple(nodes)), len(again)


def _cheap(node: Node, values: list[Value]) -> bool:
    """Return whether an operation may run again at any time, for little."""
    spec = operators.lookup(node.operator)
    return (
        spec.style is Style.POINTWISE
        and len(node.outputs) == 1
        and values[node.outputs[0]].kind is TensorKind.ACTIVATION
        and not set(node.inputs) & set(node.outputs)
        and all(values[v].kind not in _KINDS for v in node.inputs)
    )
