"""The graph: values with shapes, nodes with operators; forward and training alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import prod
from typing import TYPE_CHECKING, Any, Self

from spmopt.core.elements import ElementType, element_type
from spmopt.core.errors import InputError
from spmopt.core.problem import TensorKind
from spmopt.core.quick_init import quick_init

if TYPE_CHECKING:
    from networkx import DiGraph

Attribute = int | float | str | tuple[int, ...]


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A tensor of a graph: a shape and the type of its elements.

    ``element_type``: a name of :mod:`spmopt.core.elements`.
    ``keep``: must be in DRAM at the end (network outputs, weight gradients, updated weights).
    """

    name: str
    shape: tuple[int, ...]
    element_type: str = "fp32"
    kind: TensorKind = TensorKind.ACTIVATION
    keep: bool = False

    def __post_init__(self) -> None:
        if self.shape and min(self.shape) < 1:
            raise InputError(f"tensor {self.name}: shape {self.shape} has a dimension under 1")
        element_type(self.element_type)

    @property
    def elements(self) -> int:
        """Number of elements (1 for a scalar)."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole tensor."""
        return self.type.bytes_of(self.elements)

    @property
    def type(self) -> ElementType:
        """Of its elements."""
        return element_type(self.element_type)


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An operator applied to values.

    Operators bear ONNX names where ONNX has them (``Conv``, ``Gemm``, ``Relu``, ...). An index
    that stands in ``inputs`` and in ``outputs`` is updated in place.
    """

    name: str
    operator: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Values and nodes, nodes in an order in which they can run.

    A value that no node writes exists at the start (network inputs, weights, states).

    Raises
    ------
    InputError
        A node before its producer (or a cycle), or a reference out of range.
    """

    name: str
    values: tuple[Value, ...]
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        # A value that is updated in place exists before its node.
        missing = {v for node in self.nodes for v in node.outputs if v not in node.inputs}
        count = len(self.values)
        for node in self.nodes:
            for value in (*node.inputs, *node.outputs):
                if not 0 <= value < count:
                    raise InputError(f"node {node.name}: no such value ({value})")
            for value in node.inputs:
                if value in missing:
                    raise InputError(
                        f"node {node.name}: reads {self.values[value].name} before it is "
                        "computed; the graph has a cycle or its nodes are out of order"
                    )
            missing.difference_update(node.outputs)

    def to_networkx(self) -> DiGraph:
        """Return the graph as one of networkx, for its algorithms.

        Returns
        -------
        networkx.DiGraph
            Nodes ``("value", index)`` with ``name``, ``shape``, ``element_type``, ``kind`` and
            ``keep``, and ``("node", index)`` with ``name``, ``operator`` and ``attributes``, in the
            graph's order; edges from values to the nodes that read them and from nodes to their
            results, with the ``positions`` that a value has among inputs or outputs.
        """
        import networkx

        found = networkx.DiGraph(name=self.name)
        for index, value in enumerate(self.values):
            found.add_node(
                ("value", index), **{f.name: getattr(value, f.name) for f in fields(Value)}
            )
        for index, node in enumerate(self.nodes):
            here = ("node", index)
            about = {"name": node.name, "operator": node.operator}
            found.add_node(here, **about, attributes=dict(node.attributes))
            for position, read in enumerate(node.inputs):
                _connect(found, ("value", read), here, position)
            for position, written in enumerate(node.outputs):
                _connect(found, here, ("value", written), position)
        return found

    @classmethod
    def from_networkx(cls, graph: DiGraph) -> Self:
        """Return the graph that :meth:`to_networkx` gave, whatever was changed of it since.

        Raises
        ------
        InputError
            Its nodes cannot run in their order, or something is missing.
        """
        values = [name for name in graph if name[0] == "value"]
        index = {name: place for place, name in enumerate(values)}
        try:
            return cls(
                name=str(graph.graph.get("name", "")),
                values=tuple(Value(**graph.nodes[name]) for name in values),
                nodes=tuple(
                    Node(
                        **graph.nodes[name],
                        inputs=_places(index, graph.in_edges(name, data=True), 0),
                        outputs=_places(index, graph.out_edges(name, data=True), 1),
                    )
                    for name in graph
                    if name[0] == "node"
                ),
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"graph of networkx: lacks what a graph has: {error}") from None

    def shapes(self, indices: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the values named by ``indices``."""
        values = self.values
        return tuple([values[index].shape for index in indices])


def _connect(graph: DiGraph, source: object, target: object, position: int) -> None:
    """Add an edge, or one more position to it."""
    known = graph.get_edge_data(source, target, {"positions": ()})["positions"]
    graph.add_edge(source, target, positions=(*known, position))


def _places(
    index: Mapping[object, int], edges: Iterable[tuple[object, object, Any]], end: int
) -> tuple[int, ...]:
    """Return the values at the one or the other end of edges, in the order of their positions."""
    found = ((place, index[edge[end]]) for edge in edges for place in edge[2]["positions"])
    return tuple(value for _, value in sorted(found))
