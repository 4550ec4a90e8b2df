"""The graph of a graph: operations on a machine, and how each is cut into tiles and stripes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from math import lcm

from spmopt.core.fusion.fused_groups import TileableOperation, TileMappings
from spmopt.core.fusion.row_windows import Rows, Window
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.graph import operators
from spmopt.graph.axes import LinkedAxes, NodeCut
from spmopt.graph.lower import Mapper, Used, lower
from spmopt.graph.naming import Names, find_unused
from spmopt.graph.operators.spec import Shape
from spmopt.graph.preparation import LOWERINGS
from spmopt.graph.rows import RowAxes
from spmopt.graph.tile_axes import TileAxis, tile_axes

MOST_TILES = 256
"""Fusion tiles along a further axis: finer ones take steps, and arrays have hundreds of columns."""


def lower_listed(graph: Graph, machine: Machine, *, mapper: str = LOWERINGS[0]) -> Problem:
    """Lower ``graph``, knowing how each operation is cut (:attr:`~spmopt.core.Problem.listed`).

    Raises
    ------
    InputError
        As :func:`spmopt.graph.lower.lower`.
    """
    whole = lower(graph, machine, mapper=mapper)
    listed = partial(tileable, graph, mapper=mapper)
    return whole.label(name=whole.name, source=whole.source, listed=listed)


def tileable(graph: Graph, machine: Machine, *, mapper: str = LOWERINGS[0]) -> TileableGraph:
    """Lower ``graph`` as :func:`spmopt.graph.lower.lower` does, in any number of fusion tiles.

    The mappings of a fusion tile are those that lowering gives to operands of its shapes and sizes.
    Numbers of fusion tiles are the divisors of the batch, and along further axes divisors of their
    lengths that are at least twice the one before, up to :data:`MOST_TILES`; a micro-batch, one of
    as many as there are, may be cut into stripes. Fusion tiles and rows are whole bytes: parts cut
    within a byte, as odd numbers of ``int4`` are, would be less than the tensor in all.

    Raises
    ------
    InputError
        An unknown lowering or operator, a graph that computes nothing, or one none of whose
        operators can be cut.
    """
    low = Mapper(graph, machine, mapper)
    axes = LinkedAxes(low.graph)
    first, *further = tile_axes(axes)
    striped, names = StripeMappings(low, axes), Names()
    untiled = [
        TileableOperation(
            name=find_unused(node.name, names),
            reads=used.reads,
            writes=used.writes,
            kind=low.kind(at),
            element_type=low.product_types[at] or "",
            rows=rows,
        )
        for at, (node, used, rows) in enumerate(zip(low.nodes, low.used, striped.rows, strict=True))
    ]
    every = _tile(low, axes, first, untiled)
    # Stripes cut rows. Fusion tiles along a further axis of the same rows would make a grid of
    # parts that are none.
    others = [
        (axis, _tile(low, axes, axis, every))
        for axis in further
        if not striped.are_along([axis.cut(axes, node) for node in low.nodes])
    ]
    found = TileableGraph(
        name=graph.name,
        machine=machine,
        tensors=low.tensors,
        operations=tuple(every),
        batch=axes.micro_batches(axes.batch),
        along=first.name,
        mapper=low.name,
        graph=low.graph,
        stripe_mappings=striped,
        first_stripe_mappings=striped.in_first_mappings(),
    )
    some = [(axis, own) for axis, own in others if _fuses(own)]
    return replace(found, others=tuple(_along(found, axis.name, own) for axis, own in some))


def _fuses(operations: Sequence[TileableOperation]) -> bool:
    """Return whether two operations in a row can be tiled along an axis, a product among them.

    Where there is no product, any two: point-wise work alone is tiled along the first axis.
    """
    products = any(each.is_product for each in operations)
    return any(
        min(len(one.mappings), len(two.mappings)) > 1
        and (one.is_product or two.is_product or not products)
        for one, two in pairwise(operations)
    )


def _along(
    graph: TileableGraph, name: str, operations: Sequence[TileableOperation]
) -> TileableGraph:
    """Return the operations of a graph as they are tiled along a further axis."""
    most = lcm(*(count for each in operations for count in each.mappings))
    return replace(
        graph,
        operations=tuple(operations),
        batch=most,
        along=name,
        graph=None,
        stripe_mappings=None,
        first_stripe_mappings=None,
    )


def _tile(
    low: Mapper, axes: LinkedAxes, axis: TileAxis, operations: Sequence[TileableOperation]
) -> list[TileableOperation]:
    """Return operations as they are tiled along an axis, a further one if they have mappings."""
    known: dict[object, dict[int, TileMappings]] = {}
    found = list[TileableOperation]()
    for at, operation in enumerate(operations):
        used, way = low.used[at], axis.cut(axes, low.nodes[at])
        cut, most = (None, 1) if way is None else way
        whole = {*_tensors(used, cut, whole=True)}
        tiled = replace(
            operation,
            # A tensor that a tile reads in full, as keys, is whole to it even where it reads a
            # share of it as well.
            cut=frozenset(_tensors(used, cut, whole=False)) - whole,
            partial_sums=frozenset(whole & {*used.outputs}),
            rows=None if operation.mappings else operation.rows,
        )
        tensors = used.inputs + used.outputs
        key = (low.alike(at), cut, most, tuple([t in tiled.cut for t in tensors]))
        mappings = known.get(key)
        if mappings is None:
            mappings = known[key] = {
                # Parts within a byte (int4) are left out: their sum would exceed the tensor.
                count: _mappings(low, at, cut, tiled, count)
                for count in _counts(most, further=bool(operation.mappings))
                if not any(low.sizes[t] % count for t in tiled.cut)
            }
        whole_mapping = {k: each for k, each in operation.mappings.items() if k == 1}
        found.append(replace(tiled, mappings={**whole_mapping, **mappings}))
    return found


@lru_cache
def _counts(most: int, *, further: bool) -> tuple[int, ...]:
    """Return numbers of tiles: all divisors, or of a further axis some, without 1."""
    found = [1]
    for count in range(2, (min(most, MOST_TILES) if further else most) + 1):
        if most % count == 0 and (not further or count >= 2 * found[-1]):
            found.append(count)
    return tuple(found[further:])


class StripeMappings:
    """How operations are cut into stripes, and the mapping of each stripe."""

    def __init__(self, low: Mapper, axes: LinkedAxes) -> None:
        self.low, self.axes = low, axes
        rows = RowAxes(axes)
        self._batch = axes.micro_batches(axes.batch)
        self._known: dict[tuple[int, int, int], tuple[OpMapping, ...]] = {}
        self._cuts = [(axes.cut(node, axes.batch), rows.cut(node)) for node in low.nodes]
        self.rows: list[Rows | None] = []
        layouts: dict[int, object] = {}
        for (batch, cut), node, used in zip(self._cuts, low.nodes, low.used, strict=True):
            found: dict[int, Window] = {}
            values, tensors = (*node.inputs, *node.outputs), used.inputs + used.outputs
            fits = batch is not None and cut is not None
            for value, tensor, window in zip(
                values, tensors, cut.windows if cut else (), strict=fits
            ):
                if window is not None:
                    # Views of a tensor must see the same rows, and all reads of it the same window.
                    same = layouts.setdefault(tensor, rows.layout(value)) == rows.layout(value)
                    fits &= same and found.setdefault(tensor, window) == window
            fits &= used.reads != () and found.keys() >= {*used.outputs}
            # A tensor with rows in a stripe has a share of the batch too, and is nowhere whole.
            shared = {*_tensors(used, batch, whole=True)}
            whole = cut.windows if cut else ()
            shared |= {t for t, window in zip(tensors, whole, strict=fits) if window is None}
            fits &= not found.keys() & shared
            # Of what is cut each row of each micro-batch is whole bytes.
            parts = dict.fromkeys(_tensors(used, batch, whole=False), self._batch)
            parts |= {t: self._batch * window.size for t, window in found.items()}
            fits &= not any(low.sizes[t] % count for t, count in parts.items())
            self.rows.append(Rows(cut.count, found) if cut and fits else None)

    def are_along(self, ways: Sequence[tuple[NodeCut, int] | None]) -> bool:
        """Return whether stripes and fusion tiles, by node, cut any operand along one axis."""
        return any(
            axis is not None and axis == other
            for (_, cut), rows, way in zip(self._cuts, self.rows, ways, strict=True)
            if rows is not None and cut is not None and way is not None
            for axis, other in zip(cut.axes, (*way[0].inputs, *way[0].outputs), strict=True)
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Caches of mappings are large; another process builds its own from the graph.
        return _make_stripes, (self.low.graph, self.low.machine, self.low.name)

    @property
    def portable(self) -> bool:
        """Whether another process knows all operators."""
        return not any(node.operator in operators.SPECS.added for node in self.low.nodes)

    def in_first_mappings(self) -> StripeMappings:
        """Return the same with the first mapping of each operation alone."""
        # A copy would be made as in another process, from the graph.
        found = object.__new__(type(self))
        vars(found).update(vars(self), low=self.low.in_first_mappings(), _known={})
        return found

    def __call__(self, at: int, begin: int, end: int) -> tuple[OpMapping, ...]:
        """Return the mappings of rows [begin, end) of one micro-batch of an operation."""
        rows = self.rows[at]
        if rows is not None and rows.plain:
            begin, end = 0, end - begin
        found = self._known.get((at, begin, end))
        if found is None:
            found = self._known[at, begin, end] = self._mappings(at, begin, end)
        return found

    def _mappings(self, at: int, begin: int, end: int) -> tuple[OpMapping, ...]:
        low, (batch, cut) = self.low, self._cuts[at]
        used, rows = low.used[at], self.rows[at]
        assert batch is not None
        assert cut is not None
        assert rows is not None
        shapes, worked, sizes = list[Shape](), list[Shape](), dict[int, int]()
        operands = zip(
            used.inputs + used.outputs,
            (shape for each in low.shapes(low.nodes[at]) for shape in each),
            batch.inputs + batch.outputs,
            cut.axes,
            strict=True,
        )
        for tensor, shape, of_batch, of_rows in operands:
            sizes[tensor] = low.sizes[tensor] // (1 if of_batch is None else self._batch)
            mine = done = _part(self._batch, shape, of_batch)
            if of_rows is not None:
                window = rows.windows[tensor]
                first, last = window.rows(begin, end, rows.count)
                # Divides exactly: `__init__` refused tensors whose rows are no whole bytes.
                sizes[tensor] = sizes[tensor] // window.size * (last - first)
                mine = (*mine[:of_rows], last - first, *mine[of_rows + 1 :])
                # Two stripes read the rows of a halo; each row is computed once.
                share = end * window.size // rows.count - begin * window.size // rows.count
                done = (*mine[:of_rows], max(share, 1), *mine[of_rows + 1 :])
            shapes.append(mine)
            worked.append(done)
        inputs = len(used.inputs)
        results = tuple(shapes[inputs:])
        return low.mappings(
            at,
            used,
            (tuple(shapes[:inputs]), results),
            sizes,
            worked=(tuple(worked[:inputs]), results),
        )


def _make_stripes(graph: Graph, machine: Machine, mapper: str) -> StripeMappings:
    return StripeMappings(Mapper(graph, machine, mapper), LinkedAxes(graph))


def _tensors(used: Used, cut: NodeCut | None, *, whole: bool) -> list[int]:
    """Return the tensors that are cut, or those that stay whole to each fusion tile."""
    if cut is None:
        return []
    places = zip(used.inputs + used.outputs, cut.inputs + cut.outputs, strict=True)
    return [tensor for tensor, axis in places if (axis is None) == whole]


def _mappings(
    low: Mapper, at: int, cut: NodeCut | None, operation: TileableOperation, micro_batches: int
) -> TileMappings:
    """Return the mappings of ``micro_batches`` of an operation."""
    used, shapes = low.used[at], low.shapes(low.nodes[at])
    if cut is not None and micro_batches > 1:
        shapes = (
            tuple(map(partial(_part, micro_batches), shapes[0], cut.inputs)),
            tuple(map(partial(_part, micro_batches), shapes[1], cut.outputs)),
        )
    sizes = {
        t: low.sizes[t] // (micro_batches if t in operation.cut else 1) for t in operation.uses(0)
    }
    first = low.mappings(at, used, shapes, sizes)
    # From the second micro-batch on the sums so far are operands as well.
    partial_sums = operation.reads_of(1)[len(operation.reads) :]
    if micro_batches == 1 or not partial_sums:
        return TileMappings.of(first, first)
    more = Used(used.inputs + partial_sums, used.outputs)
    return TileMappings.of(first, low.mappings(at, more, shapes, sizes))


def _part(micro_batches: int, shape: Shape, axis: int | None) -> Shape:
    """Return the shape of one of ``micro_batches`` along an axis."""
    if axis is None:
        return shape
    return (*shape[:axis], shape[axis] // micro_batches, *shape[axis + 1 :])
