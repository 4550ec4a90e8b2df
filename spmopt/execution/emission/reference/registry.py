"""How operators are computed in C, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.core.graph import Node
from spmopt.execution.emission.reference import (
    layers,
    losses,
    movement,
    pointwise,
    products,
    windows,
)
from spmopt.execution.emission.reference.steps import Describing

DESCRIBED: Mapping[str, Describing] = {
    name: each
    for module in (pointwise, movement, layers, losses, windows)
    for name, each in module.DESCRIBED.items()
}


def describing(node: Node) -> Describing | None:
    """Return what describes a node; None where there are no kernels in C for it."""
    found = DESCRIBED.get(node.operator)
    return found or (products.described if products.is_product(node) else None)
