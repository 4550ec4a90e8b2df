"""Axes along which fused groups of a graph may be tiled, by the names that people have for them.

The first is the batch (:attr:`~.axes.LinkedAxes.batch`). Each further one is made of
classes of linked axes that bear one name and meet in no tensor, as the heads of every layer do: an
operation is tiled along at most one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spmopt.core.fusion.tileable_graph import BATCH
from spmopt.core.graph import Node
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.axes import Axis, LinkedAxes, NodeCut
from spmopt.graph.operators.spec import Style

_OF_IMAGES = {1: "channels", 2: "rows", 3: "columns"}
_OF_HEADS = {1: "heads", 2: "tokens", 3: "width"}
_OF_TOKENS = {1: "tokens", 2: "channels"}
_OF_TABLES = {0: "tokens", 1: "channels"}
_WORDS = {4: _OF_HEADS, 3: _OF_TOKENS, 2: _OF_TABLES}
"""Names of axes by the rank of a value and the place of the axis in it."""
_IMAGE_OPERATORS = ("Conv", "Pool")
"""In the names of operators that have images for operands."""


@dataclass(frozen=True, slots=True)
class TileAxis:
    """An axis along which fused groups are tiled.

    Attributes
    ----------
    name
        For a reader.
    classes
        Classes of linked axes; each tensor has axes of at most one of them.
    """

    name: str
    classes: tuple[Axis, ...]

    def cut(self, axes: LinkedAxes, node: Node) -> tuple[NodeCut, int] | None:
        """Return how a node is tiled along it, and into how many tiles at most; None if never."""
        near = {each for value in (*node.inputs, *node.outputs) for each in axes.classes[value]}
        for each in self.classes:
            found = axes.cut(node, each) if each in near else None
            if found is not None:
                return found, axes.micro_batches(each)
        return None

    def axis(self, axes: LinkedAxes, value: int) -> int | None:
        """Return the axis of a value along which parts of it are."""
        found = (axes.axis(value, each) for each in self.classes)
        return next((axis for axis in found if axis is not None), None)


def tile_axes(axes: LinkedAxes) -> list[TileAxis]:
    """Return the axes along which groups of several operations may be tiled; the first always.

    Raises
    ------
    InputError
        No operator can be cut.
    """
    graph = axes.graph
    root = list(range(len(graph.values)))
    for node in graph.nodes:
        if operators.lookup(node.operator).style is Style.VIEW:
            root[node.outputs[0]] = root[node.inputs[0]]
    found: dict[str, list[tuple[list[Axis], set[int]]]] = {}
    first = axes.name if axes.name == BATCH else _name(axes, axes.batch)
    for each in _classes(axes):
        tensors = {root[value] for value in axes.members(each)}
        alike = found.setdefault(_name(axes, each), [])
        for classes, taken in alike:
            if not taken & tensors:
                classes.append(each)
                taken.update(tensors)
                break
        else:
            alike.append(([each], tensors))
    further = [
        TileAxis(f"{name} {number}" if number > 1 else name, tuple(classes))
        for name, alike in found.items()
        for number, (classes, _) in enumerate(alike, 1 + (name == first))
    ]
    return [TileAxis(first, (axes.batch,)), *further]


def _classes(axes: LinkedAxes) -> Iterator[Axis]:
    """Yield the classes beside the batch along which two operations in a row can be cut."""
    nodes = [
        node for node in axes.graph.nodes if operators.lookup(node.operator).style is not Style.VIEW
    ]
    members = Counter(symbol for own in axes.classes for symbol in own)
    places: dict[Axis, set[int]] = {}
    for place, node in enumerate(nodes):
        for value in (*node.inputs, *node.outputs):
            for each in axes.classes[value]:
                places.setdefault(each, set()).add(place)
    for each in members:
        # Two operations, and a value between them.
        if each == axes.batch or members[each] < 3 or axes.micro_batches(each) < 2:
            continue
        can = {place for place in places.get(each, ()) if axes.cut(nodes[place], each) is not None}
        if any(place + 1 in can for place in can):
            yield each


def _name(axes: LinkedAxes, of: Axis) -> str:
    """Return the name of a class for a reader, by where it stands in values."""
    graph, members = axes.graph, axes.members(of)
    nodes = [
        each for each in graph.nodes if not members.keys().isdisjoint(each.inputs + each.outputs)
    ]
    images = any(word in node.operator for node in nodes for word in _IMAGE_OPERATORS)
    if not images and any(_counts_products(axes, node, members) for node in nodes):
        return _OF_HEADS[1]
    words = Counter[str]()
    for index in members:
        value = graph.values[index]
        if value.kind is TensorKind.WEIGHT:
            continue
        place = axes.axis(index, of)
        if place is None:  # another view of its tensor is cut
            continue
        rank = len(value.shape)
        named = _OF_IMAGES if images and rank > 2 else _WORDS.get(rank, {})
        word = named.get(place, f"axis {place}")
        # Before heads are moved to the front, tokens stand in their place.
        words[word] += word != _OF_HEADS[1]
    word = max(words, key=lambda word: words[word], default="channels")
    if (
        word == "channels"
        and not images
        and not any(
            node.operator == "Add" and all(value in members for value in node.inputs)
            for node in nodes
        )
    ):
        return "inner"  # of a layer of its own, as no residual connection passes by
    return word


def _counts_products(axes: LinkedAxes, node: Node, members: Mapping[int, tuple[int, ...]]) -> bool:
    """Return whether a node has a product for each element of a class, as attention has of heads.

    That is a loop of both factors and the result.
    """
    if operators.lookup(node.operator).gemm is None or len(node.inputs) < 2:
        return False
    nest = axes.nest(node)
    of_operands = [
        {
            index.loop
            for access in nest.accesses(name)
            for place, index in enumerate(access.axes)
            if index is not None and index.loop is not None and place in members.get(value, ())
        }
        for name, value in zip(("x0", "x1", "y0"), (*node.inputs[:2], *node.outputs), strict=False)
    ]
    return bool(set.intersection(*of_operands))
