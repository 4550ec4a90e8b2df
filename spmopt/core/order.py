"""Orders of a problem's operations: the depth-first one, and the problem in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.core.table import Ints


def other_order(operation: Ints) -> Ints | None:
    """Return ``operation``, the operation of each step, or None in the listed order."""
    return None if np.array_equal(operation, np.arange(operation.size)) else operation


def same_order(one: Ints | None, other: Ints | None) -> bool:
    """Whether both are the same; None stands for the listed order."""
    if one is None or other is None:
        left = one if other is None else other
        return left is None or other_order(left) is None
    return bool(np.array_equal(one, other))


def depth_first(problem: Problem) -> Ints:
    """Return (n,) operations in depth-first order, waiting at joins.

    The recursive route of Tsai, section 4.2.2 (from Wang et al., SuperNeurons, PPoPP 2018): an
    operation runs as soon as the walk reaches it for the last time, then the walk goes on to its
    dependents, one after the other as listed. It starts from the operations that depend on nothing,
    as listed. Dependences are the predecessors and, so that every operation reads the same values,
    the hazards of the listed order: read after write, write after read or write.
    """
    needed = dependences(problem)
    waits = [len(before) for before in needed]
    successors: list[list[int]] = [[] for _ in waits]
    for index, before in enumerate(needed):
        for earlier in before:
            successors[earlier].append(index)
    route: list[int] = []
    for root in [index for index, count in enumerate(waits) if not count]:
        route.append(root)
        walk: list[Iterator[int]] = [iter(successors[root])]
        while walk:
            operation = next(walk[-1], None)
            if operation is None:
                walk.pop()
                continue
            waits[operation] -= 1
            # The walk waits at joins: the last predecessor to come takes the join along.
            if not waits[operation]:
                route.append(operation)
                walk.append(iter(successors[operation]))
    return np.array(route, np.int64)


def reorder(problem: Problem, order: Ints) -> Problem:
    """Return ``problem`` with its operations listed as ``order`` runs them.

    Parameters
    ----------
    problem
        Any problem.
    order : (n,)
        The operation that each step runs.

    Raises
    ------
    InputError
        Not a permutation, an operation before its predecessor, or a tensor read before it is
        written.
    """
    count = len(problem.operations)
    if order.shape != (count,) or not np.array_equal(np.sort(order), np.arange(count)):
        raise InputError(f"order: must name each of the {count} operations once")
    place = np.argsort(order).tolist()
    operations = tuple(
        replace(
            problem.operations[index],
            predecessors=tuple(
                sorted(place[before] for before in problem.operations[index].predecessors)
            ),
        )
        for index in order.tolist()
    )
    return replace(problem, operations=operations)


def dependences(problem: Problem) -> Sequence[set[int]]:
    """Return operations that each one must run after: predecessors and hazards of the listed order.

    An order that keeps them lets every operation read the same values as in the listed order.
    """
    operations = problem.operations
    found = hazards([(op.reads, op.writes) for op in operations], len(problem.tensors))
    return [before.union(op.predecessors) for before, op in zip(found, operations, strict=True)]


def hazards(
    accesses: Sequence[tuple[Sequence[int], Sequence[int]]], tensors: int
) -> list[set[int]]:
    """Return earlier operations that each one must run after: read after write, write after either.

    Parameters
    ----------
    accesses
        (n,) Tensors that each operation reads, and those that it writes.
    tensors
        How many there are.
    """
    last_write = [-1] * tensors
    readers: list[list[int] | None] = [None] * tensors  # since the last write
    found = []
    for index, (reads, writes) in enumerate(accesses):
        before: set[int] = set()
        for tensor in writes:
            # -1 where nothing wrote it yet; removed below, once for each operation.
            before.add(last_write[tensor])
            before.update(readers[tensor] or ())
        for tensor in reads:
            before.add(last_write[tensor])
            known = readers[tensor]
            if known is None:
                readers[tensor] = [index]
            else:
                known.append(index)
        for tensor in writes:
            last_write[tensor] = index
            # A write ends the need to wait for earlier readers: they come before the write.
            readers[tensor] = None
        before.discard(-1)
        found.append(before)
    return found


def order_key(order: Ints | None) -> bytes | None:
    """Name an order; the problem's own is None, however it is given."""
    return None if order is None or other_order(order) is None else order.tobytes()
