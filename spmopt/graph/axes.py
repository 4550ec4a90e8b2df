"""Axes that run together through a graph: where its operators can be fused.

A loop of an operator that runs along an axis of several operands links these axes; so does a view
whose leading axes hold the same elements in the same order. Axes that are linked, directly or by
others, are cut together, each in as many equal fusion tiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from math import gcd, isqrt
from typing import TYPE_CHECKING, NamedTuple

from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import BATCH
from spmopt.core.graph import Graph, Node
from spmopt.core.loops import LoopNest
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.layouts import Layout, first_run, layouts
from spmopt.graph.operators.attributes import integers
from spmopt.graph.operators.gathering import gather
from spmopt.graph.operators.spec import Shape, Style

if TYPE_CHECKING:
    from networkx.utils import UnionFind

_LIKELY = 4
"""Of the classes with the most axes, those that are tried."""
_LONG, _FAR = 16, 4
"""Lengths that are cut unevenly, from so many on, where the next divisor is more times as large."""
Axis = tuple[int, int]
"""A value and one of its axes."""


def no_links() -> UnionFind[Axis]:
    """Return classes of axes of which none are linked yet."""
    # To import it takes a tenth of a second, and of most networks nothing is cut.
    from networkx.utils import UnionFind

    return UnionFind()


@dataclass(frozen=True, slots=True)
class NodeCut:
    """How a node is cut: the axis of each input and of each output, None of untiled values.

    An output without an axis is a sum over the fusion tiles.
    """

    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]


class LinkedAxes:
    """Classes of axes of a graph that are cut together.

    ``classes``: the symbol for the class of each axis of each value.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[object, LoopNest] = {}
        self._cuts: dict[object, NodeCut | None] = {}
        self._main: dict[tuple[int, Axis], list[int]] = {}
        self._spans: dict[tuple[int, Axis], int | None] = {}
        self._tiles: dict[Axis, int] = {}
        links = no_links()
        for node in graph.nodes:
            for axes in self._link(node):
                links.union(*axes)
        self.classes = classes(links, graph)

    def members(self, of: Axis) -> Mapping[int, tuple[int, ...]]:
        """Return the axes of each value that are of a class: of values that have such axes."""
        return self._members[of]

    @cached_property
    def _members(self) -> dict[Axis, dict[int, tuple[int, ...]]]:
        found: dict[Axis, dict[int, tuple[int, ...]]] = {}
        for value, axes in enumerate(self.classes):
            for axis, each in enumerate(axes):
                # A value may have two axes of one class, as scores of self-attention have.
                own = found.setdefault(each, {})
                own[value] = (*own.get(value, ()), axis)
        return found

    @cached_property
    def batch(self) -> Axis:
        """The class of the batch.

        Of the first axes of inputs, that along which most nodes can be cut, if these are half of
        all; else the class along which most can be, as where an input holds all time steps, or of
        one sequence its tokens. A class that has but one fusion tile, of lengths without a common
        divisor, is none: of one image, the first axis stays, beside which there are rows.

        Raises
        ------
        InputError
            No node can be cut.
        """
        graph = self.graph
        members = Counter(chain.from_iterable(self.classes))
        first = {
            self.classes[index][0]
            for index, value in enumerate(graph.values)
            if value.kind is TensorKind.INPUT and value.shape
        }
        # Counting cuts visits every node, so only classes that many axes are in are tried.
        likely = dict.fromkeys([*first, *(each for each, _ in members.most_common(_LIKELY))])
        cuts = {
            each: sum(self.cut(node, each) is not None for node in graph.nodes) for each in likely
        }
        half = len(graph.nodes) / 2
        best = max(
            likely,
            key=lambda each: (
                # Order matters: a true batch wins over a longer axis that is cut in more nodes.
                each in first and cuts[each] >= half and self._most(each) > 1,
                each in first or self._most(each) > 1,
                cuts[each],
            ),
            default=None,
        )
        if best is None or not cuts[best]:
            raise InputError(f"graph {graph.name}: none of its operators can be cut")
        return best

    @property
    def name(self) -> str:
        """Name of the class of the batch for a reader: the batch, or an axis of a tensor."""
        graph = self.graph
        kinds = (TensorKind.INPUT, TensorKind.ACTIVATION, TensorKind.WEIGHT)
        for kind in kinds:
            for index, value in enumerate(graph.values):
                axis = self.axis(index, self.batch) if value.kind is kind else None
                if axis is not None:
                    first = kind is not TensorKind.WEIGHT and axis == 0
                    return BATCH if first else f"axis {axis} of {value.name}"
        return BATCH

    def axis(self, value: int, of: Axis) -> int | None:
        """Return the axis of a value along which a class cuts it, if any.

        Of several, as queries and keys of the scores of self-attention, the one along which most of
        its nodes can be cut. A tensor has the same parts in each view: one whose axis stands
        elsewhere in memory is not cut.
        """
        found = self.members(of).get(value)
        if found is None:
            return None
        known = self._main.get((value, of))
        if known is None:
            span = self._span(self._roots[value], of)
            known = [axis for axis in found if span in (None, self._span_of(value, axis))]
            self._main[value, of] = known
        return known[0] if known else None

    def _span(self, root: int, of: Axis) -> int | None:
        """Return the elements of memory that the axis of a tensor along a class spans.

        None where all axes of the class, in all views, span as many.
        """
        if (root, of) not in self._spans:
            can = Counter[int]()
            for value in self._views[root]:
                for axis in self.members(of).get(value, ()):
                    loops = [
                        (node, _loop_along(self.nest(node), node, value, axis))
                        for node in self._nodes_of[value]
                    ]
                    can[self._span_of(value, axis)] += sum(
                        loop is not None and self.nest(node).can_cut(loop) for node, loop in loops
                    )
            best = max(can, key=lambda span: (can[span], span), default=None)
            self._spans[root, of] = best if len(can) > 1 else None
        return self._spans[root, of]

    def _span_of(self, value: int, axis: int) -> int:
        layout = self._layouts[value]
        length, stride = first_run(() if layout is None else layout[axis])
        return length * stride

    @cached_property
    def _roots(self) -> list[int]:
        """The tensor of each value: a view of a view has its root already."""
        found = list(range(len(self.graph.values)))
        for node in self.graph.nodes:
            if operators.lookup(node.operator).style is Style.VIEW:
                found[node.outputs[0]] = found[node.inputs[0]]
        return found

    @cached_property
    def _views(self) -> list[list[int]]:
        """The values of each tensor that nodes use, views among them."""
        found: list[list[int]] = [[] for _ in self.graph.values]
        for value, root in enumerate(self._roots):
            if self._nodes_of[value]:
                found[root].append(value)
        return found

    @cached_property
    def _layouts(self) -> list[Layout | None]:
        return layouts(self.graph)

    @cached_property
    def _nodes_of(self) -> list[list[Node]]:
        """Nodes that compute or use each value, but views."""
        found: list[list[Node]] = [[] for _ in self.graph.values]
        for node in self.graph.nodes:
            if operators.lookup(node.operator).style is not Style.VIEW:
                for value in {*node.inputs, *node.outputs}:
                    found[value].append(node)
        return found

    @cached_property
    def uneven(self) -> bool:
        """Whether the batch is cut into uneven tiles, as rows are: few numbers divide its length.

        Not of images over which windows slide, which have rows beside the batch, nor in training:
        gradients of weights are sums over equal tiles.
        """
        graph, most = self.graph, self._most(self.batch)
        small = [k for k in range(1, isqrt(most) + 1) if most % k == 0]
        every = sorted({*small, *(most // k for k in small)})
        if most < _LONG or all(_FAR * k >= more for k, more in pairwise(every)):
            return False
        if any(value.kind is TensorKind.WEIGHT_GRADIENT for value in graph.values):
            return False
        # Of a square product of a matrix with itself rows are columns, too.
        if all(len(own) != 1 for own in self.members(self.batch).values()):
            return False
        slides = any(
            self.nest(node).slides
            for node in graph.nodes
            if operators.lookup(node.operator).style is not Style.VIEW
        )
        return not slides or self.name != BATCH

    def micro_batches(self, of: Axis) -> int:
        """Return the most equal fusion tiles that all axes of a class are cut into."""
        return 1 if of == self.batch and self.uneven else self._most(of)

    def _most(self, of: Axis) -> int:
        """Return the most equal fusion tiles that all axes of a class can be cut into."""
        found = self._tiles.get(of)
        if found is None:
            # Every axis of the class must divide into equal tiles, of one stretch of memory each:
            # the gcd is the most there can be.
            pairs = [(self._layouts[value], own) for value, own in self.members(of).items()]
            found = gcd(
                *{1 if laid is None else first_run(laid[a])[0] for laid, own in pairs for a in own}
            )
            self._tiles[of] = found
        return found

    def cut(self, node: Node, of: Axis) -> NodeCut | None:
        """Return how a node is cut along a class; None where it cannot be."""
        operands = (*node.inputs, *node.outputs)
        if not any(of in self.classes[value] for value in operands):
            return None
        members = self.members(of)
        inside = tuple([members.get(value, ()) for value in operands])
        main = tuple([self.axis(value, of) for value in operands])
        # Of an input that is updated in place: which output it is.
        # An update in place has one tensor in two places; the statements name the output only.
        updated = tuple([node.outputs.index(v) if v in node.outputs else -1 for v in node.inputs])
        nest = self.nest(node)
        # Most nodes of a large network are like another.
        key = (id(nest), inside, main, updated)
        if key not in self._cuts:
            self._cuts[key] = _cut(nest, _Operands(names_of(node), inside, main, updated))
        return self._cuts[key]

    def nest(self, node: Node) -> LoopNest:
        """Return the computation of a node; nothing where that is not known."""
        shapes = self.graph.shapes(node.inputs), self.graph.shapes(node.outputs)
        # The nest depends on nothing else, so that repeated layers share one.
        key = (node.operator, shapes, tuple(node.attributes.items()))
        if key not in self._known:
            # A node without statements links nothing and cannot be cut, which is safe.
            nest, spec = operators.computation(node, *shapes), operators.lookup(node.operator)
            # A gradient is in no fused group of stripes: that of weights, beside it, sums over
            # rows. From an output_shape ONNX derives the padding, which no attribute then says.
            if spec.shapes is not None and "output_shape" not in node.attributes:
                operands = (*node.inputs, *node.outputs)
                named = zip(names_of(node), self.graph.shapes(operands), strict=True)
                nest = gather(nest, dict(named))
            self._known[key] = nest
        return self._known[key]

    def _link(self, node: Node) -> Iterator[Sequence[Axis]]:
        """Return axes that a node links, one set after another."""
        values = self.graph.values
        # A view has no statements; its links follow from the row-major order of elements.
        if operators.lookup(node.operator).style is Style.VIEW:
            source, result = node.inputs[0], node.outputs[0]
            for one, other in inspect(node, values[source].shape, values[result].shape):
                yield (source, one), (result, other)
            return
        for value in {*node.inputs} & {*node.outputs}:
            yield from (((value, axis),) for axis in range(len(values[value].shape)))
        nest = self.nest(node)
        along: dict[str, list[Axis]] = {}
        for name, value in zip(names_of(node), (*node.inputs, *node.outputs), strict=True):
            for access in nest.accesses(name):
                for axis, index in enumerate(access.axes):
                    # A loop over the first of more elements (a slice) has other fusion tiles than
                    # they.
                    if (
                        index is not None
                        and index.loop is not None
                        and nest.extents[index.loop] == values[value].shape[axis]
                    ):
                        along.setdefault(index.loop, []).append((value, axis))
        yield from along.values()


def classes(links: UnionFind[Axis], graph: Graph) -> list[tuple[Axis, ...]]:
    """Return the symbol for the class of each axis of each value."""
    return [
        tuple([links[value, axis] for axis in range(len(each.shape))])
        for value, each in enumerate(graph.values)
    ]


def _loop_along(nest: LoopNest, node: Node, value: int, axis: int) -> str | None:
    """Return the loop of a node that runs along an axis of a value, if one does."""
    operands = zip(names_of(node), (*node.inputs, *node.outputs), strict=True)
    for name in [name for name, operand in operands if operand == value]:
        for access in nest.accesses(name):
            index = access.axes[axis]
            if index is not None and index.loop is not None:
                return index.loop
    return None


class _Operands(NamedTuple):
    """Operands of a node, inputs and outputs, and how a class of axes stands in them.

    ``inside``: the axes of the class that each has; ``main``: the one along which it is cut;
    ``updated``: of each input, which output it is, or -1.
    """

    names: Sequence[str]
    inside: Sequence[tuple[int, ...]]
    main: Sequence[int | None]
    updated: Sequence[int]


def _cut(nest: LoopNest, operands: _Operands) -> NodeCut | None:
    """Return how a node is cut along a class."""
    loops = {
        index.loop: None
        for name, axes in zip(operands.names, operands.inside, strict=True)
        for access in nest.accesses(name)
        for axis, index in enumerate(access.axes)
        if index is not None and index.loop and axis in axes
    }
    # A class stands on two loops of a node where tokens look at tokens: the loop of the result is
    # cut, or else one that is summed up, and operands along the other are whole to each tile.
    cuts = [_cut_loop(nest, operands, loop, alone=len(loops) == 1) for loop in loops]
    found = [each for each in cuts if each is not None]
    return max(found, key=lambda each: sum(a is not None for a in each.outputs), default=None)


def _cut_loop(nest: LoopNest, operands: _Operands, loop: str, *, alone: bool) -> NodeCut | None:
    """Return how a node is cut along a loop of a class, perhaps ``alone`` in it."""
    if not nest.can_cut(loop):
        return None
    try:
        found = [nest.axis(name, loop) for name in operands.names]
    except ValueError:
        return None
    count = len(operands.updated)
    for place, output in enumerate(operands.updated):
        if output >= 0:  # no statement says so
            found[place] = found[count + output]
    for axis, axes, own in zip(found, operands.inside, operands.main, strict=True):
        # Each cut is along the class. An operand with an axis of it is whole where that is another
        # loop's.
        if axis != own if axis is not None else axes and alone:
            return None
    return NodeCut(inputs=tuple(found[:count]), outputs=tuple(found[count:]))


def names_of(node: Node) -> list[str]:
    """Return the names of its operands in statements: inputs, then outputs."""
    inputs = [f"x{k}" for k in range(len(node.inputs))]
    return inputs + [f"y{k}" for k in range(len(node.outputs))]


def inspect(node: Node, source: Shape, result: Shape) -> list[tuple[int, int]]:
    """Return pairs of axes whose equal fusion tiles hold the same elements, of a view."""
    if node.operator == "StridedView":
        return _stride(node, source, result)
    if node.operator == "StridedViewGradient":
        # The gradient of a view goes the same way back: result and source change places.
        return [(one, other) for other, one in _stride(node, result, source)]
    return same_leading(source, result)


def _stride(node: Node, source: Shape, result: Shape) -> list[tuple[int, int]]:
    """Follow axes through a view in another order: split, then in order, then joined."""
    split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
    joined = dict(same_leading(tuple(split[axis] for axis in perm), result))
    return [
        (one, joined[perm.index(part)])
        for one, part in same_leading(source, split)
        if perm.index(part) in joined
        # Both ends in more fusion tiles than the part between them has would be of two other parts.
        and split[part] % gcd(source[one], result[joined[perm.index(part)]]) == 0
    ]


def same_leading(source: Shape, result: Shape) -> list[tuple[int, int]]:
    """Return pairs of axes whose equal tiles hold the same elements, of a tensor and its view.

    Axes are taken in groups of equal size; the first of each group that is longer than 1 will do.
    """
    pairs = []
    i = j = 0
    while i < len(source) and j < len(result):
        one, other, first = source[i], result[j], (i, j)
        # Grow the smaller side until both groups hold as many elements: then they end together.
        while one != other:
            if one < other:
                i += 1
                one *= source[i]
                # An axis of size 1 has no tiles to offer; the next longer one of its group has.
                first = (i, first[1]) if source[first[0]] == 1 else first
            else:
                j += 1
                other *= result[j]
                first = (first[0], j) if result[first[1]] == 1 else first
        pairs.append(first)
        i, j = i + 1, j + 1
    return pairs
