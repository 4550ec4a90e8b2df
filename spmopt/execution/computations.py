"""Kernels of an execution, contents of DRAM at the start, and the expected results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spmopt.core.errors import InputError, unknown
from spmopt.core.fusion.fused_groups import FusionPlan, TileableOperation, TileMappings
from spmopt.core.fusion.tileable_graph import TileableGraph, source_graph, whole
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.execution.comparison import plain_order
from spmopt.execution.executor import Kernel, Trace, execute_plainly
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.execution.hashing import hash_kernel, random_contents
from spmopt.execution.memory import Bytes
from spmopt.execution.values import DATA
from spmopt.graph.lower import Mapper
from spmopt.graph.relisting import in_order
from spmopt.graph.tileable import tileable

TOLERANCE, _NARROW_TOLERANCE = 1e-3, 0.05
"""Of sums of normal data in another order, in 32 bits or more, and in fewer."""


@dataclass(frozen=True, kw_only=True)
class Computation:
    """Kernel, initial contents and expected results of an execution.

    Attributes
    ----------
    kernel
        Computes operations of the schedule's problem.
    contents
        Bytes of its tensors at the start.
    expected
        Plain execution, by tensors of the problem.
    dtypes
        Element types of its tensors; None where bytes stand for no numbers.
    tolerance
        See :func:`~.comparison.compare`.
    words
        Description of the kernels.
    """

    kernel: Kernel
    contents: Sequence[Bytes | None]
    expected: Trace
    words: str
    dtypes: Sequence[np.dtype[Any] | None] | None = None
    tolerance: float = 0.0


def by_bytes(
    problem: Problem, operation: Ints, seed: int, kernel: Kernel | None = None
) -> Computation:
    """Return a computation of random bytes, by a kernel of one's own or by hashes.

    Parameters
    ----------
    problem
        Problem of the schedule.
    operation : (n,)
        Operation of each step.
    """
    used = hash_kernel(problem) if kernel is None else kernel
    contents = random_contents(problem, seed)
    order = plain_order(problem, operation)
    named = "hash, of every operand byte" if kernel is None else "a function"
    return Computation(
        kernel=used,
        contents=contents,
        expected=execute_plainly(problem, order, contents, used),
        words=f"{named}; seed {seed}",
    )


def by_graph(
    tileable: TileableGraph, fusion_plan: FusionPlan | None, problem: Problem, data: str, seed: int
) -> Computation:
    """Return the computation of a graph: expected is that of whole operations.

    Parameters
    ----------
    tileable
        Tileable graph, with its graph.
    fusion_plan
        Fusion plan of the problem; None: whole operations.
    problem
        Problem of the schedule.
    data
        ``integer`` or ``normal``.

    Raises
    ------
    InputError
        An operator has no kernel, or the problem was made of another graph.
    """
    if data not in DATA:
        raise unknown("data", data, DATA)
    plain = GraphKernel(tileable, None, data)
    contents = plain.contents(seed)
    order = range(len(plain.problem.operations))
    expected = execute_plainly(plain.problem, order, contents, plain)
    kernel, tolerance = plain, 0.0
    if fusion_plan is not None and fusion_plan != whole(tileable):
        kernel = GraphKernel(tileable, fusion_plan, data)
        # The same seed: parts of the same initial tensors.
        contents = kernel.contents(seed)
        expected = Trace(contents=kernel.cut(expected.contents))
        narrow = any(each.itemsize < 4 and each.kind not in "iub" for each in kernel.dtypes if each)
        wide = _NARROW_TOLERANCE if narrow else TOLERANCE
        # Whole numbers wrap (modulo 16), so that sums are exact in any order.
        tolerance = 0.0 if data == "integer" else wide
    _require_same(kernel.problem, problem)
    return Computation(
        kernel=kernel,
        contents=contents,
        expected=expected,
        words=f"reference, {data} data; seed {seed}",
        dtypes=kernel.dtypes,
        tolerance=tolerance,
    )


def tileable_graph_for(problem: Problem, graph: Graph | None) -> TileableGraph | None:
    """Return the tileable graph of a problem; None where nothing says it.

    Parameters
    ----------
    problem
        Problem of the schedule.
    graph
        Network that it was made of, if given.

    Raises
    ------
    InputError
        No problem can be made of the graph as this one was.
    """
    if problem.fused_from is not None:
        source = source_graph(problem)
        if graph is not None:
            # The file has the network of a fusion plan; the one given must be the same.
            listed = source.problem(whole(source))[0]
            given = _list_in_order_of(listed, graph)
            _require_same(given.problem(whole(given))[0], listed)
        return source if source.graph is not None else None
    if graph is None:
        made_by = problem.listed
        if isinstance(made_by, partial) and isinstance(made_by.args[0], Graph):
            return _list(made_by.args[0], problem.machine, problem.mapper)
        return None
    return _list_in_order_of(problem, graph)


def _list_in_order_of(problem: Problem, graph: Graph) -> TileableGraph:
    """Return the tileable graph of a network in the order of a problem's operations."""
    found = _list(graph, problem.machine, problem.mapper)
    place = {operation.name: at for at, operation in enumerate(found.operations)}
    order = [place.get(operation.name, -1) for operation in problem.operations]
    # The problem may have been scheduled in another order of the same operations.
    if order != list(range(len(order))) and sorted(order) == list(range(len(place))):
        graph = in_order(graph, problem.mapper, problem.machine, order)
        found = _list(graph, problem.machine, problem.mapper)
    return found


def _list(graph: Graph, machine: Machine, mapper: str) -> TileableGraph:
    """Return the tileable graph of a graph; of untiled operations if none can be tiled."""
    try:
        return tileable(graph, machine, mapper=mapper)
    except InputError:
        # An untileable graph is no error here: it runs as whole operations.
        low = Mapper(graph, machine, mapper)  # raises its own error of the graph
    operations = tuple(
        TileableOperation(
            name=each.name,
            reads=each.reads,
            writes=each.writes,
            mappings={1: TileMappings.of(each.mappings, each.mappings)},
            kind=each.kind,
            element_type=each.element_type,
        )
        for each in low.problem().operations
    )
    return TileableGraph(
        name=graph.name,
        machine=machine,
        tensors=low.tensors,
        operations=operations,
        batch=1,
        mapper=low.name,
        graph=low.graph,
    )


def _require_same(made: Problem, given: Problem) -> None:
    """Refuse a graph that lowers to other operations."""
    ours, theirs = (
        [(t.name, t.size_bytes, t.in_dram, t.keep) for t in each.tensors]
        + [(o.name, o.reads, o.writes) for o in each.operations]
        for each in (made, given)
    )
    if ours != theirs:
        wrong = next((b for a, b in zip(ours, theirs, strict=False) if a != b), theirs[-1:])
        name = wrong[0] if wrong else given.name
        raise InputError(
            f"network: {given.name} was made of another one ({name} differs); give the "
            "options that it was loaded with, or use kernels hash"
        )
