"""Operations of a result file as tiles of nodes, by their names and the graph.

Operation ``n[p]`` of a fused group in ``K`` fusion tiles runs the ``p``-th of ``K`` equal shares of
the loop that runs along the first axis, ``n[heads p]`` of that along heads, and tensor ``t[k]`` or
``t[heads k]`` is the ``k``-th of as many equal shares as there are. In a fused group of stripes
``n[p][a:b]`` runs its loop along rows from ``a`` to before ``b``; of a tensor ``t[k][a:b]`` is
these rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan, tile_label
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph, Node
from spmopt.core.loops import LoopNest
from spmopt.core.problem import Problem
from spmopt.graph import operators
from spmopt.graph.axes import LinkedAxes, NodeCut
from spmopt.graph.layouts import Layout, first_run, layouts
from spmopt.graph.operators.spec import Shape, Style
from spmopt.graph.rows import RowAxes
from spmopt.graph.tile_axes import tile_axes
from spmopt.verifier.tile_maps import (
    Box,
    NodeMap,
    PartMap,
    Share,
    TileMap,
    TileMaps,
    ValueMap,
)


def tile_maps(
    graph: Graph, tileable: TileableGraph, fusion_plan: FusionPlan, problem: Problem
) -> TileMaps:
    """Return the boxes of loops and parts of tensors that a problem names.

    Parameters
    ----------
    tileable
        Of the graph: names of its operations, names and sizes of its tensors.

    Raises
    ------
    InputError
        An operation or a tensor that is no fusion tile or part of anything, or a node in fusion
        tiles whose loop along the batch cannot be told.
    """
    axes = LinkedAxes(graph)
    rows, named = RowAxes(axes), {each.name: each for each in tile_axes(axes)}
    every = [named[each.along] for each in tileable.axes]
    names = [operation.name for operation in tileable.operations]
    kept = [n for n in graph.nodes if operators.lookup(n.operator).style is not Style.VIEW]
    tensor_of = _tensors(graph, kept)
    nests = [axes.nest(node) for node in kept]
    values = [
        _value(
            index,
            value.shape,
            tensor_of,
            (*(each.axis(axes, index) for each in every), rows.axis(index)),
            layout,
        )
        for (index, value), layout in zip(enumerate(graph.values), layouts(graph), strict=True)
    ]
    loops = [
        (
            *(_loop_of_tiles(nest, each.cut(axes, node), node) for each in every),
            _loop_of_rows(node, nest, values),
        )
        for node, nest in zip(kept, nests, strict=True)
    ]
    labels = ["", *(each.along for each in tileable.others)]
    origin = _origins(names, fusion_plan, labels)
    fusion_tiles = []
    for operation in problem.operations:
        node, box = _box(operation.name, origin, loops, nests)
        fusion_tiles.append(
            TileMap(
                name=operation.name,
                node=node,
                box=box,
                reads=operation.reads,
                writes=operation.writes,
            )
        )
    tensors = [(each.name, each.size_bytes) for each in tileable.tensors]
    return TileMaps(
        tensors=tensors,
        values=values,
        nodes=[
            NodeMap(
                name=name,
                extents=nest.extents,
                statements=nest.statements,
                inputs=dict(_operands("x", node.inputs)),
                outputs=dict(_operands("y", node.outputs)),
            )
            for name, node, nest in zip(names, kept, nests, strict=True)
        ],
        parts=_parts(tensors, values, problem, labels),
        fusion_tiles=fusion_tiles,
    )


def _value(
    index: int,
    shape: Shape,
    tensor_of: Mapping[int, int],
    axes: tuple[int | None, ...],
    layout: Layout | None,
) -> ValueMap:
    """Return how a value is seen, and where its axes stand in memory.

    A value without a layout has no known fusion tiles, so that all are refused.
    """
    tensor = tensor_of.get(index, -1)
    if tensor < 0:
        axes = (None,) * len(axes)
    runs = tuple(first_run(() if layout is None or axis is None else layout[axis]) for axis in axes)
    return ValueMap(shape=shape, tensor=tensor, axes=axes, runs=runs)


def _tensors(graph: Graph, kept: Sequence[Node]) -> Mapping[int, int]:
    """Return the tensor of each value that an operation uses; views share that of their operand."""
    # Views in the order of nodes: a view of a view has its root already.
    root = list(range(len(graph.values)))
    for node in graph.nodes:
        if operators.lookup(node.operator).style is Style.VIEW:
            root[node.outputs[0]] = root[node.inputs[0]]
    used = {root[value] for node in kept for value in (*node.inputs, *node.outputs)}
    place = {value: index for index, value in enumerate(sorted(used))}
    return {value: place[each] for value, each in enumerate(root) if each in place}


def _parts(
    tensors: Sequence[tuple[str, int]],
    values: Sequence[ValueMap],
    problem: Problem,
    labels: Sequence[str],
) -> list[PartMap]:
    """Return the parts of tensors by their names: ``t``, or ``t[0]``, ``t[1]``, or ``t[0][3:5]``.

    They stand in the order of the tensors, each up to its size.
    """
    rows = {
        value.tensor: value.shape[axis]
        for value in values
        for axis in value.axes[-1:]
        if axis is not None
    }
    pattern = _pattern(labels)
    given, at, found = problem.tensors, 0, list[PartMap]()
    for tensor, (name, size) in enumerate(tensors):
        filled, mine = 0, list[tuple[int, tuple[int, ...], tuple[int, int] | None]]()
        # Sizes tell where the parts of one tensor end: names alone may be alike.
        while at < len(given) and (filled < size or not mine):
            place = _place(given[at].name, name, pattern, rows=tensor in rows)
            if place is None:
                break
            mine.append((at, *place))
            filled += given[at].size_bytes
            at += 1
        of = [1 + max(each) for each in zip(*(shares for _, shares, _ in mine), strict=True)]
        for index, shares, stripes in mine:
            share = Share() if stripes is None else Share(*stripes, rows[tensor])
            along = (Share(part, part + 1, n) for part, n in zip(shares, of, strict=True))
            found.append(
                PartMap(
                    name=given[index].name,
                    tensor=tensor,
                    shares=(*along, share),
                    size_bytes=given[index].size_bytes,
                )
            )
    if at < len(given):
        raise InputError(f"tensor {given[at].name}: is no part of a value by its name")
    return found


_RANGE = r"\[(\d{1,9}):(\d{1,9})\]"
_STRIPE = re.compile(rf"(.*){_RANGE}", re.DOTALL)


def _pattern(labels: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of the end of a part's name: its share along each axis, and its rows."""
    shares = (rf"(?:\[{re.escape(label)}{' ' * bool(label)}(\d{{1,9}})\])?" for label in labels)
    return re.compile(rf"{''.join(shares)}(?:{_RANGE})?")


