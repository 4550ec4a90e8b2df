"""A program of torch as the importer takes it, and how messages name what is in it."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from spmopt.core.errors import InputError
from spmopt.core.instance import TensorKind
from spmopt.graph.operators.spec import Shape

TYPES: Mapping[Any, str] = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8_e4m3",
    torch.float8_e5m2: "fp8_e5m2",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
    torch.complex64: "complex64",
    torch.complex128: "complex128",
}
"""Element types by those of torch."""
CASTS = ("_to_copy", "prims.convert_element_type.default")
"""Operators that give a tensor another element type."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """Nodes of a program without side effects, whose operators are taken apart.

    Attributes
    ----------
    nodes
        Placeholders and calls, in order; the output node is not among them.
    sources
        Kind and name of every placeholder that is a tensor.
    outputs
        What must be there at the end.
    tangents
        Placeholders that are the gradient of an output, and that output.
    gradients
        Gradients that are results, by the parameter.
    """

    name: str
    nodes: tuple[torch.fx.Node, ...]
    sources: Mapping[torch.fx.Node, tuple[TensorKind, str]]
    outputs: tuple[torch.fx.Node, ...]
    tangents: Mapping[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)
    gradients: Mapping[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)


class Call:
    """A node that calls an operator, with its arguments by name."""

    def __init__(self, node: torch.fx.Node) -> None:
        self.node = node
        self.name = operator_of(node)
        schema = node.target._schema.arguments
        self._arguments: dict[str, Any] = {each.name: each.default_value for each in schema}
        names = [each.name for each in schema]
        self._arguments |= dict(zip(names, node.args, strict=False))
        self._arguments |= node.kwargs
        self._used = {user.args[1] for user in node.users if user.target is operator.getitem}

    def __getitem__(self, name: str) -> Any:
        """Return an argument; None where the operator has none of that name."""
        return self._arguments.get(name)

    @property
    def results(self) -> tuple[Any, ...]:
        """The results as torch describes them; None in place of those that nothing reads."""
        found = self.node.meta["val"]
        if not isinstance(found, list | tuple):
            return (found,)
        return tuple(each if k in self._used else None for k, each in enumerate(found))

    @property
    def result(self) -> Any:
        """The first result, as torch describes it."""
        found = self.node.meta["val"]
        return found[0] if isinstance(found, list | tuple) else found

    @property
    def shape(self) -> Shape:
        """Of the first result."""
        return shape_of(self.result)


def shape_of(tensor: Any) -> Shape:
    """Return the shape of a tensor of torch, or of a node's.

    Raises
    ------
    InputError
        It depends on data.
    """
    value = tensor.meta["val"] if isinstance(tensor, torch.fx.Node) else tensor
    if not all(isinstance(size, int) for size in value.shape):
        raise InputError(
            f"a shape {list(value.shape)} depends on data; a schedule needs fixed shapes"
        )
    return tuple(value.shape)


def type_of(tensor: Any) -> str:
    """Return the element type of a tensor of torch, or of a node's.

    Raises
    ------
    InputError
        There is none like it.
    """
    value = tensor.meta["val"] if isinstance(tensor, torch.fx.Node) else tensor
    if value.dtype not in TYPES:
        raise InputError(f"elements of type {value.dtype} are not supported")
    return TYPES[value.dtype]


def operator_of(node: torch.fx.Node) -> str:
    """Return the name of the operator of a call: ``add`` of ``aten.add.Tensor``."""
    name = str(node.target)
    space, _, rest = name.partition(".")
    return rest.partition(".")[0] if space == "aten" else name


def described(node: torch.fx.Node) -> str:
    """Return how messages name a node."""
    return f"node {name_of(node)} ({node.target})"


def name_of(node: torch.fx.Node) -> str:
    """Return the name of a node, behind that of the module that it is in."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    paths = [path for path, _ in stack.values() if path and not path.startswith("L[")]
    return f"{paths[-1]}.{node.name}" if paths else node.name
