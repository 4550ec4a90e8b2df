"""What operations compute in an execution, contents of DRAM at the start, and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spmopt.core.errors import InputError, unknown
from spmopt.core.graph import Graph
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.pieces.listing import Listing, Pieces, whole
from spmopt.core.pieces.segments import Cover, ListedOperation, PieceModes
from spmopt.core.table import Ints
from spmopt.execution.comparison import plain_order
from spmopt.execution.executor import Kernel, Trace, execute_plainly
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.execution.hashing import hash_kernel, random_contents
from spmopt.execution.memory import Bytes
from spmopt.execution.values import DATA
from spmopt.graph.listing import listing
from spmopt.graph.lower import Lowering
from spmopt.graph.relisting import in_order

TOLERANCE, _NARROW_TOLERANCE = 1e-3, 0.05
"""Of sums of normal data in another order, in 32 bits or more, and in fewer."""


@dataclass(frozen=True, kw_only=True)
class Computation:
    """What is computed.

    Attributes
    ----------
    kernel
        Computes operations of the schedule's instance.
    contents
        Bytes of its tensors at the start.
    expected
        Plain execution, by tensors of the instance.
    dtypes
        Of the elements of its tensors; None where bytes stand for no numbers.
    tolerance
        See :func:`~.comparison.compare`.
    words
        What kernels these are.
    """

    kernel: Kernel
    contents: Sequence[Bytes | None]
    expected: Trace
    words: str
    dtypes: Sequence[np.dtype[Any] | None] | None = None
    tolerance: float = 0.0


def by_bytes(
    instance: Instance, operation: Ints, seed: int, kernel: Kernel | None = None
) -> Computation:
    """Return a computation of random bytes, by a kernel of one's own or by hashes.

    Parameters
    ----------
    instance
        What was scheduled.
    operation : (n,)
        What each step runs.
    """
    used = hash_kernel(instance) if kernel is None else kernel
    contents = random_contents(instance, seed)
    order = plain_order(instance, operation)
    named = "hash, of every operand byte" if kernel is None else "a function"
    return Computation(
        kernel=used,
        contents=contents,
        expected=execute_plainly(instance, order, contents, used),
        words=f"{named}; seed {seed}",
    )


def by_graph(
    listing: Listing, cover: Cover | None, instance: Instance, data: str, seed: int
) -> Computation:
    """Return the computation of a graph: expected is that of whole operations.

    Parameters
    ----------
    listing
        Of the graph.
    cover
        What the instance is of; None: whole operations.
    instance
        What was scheduled.
    data
        ``integer`` or ``normal``.

    Raises
    ------
    InputError
        An operator has no kernel, or the graph is not what the instance was made of.
    """
    if data not in DATA:
        raise unknown("data", data, DATA)
    plain = GraphKernel(listing, None, data)
    contents = plain.contents(seed)
    order = range(len(plain.instance.operations))
    expected = execute_plainly(plain.instance, order, contents, plain)
    kernel, tolerance = plain, 0.0
    if cover is not None and cover != whole(listing):
        kernel = GraphKernel(listing, cover, data)
        contents = kernel.contents(seed)
        expected = Trace(contents=kernel.cut(expected.contents))
        narrow = any(each.itemsize < 4 and each.kind not in "iub" for each in kernel.dtypes if each)
        wide = _NARROW_TOLERANCE if narrow else TOLERANCE
        tolerance = 0.0 if data == "integer" else wide
    _require_same(kernel.instance, instance)
    return Computation(
        kernel=kernel,
        contents=contents,
        expected=expected,
        words=f"reference, {data} data; seed {seed}",
        dtypes=kernel.dtypes,
        tolerance=tolerance,
    )


def listing_for(instance: Instance, graph: Graph | None, pieces: Pieces | None) -> Listing | None:
    """Return the listing of what an instance computes; None where nothing says so.

    Parameters
    ----------
    instance
        What was scheduled.
    graph
        Network that it was made of, if given.
    pieces
        Of a result in pieces.

    Raises
    ------
    InputError
        The graph cannot be lowered as the instance was.
    """
    if pieces is not None:
        return pieces.listing if pieces.listing.graph is not None else None
    if graph is None:
        made_by = instance.listed
        if isinstance(made_by, partial) and isinstance(made_by.args[0], Graph):
            return _listed(made_by.args[0], instance.machine, instance.lowering)
        return None
    found = _listed(graph, instance.machine, instance.lowering)
    place = {operation.name: at for at, operation in enumerate(found.operations)}
    order = [place.get(operation.name, -1) for operation in instance.operations]
    if order != list(range(len(order))) and sorted(order) == list(range(len(place))):
        graph = in_order(graph, instance.lowering, order)  # another order than the network's
        found = _listed(graph, instance.machine, instance.lowering)
    return found


def _listed(graph: Graph, machine: Machine, lowering: str) -> Listing:
    """Return the listing of a graph, with whole operations alone if none can be cut."""
    try:
        return listing(graph, machine, lowering=lowering)
    except InputError:
        low = Lowering(graph, machine, lowering)  # has its say where the graph cannot be lowered
    operations = tuple(
        ListedOperation(
            name=each.name,
            reads=each.reads,
            writes=each.writes,
            modes={1: PieceModes(each.modes[0], each.modes[0])},
            kind=each.kind,
        )
        for each in low.instance().operations
    )
    return Listing(
        name=graph.name,
        machine=machine,
        tensors=low.tensors,
        operations=operations,
        batch=1,
        lowering=low.name,
        graph=low.graph,
    )


def _require_same(made: Instance, given: Instance) -> None:
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
            f"network: is not what {given.name} was lowered from ({name} differs); give the "
            "options that it was loaded with, or use kernels hash"
        )
