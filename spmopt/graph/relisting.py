"""The nodes of a graph in another order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from spmopt.core.graph import Graph, Node
from spmopt.core.machine import Machine
from spmopt.graph import operators
from spmopt.graph.naming import Names, find_unused
from spmopt.graph.operators.spec import Style
from spmopt.graph.preparation import prepare


def in_order(graph: Graph, mapper: str, machine: Machine, order: Iterable[int]) -> Graph:
    """Return the graph that lowering makes operations of, with these in another order.

    Views are listed as soon as something uses them, unused ones at the end.

    Parameters
    ----------
    graph
        Any graph.
    mapper
        Its name, as :func:`spmopt.graph.lower.lower` takes it.
    machine
        Its machine.
    order : (n,)
        The operation that each step runs, in an order that keeps dependences.

    Raises
    ------
    InputError
        A node comes before its inputs.
    """
    # Orders are of the problem's operations, which are those of the prepared graph.
    graph = prepare(graph, mapper, machine)
    style = [operators.lookup(node.operator).style for node in graph.nodes]
    nodes = list(zip(graph.nodes, style, strict=True))
    # An operation may update a value in place that a view gives.
    views = {node.outputs[0]: node for node, each in nodes if each is Style.VIEW}
    names = Names()  # numbered in the order as listed, as the problem's are
    computing = [
        replace(node, name=find_unused(node.name, names))
        for node, each in nodes
        if each is not Style.VIEW
    ]
    return replace(graph, nodes=tuple(_with_views([computing[at] for at in order], views)))


def _with_views(nodes: Iterable[Node], views: dict[int, Node]) -> Iterator[Node]:
    """Yield nodes, each after the views that it uses; last, views that nothing uses."""
    left = dict(views)
    for node in nodes:
        for value in node.inputs:
            yield from _chain(value, left)
        yield node
    for value in views:
        yield from _chain(value, left)


def _chain(value: int, left: dict[int, Node]) -> list[Node]:
    """Return the views that a value is seen through, that of an operation's result first."""
    found: list[Node] = []
    while value in left:
        # Popped, so that a view that several operations use is listed once.
        found.append(left.pop(value))
        value = found[-1].inputs[0]
    return found[::-1]
