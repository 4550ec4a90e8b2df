"""Summary of a network before it is scheduled, as records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class InspectedInput:
    """An input of a network.

    Attributes
    ----------
    name
        Name of the tensor.
    element_type
        Type of its elements, e.g. fp32.
    dimensions
        Sizes; a symbol or None for an open dimension.
    """

    name: str
    element_type: str
    dimensions: tuple[int | str | None, ...]


@dataclass(frozen=True, kw_only=True)
class InspectedOperator:
    """An operator of a network.

    Attributes
    ----------
    name
        ONNX name, with its domain where that is another.
    nodes
        Number of its nodes.
    has_rule
        Whether the program knows its shapes and costs.
    """

    name: str
    nodes: int
    has_rule: bool = True


@dataclass(frozen=True, kw_only=True)
class InspectedLayer:
    """An operation with its size.

    Attributes
    ----------
    step
        Position in the given order.
    name, operator
        Name, and type of the operation.
    macs
        Multiply-accumulate operations.
    weight_bytes, read_bytes, written_bytes
        Bytes of weights, of other operands, and of results, each tensor once.
    """

    step: int
    name: str
    operator: str
    macs: int
    weight_bytes: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Largest number of bytes of activations that are live at once.

    Attributes
    ----------
    live_bytes
        Bytes live while ``operation`` runs, in the given order.
    step, operation
        Position and name of the operation.
    """

    live_bytes: int
    step: int
    operation: str


@dataclass(frozen=True, kw_only=True)
class NetworkSummary:
    """Content of a network: inputs, operators, layers, peak of activations.

    Attributes
    ----------
    title
        Name of the network, with its options.
    inputs, operators
        Inputs, and operators by number of nodes.
    open_options
        Option to paste for each open dimension; the batch first.
    layers
        Operations in the given order; empty where their sizes are unknown.
    peak
        Largest live bytes of activations; None where sizes are unknown.
    weight_bytes
        Bytes of all weights and states.
    problem
        Reason for which sizes are unknown, or an empty text.
    paste
        Lines of a file of operators that give unknown operators a class.
    notes
        Assumptions.
    top
        Number of layers that the table shows; None: all.
    """

    title: str
    inputs: Sequence[InspectedInput] = ()
    operators: Sequence[InspectedOperator] = ()
    open_options: Sequence[str] = ()
    layers: Sequence[InspectedLayer] = ()
    peak: Peak | None = None
    weight_bytes: int = 0
    problem: str = ""
    paste: str = ""
    notes: Sequence[str] = ()
    top: int | None = 10

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations of all layers."""
        return sum(layer.macs for layer in self.layers)
