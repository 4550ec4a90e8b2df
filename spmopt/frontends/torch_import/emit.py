"""What rules of operators add to the graph: nodes, views, numbers, and orders of axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Value
from spmopt.core.instance import TensorKind
from spmopt.frontends.torch_import.layout import (
    Arranged,
    inverse,
    is_view,
    merged,
    plain,
    without_ones,
)
from spmopt.frontends.torch_import.program import Call, shape_of, type_of
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.naming import unused
from spmopt.graph.operators.attributes import broadcast_shape
from spmopt.graph.operators.spec import Shape


@dataclass(frozen=True, slots=True)
class Result:
    """Shape and element type of what a node is to write."""

    shape: Shape
    element_type: str


def result_of(tensor: Any) -> Result:
    """Return what torch says of a tensor, or of a node's."""
    return Result(shape_of(tensor), type_of(tensor))


class Emitter:
    """The growing graph.

    Attributes
    ----------
    name
        Of the nodes that are added.
    kind
        Of their results: activations, or gradients.
    """

    def __init__(self, name: str) -> None:
        self.builder = GraphBuilder(name)
        self.name = ""
        self.kind = TensorKind.ACTIVATION
        self._found: dict[torch.fx.Node, Arranged] = {}
        self._copies: dict[Arranged, int] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def arranged(self, node: torch.fx.Node) -> Arranged:
        """Return a tensor as it is seen.

        Raises
        ------
        InputError
            The node makes none.
        """
        if node not in self._found:
            raise InputError(f"reads {node.name}, which is not imported")
        return self._found[node]

    def value(self, node: torch.fx.Node) -> int:
        """Return a tensor with its elements in order."""
        return self.in_order(self.arranged(node))

    def unbroadcast(self, node: torch.fx.Node) -> Arranged:
        """Return a tensor as it is seen, made anew where it is broadcast."""
        found = self.arranged(node)
        if found.seen(self.shape(found.base)) == found.shape:
            return found
        return plain(self.in_order(found), found.shape)

    def beside(self, node: torch.fx.Node, other: Arranged) -> int:
        """Return a tensor in the order of another one of its shape, made anew where broadcast."""
        index, shape = self.aligned(self.arranged(node), other.order), self.shape(other.base)
        return index if self.shape(index) == shape else self.repeat(index, shape)

    def small(self, node: torch.fx.Node) -> int:
        """Return a tensor with its elements in order, but not broadcast."""
        return self._turned(self.arranged(node))

    def reshaped(self, tensor: Arranged, shape: Shape) -> Arranged:
        """Return a tensor under another shape; copied only where its order forbids a view."""
        own = self.shape(tensor.base)
        if tensor.shape == shape:
            return tensor
        if self.builder.values[tensor.base].elements == 1:
            base = self.view(tensor.base, (1,) * len(shape))
            return Arranged(base, tuple(range(len(shape))), shape)
        if not (tensor.is_in_order and own == tensor.shape):
            for way in (without_ones, merged):
                found = way(tensor, own, shape)
                if found is not None:
                    return replace(found[1], base=self.view(tensor.base, found[0]))
        return plain(self.view(self.in_order(tensor), shape), shape)

    def in_order(self, tensor: Arranged) -> int:
        """Return a tensor with its elements in order; a copy that takes is made once."""
        if tensor in self._copies:
            return self._copies[tensor]
        index = self._turned(tensor)
        if self.shape(index) != tensor.shape:
            if not tensor.shape or len(self.shape(index)) > len(tensor.shape):
                raise InputError(f"cannot broadcast {self.shape(index)} to {tensor.shape}")
            index = self.repeat(index, tensor.shape)
        self._copies[tensor] = index
        return index

    def aligned(self, tensor: Arranged, order: tuple[int, ...]) -> int:
        """Return a tensor that broadcasts, its axes where ``order`` puts those of the result."""
        lacks = len(order) - len(tensor.shape)
        if lacks:
            index = self._turned(tensor)
            index = self.view(index, (*(1,) * lacks, *self.shape(index)))
            tensor = plain(index, self.shape(index))
        return self._turned(tensor.permuted(inverse(order)))

    def _turned(self, tensor: Arranged) -> int:
        """Return a tensor in order, before it is broadcast."""
        shape = self.shape(tensor.base)
        small = replace(tensor, shape=tensor.seen(shape))
        if tensor.is_in_order:
            return tensor.base
        if small not in self._copies:
            self._copies[small] = (
                self.view(tensor.base, small.shape)
                if is_view(tensor.order, shape)
                else self.add("Transpose", [tensor.base], small.shape, perm=tensor.order)
            )
        return self._copies[small]

    def shape(self, index: int) -> Shape:
        """Return the shape of a value."""
        return self.builder.shape(index)

    def view(self, index: int, shape: Shape) -> int:
        """Return a value under another shape; nothing moves."""
        return (
            index
            if self.shape(index) == shape
            else self.add("Reshape", [index], shape, shape=shape)
        )

    def repeat(self, index: int, shape: Shape) -> int:
        """Return a copy of a value that is broadcast."""
        return self.add("Expand", [index], shape, shape=shape)

    def number(self, value: Any, element_type: str) -> int:
        """Return a number as a tensor of its own."""
        key = str(value), element_type
        if key not in self._numbers:
            self._numbers[key] = self.builder.state(key[0], (), element_type=element_type)
        return self._numbers[key]

    def filled(self, value: int, shape: Shape, element_type: str) -> int:
        """Return a tensor of one number, for operators that want it whole."""
        return self.builder.state(f"{self.name}.{value}", shape, element_type=element_type)

    def rename(self, index: int, name: str, kind: TensorKind) -> int:
        """Give a value another name and kind, once."""
        old = self.builder.values[index]
        if old.kind is not kind:
            name = unused(name, self.builder.value_names)
            self.builder.values[index] = replace(old, name=name, kind=kind)
        return index

    def add(
        self, operator: str, inputs: Sequence[int], made: Shape, **attributes: Attribute
    ) -> int:
        """Add a node with one result of the type of its first input."""
        kind = self.builder.values[inputs[0]].element_type
        (found,) = self.emit(operator, inputs, [Result(made, kind)], **attributes)
        return found

    def emit(
        self,
        operator: str,
        inputs: Sequence[int],
        results: Sequence[Result],
        **attributes: Attribute,
    ) -> tuple[int, ...]:
        """Add a node and return its results.

        Raises
        ------
        InputError
            The operator's rule gives other shapes.
        """
        spec = operators.lookup(operator)
        if spec.shapes is not None:
            shapes = tuple(map(self.shape, inputs))
            ours = spec.shapes(shapes, attributes)[: len(results)]
            theirs = tuple(each.shape for each in results)
            if ours != theirs:
                raise InputError(
                    f"results have shapes {theirs} by torch, but {ours} by the rule of "
                    f"{operator}; please report this"
                )
        name = unused(self.name or operator.lower(), self.builder.node_names)
        outputs = [
            self.builder.add_value(
                Value(
                    name=f"{name}:{k}" if k else name,
                    shape=each.shape,
                    element_type=each.element_type,
                    kind=self.kind,
                )
            )
            for k, each in enumerate(results)
        ]
        self.builder.add_node(name, operator, inputs, outputs, attributes)
        return tuple(outputs)

    def pointwise(
        self, operator: str, operands: Sequence[Any], result: Any, **attributes: Attribute
    ) -> Arranged:
        """Add a node with one result whose operands broadcast.

        Parameters
        ----------
        operator
            Of the graph.
        operands
            Nodes of torch, or numbers.
        result
            A tensor as torch describes it.
        attributes
            Of the operator.
        """
        seen = {
            k: self.arranged(each)
            for k, each in enumerate(operands)
            if isinstance(each, torch.fx.Node)
        }
        kinds = [self.builder.values[each.base].element_type for each in seen.values()]
        kind = kinds[0] if kinds else type_of(result)
        every = [
            seen[k] if k in seen else plain(self.number(each, kind), ())
            for k, each in enumerate(operands)
        ]
        return self.broadcast(operator, every, result_of(result), **attributes)

    def broadcast(
        self,
        operator: str,
        operands: Sequence[Arranged],
        result: Result,
        **attributes: Attribute,
    ) -> Arranged:
        """Add a node as :meth:`pointwise` does.

        The result is in the order of its operands: torch gives it their strides.
        """
        shape = result.shape
        orders = [each.order for each in operands if each.shape == shape]
        order = orders[0] if orders else tuple(range(len(shape)))
        inputs = [self.aligned(each, order) for each in operands]
        own = tuple(shape[axis] for axis in inverse(order))
        if broadcast_shape(*map(self.shape, inputs)) != own:
            widest = max(range(len(inputs)), key=lambda k: len(self.shape(inputs[k])))
            inputs[widest] = self.repeat(inputs[widest], own)
        (found,) = self.emit(operator, inputs, [replace(result, shape=own)], **attributes)
        return Arranged(found, order, shape)


Results = Arranged | tuple[Arranged | None, ...] | None
"""Of a call: one tensor, several of which some are not made, or none."""
Rules = Mapping[str, Callable[[Emitter, Call], Results]]
"""Rules by the name of the operator in torch, without namespace and overload."""
