"""The nodes that a model's outputs need, in an order in which they can run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx

from spmopt.core.errors import InputError


def describe(node: onnx.NodeProto) -> str:
    """Return how messages name a node: its name (or first result) and its operator."""
    return f"node {node.name or first_result(node)} ({node.op_type})"


def first_result(node: onnx.NodeProto) -> str:
    """Name of the first result that has one."""
    results = node.output
    # Nearly always the first; nodes are asked many times, and each look makes a text.
    first: str = results[0] if results else ""
    return first or next((name for name in results if name), "")


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Return the graphs that a node of control flow holds."""
    if not node.attribute:
        return []
    found = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return found + [graph for attribute in node.attribute for graph in attribute.graphs]


def reads(node: onnx.NodeProto) -> list[str]:
    """Return the names that a node reads: its inputs, and those from outside in its subgraphs."""
    found = [name for name in node.input if name]
    if not node.attribute:
        return found
    for graph in subgraphs(node):
        # Subgraphs see names of outer graphs; their own hide them.
        inside = {value.name for value in (*graph.input, *graph.initializer)}
        inside.update(tensor.values.name for tensor in graph.sparse_initializer)
        for inner in graph.node:
            found += [name for name in reads(inner) if name not in inside]
            inside.update(inner.output)
        found += [value.name for value in graph.output if value.name not in inside]
    return found


def order_nodes(
    nodes: Sequence[onnx.NodeProto], given: Iterable[str], outputs: Iterable[str]
) -> list[onnx.NodeProto]:
    """Return the nodes that ``outputs`` need, producers first, in file order if that is one.

    Parameters
    ----------
    nodes
        All nodes, in file order.
    given
        Names that exist without a node: inputs and initializers.
    outputs
        Names that are wanted.

    Raises
    ------
    InputError
        A name written twice, a name that nothing writes, or a cycle.
    """
    producer = _producers(nodes)
    available, outputs = set(given), tuple(outputs)
    needed: dict[int, list[int]] = {}
    waiting = _sources(outputs, producer, available, None)
    while waiting:
        index = waiting.pop()
        # A stack, not recursion: networks are deeper than Python's limit.
        if index not in needed:
            needed[index] = _sources(reads(nodes[index]), producer, available, nodes[index])
            waiting += needed[index]
    if all(max(sources, default=-1) < index for index, sources in needed.items()):
        return [nodes[index] for index in sorted(needed)]  # as nearly all files
    try:
        return [nodes[index] for index in TopologicalSorter(needed).static_order()]
    except CycleError as error:
        ring = ", ".join(describe(nodes[index]) for index in error.args[1][1:4])
        raise InputError(f"the graph has a cycle through {ring}; export the model again") from None


def _producers(nodes: Sequence[onnx.NodeProto]) -> dict[str, int]:
    producer: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if producer.setdefault(name, index) != index:
                raise InputError(
                    f"{describe(node)}: writes {name}, which another node writes too; "
                    "the file is damaged, export the model again"
                )
    return producer


def _sources(
    names: Iterable[str],
    producer: dict[str, int],
    available: set[str],
    user: onnx.NodeProto | None,
) -> list[int]:
    """Return the nodes that write ``names``, but for those that exist at the start."""
    found = []
    for name in names:
        index = producer.get(name)
        if index is not None:
            found.append(index)
        elif name not in available:
            who = "the model" if user is None else describe(user)
            raise InputError(
                f"{who}: needs {name}, which nothing produces; the file is damaged or cut short"
            )
    return found
