"""Leaving out what leads to no output."""

from __future__ import annotations

from dataclasses import replace

from spmopt.graph.ir import Graph


def prune(graph: Graph) -> Graph:
    """Drop nodes whose results are neither read nor kept, and values that no node touches.

    Kept values stay. A node that updates a value in place is needed when the value is kept or
    read later.
    """
    wanted = {index for index, value in enumerate(graph.values) if value.keep}
    nodes = []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            nodes.append(node)
            wanted.update(node.inputs)
    nodes.reverse()
    touched = wanted.union(*(node.outputs for node in nodes))
    new = {old: index for index, old in enumerate(sorted(touched))}
    return Graph(
        name=graph.name,
        values=tuple(graph.values[old] for old in new),
        nodes=tuple(
            replace(
                node,
                inputs=tuple(new[value] for value in node.inputs),
                outputs=tuple(new[value] for value in node.outputs),
            )
            for node in nodes
        ),
    )
