"""Fused results: their tileable graph made again from the graph, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import islice, takewhile

from spmopt.core.costs import Costs
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.stored import loops_of
from spmopt.core.fusion.tile_costs import ListedAtCosts
from spmopt.core.fusion.tileable_graph import TileableGraph, source_graph
from spmopt.core.graph import Graph
from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Problem, Tensor
from spmopt.core.solution import Solution
from spmopt.verifier.fusion_tiles import check_fusion
from spmopt.verifier.violation import MAX_PER_CHECK, Violation

_UNFIT = ArithmeticError, LookupError, TypeError, ValueError
"""Errors that rules of operators raise for attributes that no reader of a model lets pass."""


def restore(stored: Solution) -> Solution:
    """Return a result as it was before it was written: with the tileable graph of its fusion tiles.

    Raises
    ------
    InputError
        An operator or a mapper that is not known, a fusion plan that is none of the tileable graph,
        or loops that are not those of the fusion plan: one line that begins with the path of the
        field.
    """
    kept, problem = stored.fusion, stored.problem
    if kept is None:
        return stored
    tileable = _relist(kept.graph, problem, kept.mapper, kept.costs)
    try:
        tileable.require(kept.fusion_plan)
    except InputError as error:
        raise InputError(f"fusion.fusion_plan: {error}") from None
    loops = loops_of(tileable, kept.fusion_plan)
    if kept.loops != loops:
        pairs = zip(kept.loops, loops, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        raise InputError(
            f"fusion.loops[{same}]: must be that of the fused group in the fusion plan"
        )
    problem = replace(problem, fused_from=tileable, fusion_plan=kept.fusion_plan)
    result = replace(stored.result, fused=problem, fusion_certificate=kept.certificate)
    return replace(stored, problem=problem, result=result, fusion=None)


def from_graph(fused: Problem, problem: Problem) -> TileableGraph:
    """Return the tileable graph of a fused problem, made again from its graph if it has one.

    Raises
    ------
    InputError
        The graph cannot be lowered.
    """
    tileable = source_graph(fused)
    if tileable.graph is None:
        return tileable
    return _relist(tileable.graph, problem, tileable.mapper, tileable.costs)


def unfaithful(
    tileable: TileableGraph, fusion_plan: FusionPlan, problem: Problem
) -> tuple[Violation, ...]:
    """Return violations where operations of a problem compute other elements than the graph.

    Raises
    ------
    InputError
        The name of an operation or a tensor is that of no fusion tile or part.
    """
    from spmopt.audit.boxes import tile_maps

    if tileable.graph is None:
        return ()
    return check_fusion(tile_maps(tileable.graph, tileable, fusion_plan, problem))


def unlike(expected: Problem, given: Problem) -> Iterator[str]:
    """Yield the first differences of a problem from that of its fusion plan."""
    for kind in ("tensors", "operations"):
        ours, theirs = getattr(expected, kind), getattr(given, kind)
        if len(ours) != len(theirs):
            yield f"the problem has {len(theirs)} {kind}, but that of the fusion plan {len(ours)}"
        pairs = zip(ours, theirs, strict=False)
        # Identity first: records of large problems are shared.
        wrong = (pair for pair in pairs if pair[0] is not pair[1] and pair[0] != pair[1])
        for one, other in islice(wrong, MAX_PER_CHECK):
            names = expected.tensor_names, given.tensor_names
            for name, mine, its in _different(one, other, names):
                yield (
                    f"{kind[:-1]} {one.name}: {name} is {its}, but {mine} by graph and fusion plan"
                )
    for name in ("mapper", "machine"):
        if getattr(expected, name) != getattr(given, name):
            yield f"the problem has another {name} than the tileable graph"


def _different(
    one: Tensor | Operation, other: Tensor | Operation, names: tuple[Sequence[str], Sequence[str]]
) -> Iterator[tuple[str, object, object]]:
    """Yield the fields in which two records, or their mappings, differ, and both values."""
    for name in (field.name for field in fields(one)):
        mine, its = getattr(one, name), getattr(other, name)
        if mine == its:
            continue
        if name in ("reads", "writes"):
            mine, its = [names[0][t] for t in mine], [names[1][t] for t in its]
        if name == "mappings" and len(mine) != len(its):
            yield "number of mappings", len(mine), len(its)
        elif name == "mappings":
            for number, pair in enumerate(zip(mine, its, strict=True)):
                which = f" of mapping {number}" if len(mine) > 1 else ""
                yield from (
                    (f"{figure.name}{which}", *both)
                    for figure in fields(OpMapping)
                    for both in [tuple(getattr(mapping, figure.name) for mapping in pair)]
                    if both[0] != both[1]
                )
        else:
            yield name, mine, its


def _relist(graph: Graph, problem: Problem, mapper: str, costs: Costs) -> TileableGraph:
    """Return the tileable graph of a graph on the machine of a problem, and called as it is.

    Raises
    ------
    InputError
        The graph cannot be lowered.
    """
    from spmopt.graph.preparation import with_name
    from spmopt.graph.tileable import tileable

    try:
        with_name(mapper)
    except InputError as error:
        raise InputError(f"fusion.mapper: {str(error).removeprefix('mapper ')}") from None
    try:
        listed = partial(tileable, graph, mapper=mapper)
        at_costs = ListedAtCosts(listed, costs, problem.machine.costs) if costs else listed
        found = at_costs(problem.machine)
    except InputError as error:
        raise InputError(f"fusion.graph: {error}") from None
    except _UNFIT as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        raise InputError(f"fusion.graph: cannot be lowered ({said})") from None
    return replace(found, name=problem.name, source=problem.source)
