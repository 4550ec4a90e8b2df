"""What a reader of a result file takes its operations for: pieces of nodes, by names and graph.

Operation ``n[p]`` of a segment in ``K`` pieces runs the ``p``-th of ``K`` equal shares of the loop
that runs along the batch, and tensor ``t[k]`` is the ``k``-th of as many equal shares as there are.
In a segment of bands ``n[p][a:b]`` runs its loop along rows from ``a`` to before ``b``; of a tensor
``t[k][a:b]`` is these rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spmopt.audit.layouts import Layout, first_run, layouts
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.core.instance import Instance
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover
from spmopt.graph import operators
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.operators.loops import Access, LoopNest
from spmopt.graph.operators.spec import Shape, Style
from spmopt.graph.rows import RowAxes
from spmopt.verifier.piece_maps import (
    AccessMap,
    AxisMap,
    Box,
    NodeMap,
    PartMap,
    PieceMap,
    PieceMaps,
    Share,
    StatementMap,
    ValueMap,
)


def piece_maps(graph: Graph, listing: Listing, cover: Cover, instance: Instance) -> PieceMaps:
    """Return what an instance says that it computes of a graph.

    Parameters
    ----------
    listing
        Of the graph: names of its operations, names and sizes of its tensors.

    Raises
    ------
    InputError
        An operation or a tensor that is no piece or part of anything, or a node in pieces whose
        loop along the batch cannot be told.
    """
    axes = LinkedAxes(graph)
    rows, batch = RowAxes(axes), axes.batch
    names = [operation.name for operation in listing.operations]
    kept = [n for n in graph.nodes if operators.lookup(n.operator).style is not Style.VIEW]
    tensor_of = _tensors(graph, kept)
    nests = [axes.nest(node) for node in kept]
    values = [
        _value(index, value.shape, tensor_of, (axes.axis(index, batch), rows.axis(index)), layout)
        for (index, value), layout in zip(enumerate(graph.values), layouts(graph), strict=True)
    ]
    loops = [
        tuple(_loop(node, nest, values, place) for place in range(2))
        for node, nest in zip(kept, nests, strict=True)
    ]
    origin = _origins(names, cover)
    pieces = []
    for operation in instance.operations:
        node, box = _box(operation.name, origin, loops, nests)
        pieces.append(
            PieceMap(
                name=operation.name,
                node=node,
                box=box,
                reads=operation.reads,
                writes=operation.writes,
            )
        )
    tensors = [(each.name, each.size_bytes) for each in listing.tensors]
    return PieceMaps(
        tensors=tensors,
        values=values,
        nodes=[
            _node(name, node, nest) for name, node, nest in zip(names, kept, nests, strict=True)
        ],
        parts=_parts(tensors, values, instance),
        pieces=pieces,
    )


def _value(
    index: int,
    shape: Shape,
    tensor_of: Mapping[int, int],
    axes: tuple[int | None, ...],
    layout: Layout | None,
) -> ValueMap:
    """Return how a value is seen, and where its axes stand in memory.

    Of what has no layout no pieces are known, so that any are refused.
    """
    tensor = tensor_of.get(index, -1)
    if tensor < 0:
        axes = (None,) * len(axes)
    runs = tuple(first_run(() if layout is None or axis is None else layout[axis]) for axis in axes)
    return ValueMap(shape=shape, tensor=tensor, axes=axes, runs=runs)


def _tensors(graph: Graph, kept: Sequence[Node]) -> Mapping[int, int]:
    """Return the tensor of each value that an operation uses: a view is what it is a view of."""
    root = list(range(len(graph.values)))
    for node in graph.nodes:
        if operators.lookup(node.operator).style is Style.VIEW:
            root[node.outputs[0]] = root[node.inputs[0]]
    used = {root[value] for node in kept for value in (*node.inputs, *node.outputs)}
    place = {value: index for index, value in enumerate(sorted(used))}
    return {value: place[each] for value, each in enumerate(root) if each in place}


def _parts(
    tensors: Sequence[tuple[str, int]], values: Sequence[ValueMap], instance: Instance
) -> list[PartMap]:
    """Tell the parts of tensors by their names: ``t``, or ``t[0]``, ``t[1]``, or ``t[0][3:5]``.

    They stand in the order of the tensors, each up to its size.
    """
    rows = {
        value.tensor: value.shape[axis]
        for value in values
        for axis in value.axes[1:]
        if axis is not None
    }
    given, at, found = instance.tensors, 0, list[PartMap]()
    for tensor, (name, size) in enumerate(tensors):
        filled, mine = 0, list[tuple[int, int, tuple[int, int] | None]]()
        while at < len(given) and (filled < size or not mine):
            place = _place(given[at].name, name, tensor in rows)
            if place is None:
                break
            mine.append((at, *place))
            filled += given[at].size_bytes
            at += 1
        of = 1 + max((part for _, part, _ in mine), default=0)
        for index, part, bands in mine:
            share = Share() if bands is None else Share(*bands, rows[tensor])
            found.append(
                PartMap(
                    name=given[index].name,
                    tensor=tensor,
                    shares=(Share(part, part + 1, of), share),
                    size_bytes=given[index].size_bytes,
                )
            )
    if at < len(given):
        raise InputError(f"tensor {given[at].name}: is no part of a value by its name")
    return found


_RANGE = r"\[(\d{1,9}):(\d{1,9})\]"
_PART = re.compile(rf"(?:\[(\d{{1,9}})\])?(?:{_RANGE})?")
_BAND = re.compile(rf"(.*){_RANGE}", re.DOTALL)


def _place(given: str, name: str, rows: bool) -> tuple[int, tuple[int, int] | None] | None:
    """Return which piece of the batch, and which rows, a part of a tensor is by its name."""
    match = _PART.fullmatch(given.removeprefix(name)) if given.startswith(name) else None
    if match is None or (match[2] and not rows):
        return None
    return int(match[1] or 0), (int(match[2]), int(match[3])) if match[2] else None


_Origins = dict[tuple[str, bool], list[tuple[int, int, int]]]
"""By the names of pieces, and whether the rows of a band follow: nodes, and pieces of how many."""


def _origins(names: Sequence[str], cover: Cover) -> _Origins:
    """Return the nodes and pieces that go by each name."""
    found: _Origins = {}
    for segment in cover:
        for piece in range(segment.pieces):
            for at in range(segment.begin, segment.end):
                name = f"{names[at]}[{piece}]" if segment.pieces > 1 else names[at]
                known = found.setdefault((name, segment.bands > 1), [])
                known += [(at, piece, segment.pieces)] * segment.bands
    return found


def _box(
    name: str, origin: _Origins, loops: Sequence[Sequence[str | None]], nests: Sequence[LoopNest]
) -> tuple[int, Box]:
    """Return the node of an operation, and the box of its loops, by its name."""
    known, band = origin.get((name, False)), None
    if not known:
        band = _BAND.fullmatch(name)
        known = origin.get((band[1], True)) if band else None
    if not known:
        raise InputError(f"operation {name}: is no piece of a node by its name")
    node, piece, count = known.pop(0) if len(known) > 1 else known[0]
    box = dict[str, tuple[int, int]]()
    batch, rows = loops[node]
    if count > 1:
        if batch is None:
            raise InputError(f"operation {name}: no loop of it runs along the batch")
        extent = nests[node].extents[batch]
        box[batch] = (piece * extent // count, (piece + 1) * extent // count)
    if band is not None:
        if rows is None:
            raise InputError(f"operation {name}: no loop of it runs along rows")
        box[rows] = (int(band[2]), int(band[3]))
    return node, box


def _loop(node: Node, nest: LoopNest, values: Sequence[ValueMap], place: int) -> str | None:
    """Return the loop along the batch, or along rows, if it is one."""
    found = set()
    # Windows slide over rows of what is read; those of results are rows of a loop.
    read = _operands("x", node.inputs) if place == 0 else []
    for name, value in (*read, *_operands("y", node.outputs)):
        axis = values[value].axes[place]
        for access in nest.accesses(name) if axis is not None else []:
            index = access.axes[axis or 0]
            found.add(None if index is None else index.loop)
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def _operands(letter: str, values: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"{letter}{place}", value) for place, value in enumerate(values)]


def _node(name: str, node: Node, nest: LoopNest) -> NodeMap:
    return NodeMap(
        name=name,
        extents=nest.extents,
        statements=tuple(
            StatementMap(target=_access(each.target), reads=tuple(map(_access, each.reads)))
            for each in nest.statements
        ),
        inputs=dict(_operands("x", node.inputs)),
        outputs=dict(_operands("y", node.outputs)),
    )


def _access(access: Access) -> AccessMap:
    axes = (
        None if i is None else AxisMap(i.terms, i.offset, i.divisor, i.exact) for i in access.axes
    )
    return AccessMap(operand=access.tensor, axes=tuple(axes))
