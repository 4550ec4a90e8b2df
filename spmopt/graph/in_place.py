"""Results in the bytes of an operand that dies.

A point-wise operation reads each element of an operand once, just before it writes the element of
its result. Where nothing else reads that operand the result may take its bytes, as in every
runtime. Layer by layer nothing moves more in one scratchpad whose commands have no set-up: of a
schedule with two tensors, keep on chip at each step the more of both (PROBLEM.md, section 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from spmopt.core.graph import Graph, Node
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.build import renumber
from spmopt.graph.operators.spec import Style

_OWN = TensorKind.ACTIVATION, TensorKind.GRADIENT
"""Kinds of values that nothing outside the graph reads."""


def update_in_place(graph: Graph) -> Graph:
    """Return ``graph`` with results of point-wise nodes in place of an operand that dies.

    Operand and result are of one kind, type and shape; the operand is computed by a node, is no
    output of the graph, and no other node reads it, nor a view of it. Of several such operands the
    one that was computed last is overwritten: it is the most likely to be on chip. A value that is
    an output keeps its name. Doing it a second time changes nothing.
    """
    writers = Counter(v for node in graph.nodes for v in node.outputs)
    dying = _dying(graph, writers)
    values, same, nodes = list(graph.values), dict[int, int](), list[Node]()
    for node in graph.nodes:
        # A result that is updated, here or later, is one that others know by its name.
        own = all(writers[v] == 1 for v in node.outputs)
        operands = {*node.inputs} & dying.keys() if own else ()
        found = [v for v in operands if _is_overwritten(graph, node, v)]
        inputs, outputs = tuple([same.get(v, v) for v in node.inputs]), node.outputs
        if found:
            operand = max(found, key=dying.__getitem__)
            first = same[outputs[0]] = same.get(operand, operand)
            if (result := graph.values[outputs[0]]).keep:
                values[first] = replace(values[first], name=result.name, keep=True)
            outputs = (first,)
        nodes.append(replace(node, inputs=inputs, outputs=outputs))
    if not same:
        return graph
    return renumber(graph.name, values, nodes, [v for v in range(len(values)) if v not in same])


def inline_nodes(graph: Graph) -> set[int]:
    """Return the places of activations: point-wise nodes of one operand that dies.

    In a graph that is updated in place already, the result is the operand.
    """
    dying = _dying(graph, Counter(v for node in graph.nodes for v in node.outputs))
    return {
        at
        for at, node in enumerate(graph.nodes)
        for v in ({*node.inputs} if len({*node.inputs}) == 1 else ())
        if node.outputs == (v,) or (v in dying and _is_overwritten(graph, node, v))
    }


def _dying(graph: Graph, writers: Mapping[int, int]) -> dict[int, int]:
    """Return values that one node writes, and one reads, with the number of the writer."""
    readers = Counter(v for node in graph.nodes for v in {*node.inputs})
    return {
        v: at
        for at, node in enumerate(graph.nodes)
        if operators.lookup(node.operator).style is not Style.VIEW
        for v in node.outputs
        if readers[v] == writers[v] == 1 and not graph.values[v].keep
    }


def _is_overwritten(graph: Graph, node: Node, operand: int) -> bool:
    """Return whether a node is point-wise in an operand that is like its only result."""
    if len(node.outputs) != 1 or operators.lookup(node.operator).style is not Style.POINTWISE:
        return False
    old, new = graph.values[operand], graph.values[node.outputs[0]]
    like = (old.kind, old.element_type, old.shape) == (new.kind, new.element_type, new.shape)
    if not like or old.kind not in _OWN or node.outputs[0] in node.inputs:
        return False
    nest = operators.computation(node, graph.shapes(node.inputs), graph.shapes(node.outputs))
    if len(nest.statements) != 1 or nest.statements[0].combines:
        return False
    axes = nest.statements[0].target.axes
    places = [place for place, v in enumerate(node.inputs) if v == operand]
    return all(index is not None and index.loop is not None for index in axes) and all(
        access.axes == axes for place in places for access in nest.accesses(f"x{place}")
    )
