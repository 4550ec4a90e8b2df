"""What a reader of a result file takes its operations for: pieces of nodes, by names and graph.

Operation ``n[p]`` of a segment in ``K`` pieces runs the ``p``-th of ``K`` equal shares of the loop
that runs along the batch, and tensor ``t[k]`` is the ``k``-th of as many equal shares as there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.core.instance import Instance
from spmopt.core.listing import Cover, Listing
from spmopt.graph import operators
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.operators.loops import Access, LoopNest
from spmopt.graph.operators.spec import Style
from spmopt.verifier.piece_maps import (
    AccessMap,
    AxisMap,
    NodeMap,
    PartMap,
    PieceMap,
    PieceMaps,
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
    batch = axes.batch
    names = [operation.name for operation in listing.operations]
    kept = [n for n in graph.nodes if operators.lookup(n.operator).style is not Style.VIEW]
    tensor_of = _tensors(graph, kept)
    parts = _parts([(each.name, each.size_bytes) for each in listing.tensors], instance)
    nests = [axes.nest(node) for node in kept]
    along = [_loop(axes, node, nest) for node, nest in zip(kept, nests, strict=True)]
    origin = _origins(names, cover)
    pieces = []
    for operation in instance.operations:
        known = origin.get(operation.name)
        if not known:
            raise InputError(f"operation {operation.name}: is no piece of a node by its name")
        node, piece, count = known.pop(0) if len(known) > 1 else known[0]
        box = {}
        if count > 1:
            loop = along[node]
            if loop is None:
                raise InputError(f"operation {operation.name}: no loop of it runs along the batch")
            extent = nests[node].extents[loop]
            box[loop] = (piece * extent // count, (piece + 1) * extent // count)
        pieces.append(
            PieceMap(
                name=operation.name,
                node=node,
                box=box,
                reads=operation.reads,
                writes=operation.writes,
            )
        )
    return PieceMaps(
        tensors=[(each.name, each.size_bytes) for each in listing.tensors],
        values=[
            ValueMap(
                shape=value.shape,
                tensor=tensor_of.get(index, -1),
                axis=axes.axis(index, batch) if index in tensor_of else None,
            )
            for index, value in enumerate(graph.values)
        ],
        nodes=[
            _node(name, node, nest) for name, node, nest in zip(names, kept, nests, strict=True)
        ],
        parts=parts,
        pieces=pieces,
    )


def _tensors(graph: Graph, kept: Sequence[Node]) -> Mapping[int, int]:
    """Return the tensor of each value that an operation uses: a view is what it is a view of."""
    root = list(range(len(graph.values)))
    for node in graph.nodes:
        if operators.lookup(node.operator).style is Style.VIEW:
            root[node.outputs[0]] = root[node.inputs[0]]
    used = {root[value] for node in kept for value in (*node.inputs, *node.outputs)}
    place = {value: index for index, value in enumerate(sorted(used))}
    return {value: place[each] for value, each in enumerate(root) if each in place}


def _parts(tensors: Sequence[tuple[str, int]], instance: Instance) -> list[PartMap]:
    """Tell the parts of tensors by their names: ``t``, or ``t[0]``, ``t[1]`` and so on.

    They stand in the order of the tensors, each up to its size.
    """
    given, at, found = instance.tensors, 0, list[PartMap]()
    for tensor, (name, size) in enumerate(tensors):
        first, filled = at, 0
        while at < len(given) and given[at].name == f"{name}[{at - first}]" and filled < size:
            filled += given[at].size_bytes
            at += 1
        if at == first and at < len(given) and given[at].name == name:
            at += 1
        found += [
            PartMap(
                name=given[index].name,
                tensor=tensor,
                begin=index - first,
                end=index - first + 1,
                of=at - first,
                size_bytes=given[index].size_bytes,
            )
            for index in range(first, at)
        ]
    if at < len(given):
        raise InputError(f"tensor {given[at].name}: is no part of a value by its name")
    return found


def _origins(names: Sequence[str], cover: Cover) -> dict[str, list[tuple[int, int, int]]]:
    """Return the nodes and pieces, of how many, that go by each name."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for segment in cover:
        for piece in range(segment.pieces):
            for at in range(segment.begin, segment.end):
                name = f"{names[at]}[{piece}]" if segment.pieces > 1 else names[at]
                found.setdefault(name, []).append((at, piece, segment.pieces))
    return found


def _loop(axes: LinkedAxes, node: Node, nest: LoopNest) -> str | None:
    """Return the loop along the batch, if it is one."""
    found = set()
    for name, value in (*_operands("x", node.inputs), *_operands("y", node.outputs)):
        axis = axes.axis(value, axes.batch)
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
    axes = (None if i is None else AxisMap(terms=i.terms, offset=i.offset) for i in access.axes)
    return AccessMap(operand=access.tensor, axes=tuple(axes))