def _place(
    given: str, name: str, pattern: re.Pattern[str], *, rows: bool
) -> tuple[tuple[int, ...], tuple[int, int] | None] | None:
    """Return which share along each axis, and which rows, a part of a tensor is by its name."""
    match = pattern.fullmatch(given.removeprefix(name)) if given.startswith(name) else None
    if match is None:
        return None
    *shares, begin, end = match.groups()
    if begin and not rows:
        return None
    return tuple(int(each or 0) for each in shares), (int(begin), int(end)) if begin else None


_Origins = dict[tuple[str, bool], list[tuple[int, int, FusedGroup]]]
"""By the names of tiles, and whether the rows of a stripe follow: node, tile, and fused group."""


def _origins(names: Sequence[str], fusion_plan: FusionPlan, labels: Sequence[str]) -> _Origins:
    """Return the nodes and fusion tiles that go by each name."""
    found: _Origins = {}
    for fused_group in fusion_plan:
        several = fused_group.micro_batches > 1
        for fusion_tile in range(fused_group.micro_batches):
            label = tile_label(labels[fused_group.axis], fusion_tile) if several else ""
            for at in range(fused_group.begin, fused_group.end):
                known = found.setdefault((names[at] + label, fused_group.stripes > 1), [])
                known += [(at, fusion_tile, fused_group)] * fused_group.stripes
    return found


def _box(
    name: str, origin: _Origins, loops: Sequence[Sequence[str | None]], nests: Sequence[LoopNest]
) -> tuple[int, Box]:
    """Return the node of an operation, and the box of its loops, by its name."""
    known, stripe = origin.get((name, False)), None
    if not known:
        stripe = _STRIPE.fullmatch(name)
        known = origin.get((stripe[1], True)) if stripe else None
    if not known:
        raise InputError(f"operation {name}: is no fusion tile of a node by its name")
    # Equal names stand for different nodes, in the order of the plan.
    node, fusion_tile, fused_group = known.pop(0) if len(known) > 1 else known[0]
    box = dict[str, tuple[int, int]]()
    *tiled, rows = loops[node]
    count = fused_group.micro_batches
    if count > 1:
        loop = tiled[fused_group.axis]
        if loop is None:
            raise InputError(f"operation {name}: no loop of it runs along its fusion tiles")
        extent = nests[node].extents[loop]
        box[loop] = (fusion_tile * extent // count, (fusion_tile + 1) * extent // count)
    if stripe is not None:
        if rows is None:
            raise InputError(f"operation {name}: no loop of it runs along rows")
        box[rows] = (int(stripe[2]), int(stripe[3]))
    return node, box


def _loop_of_tiles(nest: LoopNest, cut: tuple[NodeCut, int] | None, node: Node) -> str | None:
    """Return the loop that runs along the axes that a node is cut along, if it is one."""
    if cut is None:
        return None
    axes = (*cut[0].inputs, *cut[0].outputs)
    names = [name for name, _ in (*_operands("x", node.inputs), *_operands("y", node.outputs))]
    found = {
        index.loop
        for name, axis in zip(names, axes, strict=True)
        for access in (nest.accesses(name) if axis is not None else ())
        for index in [access.axes[axis or 0]]
        if index is not None
    }
    return found.pop() if len(found) == 1 else None


def _loop_of_rows(node: Node, nest: LoopNest, values: Sequence[ValueMap]) -> str | None:
    """Return the loop along the rows of results, if it is one; over operands windows slide."""
    found = {
        index.loop
        for name, value in _operands("y", node.outputs)
        for axis in values[value].axes[-1:]
        for access in (nest.accesses(name) if axis is not None else ())
        for index in [access.axes[axis or 0]]
        if index is not None
    }
    # An access without a loop along the axis reads all of it.
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def _operands(letter: str, values: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"{letter}{place}", value) for place, value in enumerate(values)]
