"""The graph: values with shapes, nodes with operators; forward and training alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from spmopt.core.elements import ElementType, element_type
from spmopt.core.errors import InputError
from spmopt.core.problem import TensorKind

Attribute = int | float | str | tuple[int, ...]


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

    def shapes(self, indices: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the values named by ``indices``."""
        values = self.values
        return tuple([values[index].shape for index in indices])
