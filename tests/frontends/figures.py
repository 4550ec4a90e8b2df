"""Counting parameters, multiply-accumulates and operations of a graph."""

from __future__ import annotations

from collections import Counter

from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.operators.spec import Style
from spmopt.graph.statistics import macs

__all__ = ["MACHINE", "macs", "moving", "output_shapes", "parameters"]

MACHINE = Machine(
    name="test",
    spm_bytes=24_000_000,
    dram_bytes_per_s=616 * 10**9,
    clock_hz=1_350_000_000,
    operations_per_s=13_450 * 10**9,
)


def parameters(graph: Graph) -> int:
    """Elements of all trained tensors."""
    return sum(v.elements for v in graph.values if v.kind is TensorKind.WEIGHT)


def moving(graph: Graph) -> Counter[str]:
    """How many nodes of each operator move data (all but views)."""
    return Counter(
        node.operator
        for node in graph.nodes
        if operators.lookup(node.operator).style is not Style.VIEW
    )


def output_shapes(graph: Graph) -> list[tuple[int, ...]]:
    """Shapes of the outputs of a forward graph."""
    return [value.shape for value in graph.values if value.keep]
