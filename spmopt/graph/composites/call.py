"""A use of an operator that becomes several nodes: its operands, and a builder to add to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.core.problem import TensorKind
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.attributes import position
from spmopt.graph.operators.spec import Attributes, Shape


@dataclass(frozen=True, kw_only=True)
class Operand:
    """An input of a call.

    Attributes
    ----------
    index
        Returns its place in the graph, to which a constant is added when it is first asked for.
    contents
        Of a short constant; None where they are not known beforehand.
    live
        It depends on an input of the network.
    own
        A constant that nothing else reads, so that its parts may be tensors of their own.
    """

    shape: Shape
    element_type: str
    index: Callable[[], int]
    contents: NDArray[Any] | None = None
    live: bool = True
    own: bool = False

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class Call:
    """A use of an operator.

    Attributes
    ----------
    name
        Of the node, from which those of its parts follow.
    operands
        None where an inner one is left out.
    wanted
        For each result whether anything reads it.
    opset
        Version of the operator set.
    """

    builder: GraphBuilder
    name: str
    operands: Sequence[Operand | None]
    attributes: Attributes
    wanted: Sequence[bool]
    opset: int = 0

    def find(self, place: int) -> Operand | None:
        """Return an operand, or None if it is left out."""
        return self.operands[place] if place < len(self.operands) else None

    def operand(self, place: int) -> Operand:
        """Return an operand that must be there.

        Raises
        ------
        InputError
            It is left out.
        """
        found = self.find(place)
        if found is None:
            raise InputError(f"needs input {place}, which is left out; export the model again")
        return found

    def value(self, place: int) -> int:
        """Return the place in the graph of an operand that must be there."""
        return self.operand(place).index()

    def freeze(self, place: int) -> int:
        """Return the place of an operand; constants that it follows from are no weights."""
        value, found = self.value(place), self.operand(place)
        # A live operand follows from data, not from constants alone, and its weights stay trained.
        waiting = [] if found.live else [value]
        # Costs a pass over all nodes, so only where something waits.
        written = {v: node for node in self.builder.nodes if waiting for v in node.outputs}
        while waiting:
            index = waiting.pop()
            if index in written:
                waiting.extend(written[index].inputs)
            elif self.builder.values[index].kind is TensorKind.WEIGHT:
                of = self.builder.values[index]
                self.builder.values[index] = replace(of, kind=TensorKind.STATE)
        return value

    def values(self, *places: int) -> list[int]:
        """Return the places in the graph of those operands that are there."""
        return [found.index() for found in map(self.find, places) if found is not None]

    def wants(self, result: int) -> bool:
        """Return whether anything reads a result."""
        return result < len(self.wanted) and self.wanted[result]

    def shape(self, value: int) -> Shape:
        """Return the shape of a value of the graph."""
        return self.builder.shape(value)

    def type(self, value: int) -> str:
        """Return the element type of a value of the graph."""
        return self.builder.values[value].element_type

    def add(self, operator: str, *inputs: int, part: str = "", **attributes: Attribute) -> int:
        """Add a node with one result; ``part`` says which part of the operator it is."""
        return self.many(operator, *inputs, part=part, **attributes)[0]

    def many(
        self, operator: str, *inputs: int, part: str = "", **attributes: Attribute
    ) -> tuple[int, ...]:
        """Add a node; return its results."""
        name = f"{self.name}.{part}" if part else self.name
        return self.builder.add_many(operator, inputs, name=name, **attributes)

    def plus(self, value: int, place: int, part: str) -> int:
        """Return the sum of a value and an operand; the value where that is left out."""
        if self.find(place) is None:
            return value
        return self.add("Add", value, self.value(place), part=part)

    def reshape(self, value: int, *shape: int) -> int:
        """Return the value under another shape."""
        if self.shape(value) == shape:
            return value
        return self.add("Reshape", value, part="view", shape=shape)

    def transpose(self, value: int, *perm: int) -> int:
        """Return the value with its axes in another order."""
        if perm == tuple(range(len(perm))):
            return value
        return self.add("Transpose", value, part="transpose", perm=perm)

    def join(self, values: Sequence[int], axis: int) -> int:
        """Return values side by side."""
        if len(values) == 1:
            return values[0]
        return self.add("Concat", *values, part="concat", axis=axis)

    def split(self, value: int, axis: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return the parts of a value along an axis."""
        if len(sizes) == 1:
            return (value,)
        return self.many("Split", value, part="split", axis=axis, split=tuple(sizes))

    def parts(self, place: int, axis: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return an operand in parts along an axis; of a constant of its own, tensors apart."""
        operand = self.operand(place)
        axis = position(axis, len(operand.shape))
        if sum(sizes) != operand.shape[axis]:
            raise InputError(f"input {place} {operand.shape} has no parts of {tuple(sizes)}")
        # A constant that others read too must stay one tensor, else its bytes would count twice.
        if not operand.own or len(sizes) == 1:
            return self.split(operand.index(), axis, sizes)
        return tuple(
            self.builder.weight(
                f"{self.name}.input{place}.part{k}",
                (*operand.shape[:axis], size, *operand.shape[axis + 1 :]),
                element_type=operand.element_type,
            )
            for k, size in enumerate(sizes)
        )

    def number(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise InputError(f"attribute {name} must be an integer, is {value!r}")
        return value

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is text."""
        value = self.attributes.get(name, default)
        if not isinstance(value, str):
            raise InputError(f"attribute {name} must be text, is {value!r}")
        return value


Results = Sequence[int | None]
Composite = Callable[[Call], Results]
"""Adds the nodes of a call; returns its results, None for one that there is not."""
