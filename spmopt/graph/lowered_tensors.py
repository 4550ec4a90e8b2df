"""Tensors of a lowered graph: a view and its operand are one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import Tensor, TensorKind
from spmopt.graph.naming import all_unused
from spmopt.graph.operators.attributes import integers


def tensors_of(graph: Graph, views: Collection[str]) -> tuple[tuple[Tensor, ...], dict[int, int]]:
    """Return the tensors, and the tensor of every value that an operation touches.

    ``views`` are the operators of views.
    """
    values, root = graph.values, list(range(len(graph.values)))
    written: set[int] = set()
    touched: set[int] = set()
    for node in graph.nodes:
        inputs = node.inputs
        if node.operator in views:
            view, operand = node.outputs[0], inputs[0]
            _require_view(node, values[operand], values[view])
            # Operands come before their views, so the root is final here.
            root[view] = root[operand]
            continue
        for v in inputs:
            touched.add(root[v])
        for v in node.outputs:
            if v not in inputs:
                touched.add(root[v])
                written.add(root[v])
    # A tensor is kept if any of its views is an output.
    kept = {r for r, value in zip(root, values, strict=True) if value.keep}
    gradient = TensorKind.WEIGHT_GRADIENT  # members are slow to look up
    gradients = {r for r, value in zip(root, values, strict=True) if value.kind is gradient}
    # In the order of values, so that numbering does not depend on the order of a set.
    position = {v: k for k, v in enumerate(sorted(touched))}
    names = all_unused([values[v].name for v in position])
    tensors = tuple(
        [
            Tensor(
                name=name,
                size_bytes=values[v].size_bytes,
                kind=gradient if v in gradients else values[v].kind,
                in_dram=v not in written,
                keep=v in kept,
            )
            for v, name in zip(position, names, strict=True)
        ]
    )
    return tensors, {v: position[r] for v, r in enumerate(root) if r in position}


def tensors_of_kind(tensors: Sequence[Tensor], kinds: Sequence[str]) -> frozenset[int]:
    """Return the tensors of some kinds; most often there are no such kinds."""
    if not kinds:
        return frozenset()
    return frozenset([t for t, tensor in enumerate(tensors) if tensor.kind in kinds])


def _require_view(node: Node, operand: Value, view: Value) -> None:
    """Check that a view has the elements of its operand: graphs are read from files, too."""
    if node.inputs[0] == node.outputs[0]:
        raise InputError(f"node {node.name}: a {node.operator} cannot be updated in place")
    if (operand.elements, operand.size_bytes) != (view.elements, view.size_bytes):
        raise InputError(
            f"node {node.name}: a {node.operator} must not change the size, but "
            f"{operand.shape} of {operand.element_type} became {view.shape} of {view.element_type}"
        )
    if "perm" not in node.attributes:
        return
    split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
    if (
        min(split, default=1) < 1
        or prod(split) != operand.elements
        or sorted(perm) != [*range(len(split))]
    ):
        raise InputError(
            f"node {node.name}: axes {split} in the order {perm} are no view of {operand.shape}"
        )
