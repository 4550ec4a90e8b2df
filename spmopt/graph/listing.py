"""The listing of a graph: its operations on a machine, and how each is cut along the batch."""

from __future__ import annotations

from functools import partial

from spmopt.core.graph import Graph
from spmopt.core.listing import ListedOperation, Listing, PieceModes
from spmopt.core.machine import Machine
from spmopt.graph.axes import LinkedAxes, NodeCut
from spmopt.graph.lower import Lowering, Used
from spmopt.graph.naming import unused
from spmopt.graph.operators.spec import Shape
from spmopt.graph.preparation import LOWERINGS


def listing(graph: Graph, machine: Machine, *, lowering: str = LOWERINGS[0]) -> Listing:
    """Lower ``graph`` as :func:`spmopt.graph.lower.lower` does, in any number of pieces.

    The mode of a piece is that which lowering gives to operands of its shapes and sizes. Numbers of
    pieces are the divisors of the batch.

    Raises
    ------
    InputError
        An unknown lowering or operator, a graph that computes nothing, or one none of whose
        operators can be cut.
    """
    low = Lowering(graph, machine, lowering)
    axes = LinkedAxes(low.graph)
    batch = axes.pieces(axes.batch)
    divisors = [pieces for pieces in range(1, batch + 1) if batch % pieces == 0]
    names: set[str] = set()
    operations = []
    for at, node in enumerate(low.nodes):
        cut, used = axes.cut(node, axes.batch), low.used[at]
        operation = ListedOperation(
            name=unused(node.name, names),
            reads=used.reads,
            writes=used.writes,
            cut=frozenset(_tensors(used, cut, whole=False)),
            sums=frozenset(t for t in _tensors(used, cut, whole=True) if t in used.outputs),
            kind=node.operator,
        )
        for pieces in divisors if cut is not None else divisors[:1]:
            operation.modes[pieces] = _modes(low, at, cut, operation, pieces)
        operations.append(operation)
    return Listing(
        name=graph.name,
        machine=machine,
        tensors=low.tensors,
        operations=tuple(operations),
        batch=batch,
        lowering=low.name,
        graph=low.graph,
    )


def _tensors(used: Used, cut: NodeCut | None, *, whole: bool) -> list[int]:
    """Return the tensors that are cut, or those that stay whole to each piece."""
    if cut is None:
        return []
    places = zip(used.inputs + used.outputs, cut.inputs + cut.outputs, strict=True)
    return [tensor for tensor, axis in places if (axis is None) == whole]


def _modes(
    low: Lowering, at: int, cut: NodeCut | None, operation: ListedOperation, pieces: int
) -> PieceModes:
    """Return the modes of ``pieces`` of an operation."""
    used, shapes = low.used[at], low.shapes(low.nodes[at])
    if cut is not None and pieces > 1:
        shapes = (
            tuple(map(partial(_part, pieces), shapes[0], cut.inputs)),
            tuple(map(partial(_part, pieces), shapes[1], cut.outputs)),
        )
    sizes = {t: low.sizes[t] // (pieces if t in operation.cut else 1) for t in operation.uses(0)}
    first = low.mode(at, used, shapes, sizes)
    sums = operation.reads_of(1)[len(operation.reads) :]
    if pieces == 1 or not sums:
        return PieceModes(first, first)
    return PieceModes(first, low.mode(at, Used(used.inputs + sums, used.outputs), shapes, sizes))


def _part(pieces: int, shape: Shape, axis: int | None) -> Shape:
    """Return the shape of one of ``pieces`` along an axis."""
    if axis is None:
        return shape
    return (*shape[:axis], shape[axis] // pieces, *shape[axis + 1 :])
