"""Rows of feature maps: the axis along which operators on one micro-batch are cut once more.

An axis of a node's result that is a loop of it is linked to the axes of its operands whose index
has this loop in it, alone (the same rows) or with others (a window that slides over the rows). Of
the axes that are linked so, those are rows along which windows slide in most nodes; of several
equal ones the first, which of images is the height.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

from spmopt.core.fusion.row_windows import Window
from spmopt.core.graph import Node
from spmopt.core.loops import Access, Index, LoopNest
from spmopt.graph import operators
from spmopt.graph.axes import Axis, LinkedAxes, classes, names_of, no_links
from spmopt.graph.operators.spec import Style


@dataclass(frozen=True, slots=True)
class RowCut:
    """How a node is cut into stripes.

    ``axes`` and ``windows`` are of its inputs, then of its outputs; None of tensors that are whole
    to each stripe.
    """

    loop: str
    count: int
    axes: tuple[int | None, ...]
    windows: tuple[Window | None, ...]


class _Indexed(NamedTuple):
    """An axis of an operand of a node, by its place, and the index that it is accessed by."""

    place: int
    axis: int
    by: Index


class RowAxes:
    """The axes of a graph's values that are rows, beside those of the batch.

    ``classes``: the symbol for the class of each axis of each value.
    """

    def __init__(self, axes: LinkedAxes) -> None:
        self.axes, self.graph = axes, axes.graph
        members = axes.members(axes.batch)
        # An uneven batch is rows itself: those of one sample, which has no axis.
        batch = {
            value: -1 if axes.uneven else own[0] for value, own in members.items() if len(own) == 1
        }
        self._batch = [batch.get(value) for value in range(len(self.graph.values))]
        self._known: dict[object, dict[str, list[_Indexed]]] = {}
        links = no_links()
        for node in self.graph.nodes:
            for linked in self._link(node):
                links.union(*linked)
        self.classes = classes(links, self.graph)

    @cached_property
    def _late(self) -> set[int]:
        """Values that a node updates in place after another node has read them."""
        read, found = set[int](), set[int]()
        for node in self.graph.nodes:
            found |= {*node.inputs} & {*node.outputs} & read
            read |= {*node.inputs} - {*node.outputs}
        return found

    @cached_property
    def rows(self) -> Axis | None:
        """Symbols of the axes that are rows; None where no windows slide over an even batch."""
        if self.axes.uneven:
            members = self.axes.members(self.axes.batch).items()
            found = Counter(self.classes[value][own[0]] for value, own in members if len(own) == 1)
            return max(found, key=lambda axis: (found[axis], axis))
        slides = Counter[Axis]()
        first: dict[Axis, int] = {}
        for node in self.graph.nodes:
            for axis in {self.classes[value][each] for value, each in self._slide(node)}:
                cut = self._cut(node, axis)
                slides[axis] += cut is not None
                if cut is not None:
                    first.setdefault(axis, cut.axes[-1] or 0)
        # Most nodes that can be cut, then the outermost axis: of images the height.
        best = max(slides, key=lambda axis: (slides[axis], -first.get(axis, 0)), default=None)
        return best if best is not None and slides[best] else None

    def axis(self, value: int) -> int | None:
        """Return the axis of a value that is rows, if one is."""
        return None if self.rows is None else self._axis(value, self.rows)

    def layout(self, value: int) -> tuple[int, int] | None:
        """Return how many rows of a value stand in how many places, if it has rows."""
        axis, shape = self.axis(value), self.graph.values[value].shape
        return None if axis is None else (prod(shape[:axis]), shape[axis])

    def cut(self, node: Node) -> RowCut | None:
        """Return how a node is cut into stripes; None where it cannot be."""
        return None if self.rows is None else self._cut(node, self.rows)

    def _axis(self, value: int, of: Axis) -> int | None:
        found = [axis for axis, each in enumerate(self.classes[value]) if each == of]
        # Without the batch axis, or where rows are the batch, stripes of one image make no sense.
        return found[0] if len(found) == 1 and self._batch[value] not in (None, found[0]) else None

    def _link(self, node: Node) -> Iterator[Sequence[Axis]]:
        """Return axes that a node links, one set after another."""
        values = self.graph.values
        if operators.lookup(node.operator).style is Style.VIEW:
            source, result = node.inputs[0], node.outputs[0]
            one, other = values[source].shape, values[result].shape
            if "perm" in node.attributes:  # elements in another order
                return
            for axis, same in product(range(len(one)), range(len(other))):
                # Equal axes at equal row-major positions hold the same elements.
                alike = one[axis] == other[same] and prod(one[:axis]) == prod(other[:same])
                if alike and (axis == same or one[axis] > 1):
                    yield (source, axis), (result, same)
            return
        operands = (*node.inputs, *node.outputs)
        for along in self._along(node).values():
            yield [(operands[place], axis) for place, axis, _ in along]

    def _along(self, node: Node) -> dict[str, list[_Indexed]]:
        """Return, by loop that is an axis of each result with a batch, where an index has it."""
        batches = tuple([self._batch[value] for value in (*node.inputs, *node.outputs)])
        nest = self.axes.nest(node)
        found = self._known.get((id(nest), batches))
        if found is None:
            found = _along(nest, names_of(node), batches, len(node.inputs))
            self._known[id(nest), batches] = found
        return found

    def _slide(self, node: Node) -> Iterator[Axis]:
        """Yield the axes over which windows of a node slide."""
        if operators.lookup(node.operator).style is Style.VIEW:
            return
        operands = (*node.inputs, *node.outputs)
        for along in self._along(node).values():
            yield from ((operands[at], axis) for at, axis, by in along if by.loop is None)

    def _cut(self, node: Node, of: Axis) -> RowCut | None:
        """Return how a node is cut along a class of axes."""
        # Stripes are parts of one micro-batch: whatever has no batch cut has none.
        if self.axes.cut(node, self.axes.batch) is None:
            return None
        nest, operands = self.axes.nest(node), (*node.inputs, *node.outputs)
        loops = [
            loop
            for loop, along in self._along(node).items()
            if any(self.classes[operands[place]][axis] == of for place, axis, _ in along)
        ]
        updated = {*node.inputs} & {*node.outputs}
        # What another node reads before would be overwritten under the next stripe's halo.
        if len(loops) != 1 or not nest.can_cut(loops[0]) or updated & self._late:
            return None
        (loop,) = loops
        axes, windows = list[int | None](), list[Window | None]()
        for name, value in zip(names_of(node), operands, strict=True):
            accesses = nest.accesses(name)
            if not any(loop in access.loops for access in accesses):
                axes.append(None)
                windows.append(None)
                continue
            axis = self._axis(value, of)
            size = 0 if axis is None else self.graph.values[value].shape[axis]
            window = _window(nest, accesses, loop, axis, size)
            if window is None:
                return None
            axes.append(axis)
            windows.append(window)
        # Results must be written row by row, each once, and so must be what they overwrite;
        # windows are for operands.
        one, count = Window(size=nest.extents[loop]), len(node.inputs)
        if any(
            window != one
            for place, (value, window) in enumerate(zip(operands, windows, strict=True))
            if place >= count or value in updated
        ):
            return None
        return RowCut(loop, nest.extents[loop], tuple(axes), tuple(windows))


def _along(
    nest: LoopNest, names: Sequence[str], batches: Sequence[int | None], inputs: int
) -> dict[str, list[_Indexed]]:
    """Return the axes, beside the batch, whose index has a loop of all results with a batch."""
    operands = [
        (place, nest.accesses(name), batch)
        for place, (name, batch) in enumerate(zip(names, batches, strict=True))
        if batch is not None
    ]
    plain = [
        {index.loop for index in access.axes if index is not None}
        for place, accesses, _ in operands
        if place >= inputs
        for access in accesses
    ]
    common = set.intersection(*plain) if plain else set()
    return {
        loop: [
            _Indexed(place, axis, index)
            for place, accesses, batch in operands
            for access in accesses
            for axis, index in enumerate(access.axes)
            if index is not None and axis != batch and dict(index.terms).get(loop, 0) > 0
        ]
        for loop in sorted(loop for loop in common if loop is not None)
    }


def _window(
    nest: LoopNest, accesses: Sequence[Access], loop: str, axis: int | None, size: int
) -> Window | None:
    """Return the rows that accesses take for those of a loop; None if they are no window."""
    found = set[tuple[int, int, int, int]]()
    for access in accesses:
        if axis is None or any(
            index is not None and any(name == loop for name, _ in index.terms)
            for place, index in enumerate(access.axes)
            if place != axis
        ):
            return None
        index = access.axes[axis]
        stride = 0 if index is None else dict(index.terms).get(loop, 0)
        # A negative stride reads the rows backwards, and stripes go forwards.
        if index is None or stride < 1:
            return None
        # Interval arithmetic over the loops inside the window (kernel rows, dilation).
        reach = [c * (nest.extents[name] - 1) for name, c in index.terms if name != loop]
        low = index.offset + sum(min(each, 0) for each in reach)
        low += index.divisor - 1 if index.exact else 0  # what is not whole begins at the next
        high = index.offset + sum(max(each, 0) for each in reach) + 1
        found.add((stride, index.divisor, low, high))
    (stride, divisor, *_), *others = found
    # Windows of different strides have no common affine form.
    if any(other[:2] != (stride, divisor) for other in others):
        return None
    first = min(low for *_, low, _ in found)
    end = max(high for *_, high in found)
    return Window(size=size, stride=stride, first=first, span=end - first, divisor=divisor)
