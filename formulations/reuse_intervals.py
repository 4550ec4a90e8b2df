"""Reuse intervals: between two uses of a tensor it may stay resident, or leave and come back.

The one table of accesses that the formulations share; each takes it in the order that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class ReuseIntervals:
    """Accesses (a,) of a timeline in some order, each with the reuse interval that it ends.

    Attributes
    ----------
    steps
        Number of steps n.
    access : (a,)
        Index of the access in the timeline.
    step, tensor, kind, passes, stationary, size_bytes : (a,)
        Of the access; the size is its tensor's.
    previous, next : (a,)
        Position, in this order, of the tensor's access before and after, or -1.
    begin : (a,)
        First step of the interval; its untouched steps are [begin, step).
    live : (a,) bool
        The contents are needed through the interval (False before a blind write).
    live_after : (a,) bool
        Something needs the contents that the access leaves.
    version : (a,)
        Position of the access that wrote these; -1 if they came from DRAM.
    from_dram : (a,) bool
        First access of a tensor that starts in DRAM.
    dirty : (a,) bool
        In the interval, the SPM may hold bytes that DRAM does not.
    final : (a,) bool
        Leaves contents that were written and must be in DRAM at the end.
    """

    steps: int
    access: Ints
    step: Ints
    tensor: Ints
    kind: Ints
    passes: Ints
    stationary: Bools
    size_bytes: Ints
    previous: Ints
    next: Ints
    begin: Ints
    live: Bools
    live_after: Bools
    version: Ints
    from_dram: Bools
    dirty: Bools
    final: Bools

    @staticmethod
    def of(line: Timeline, order: Ints) -> ReuseIntervals:
        """Arrange the accesses of a timeline in ``order`` (a,)."""
        position = np.empty_like(order)
        position[order] = np.arange(order.size)

        def moved(link: Ints) -> Ints:
            target = link[order]
            return np.where(target < 0, -1, position[target])

        previous, following, version = (
            moved(link) for link in (line.previous, line.next, _writers(line))
        )
        step, tensor, kind = line.step[order], line.tensor[order], line.kind[order]
        first, in_dram = previous < 0, line.in_dram[tensor]
        live_after = line.live_after[order]
        live = np.where(first, in_dram, live_after[previous]) & (kind != Access.WRITE)
        return ReuseIntervals(
            steps=line.steps,
            access=order,
            step=step,
            tensor=tensor,
            kind=kind,
            passes=line.passes[order],
            stationary=line.stationary[order],
            size_bytes=line.size_bytes[tensor],
            previous=previous,
            next=following,
            begin=np.where(first, 0, step[previous] + 1),
            live=live,
            live_after=live_after,
            version=version,
            from_dram=first & in_dram,
            dirty=live & ~first & (version[previous] >= 0),
            final=(following < 0) & line.keep[tensor] & (version >= 0),
        )

    @cached_property
    def crossed(self) -> Bools:
        """(a,) Intervals between two accesses across which the contents are needed."""
        return self.live & (self.previous >= 0)

    @cached_property
    def dead(self) -> Bools:
        """(a,) Accesses after which nothing needs the contents."""
        return ~self.live_after

    @cached_property
    def last(self) -> Ints:
        """(f,) Positions of the ``final`` accesses."""
        return np.flatnonzero(self.final)


def by_tensor(line: Timeline) -> ReuseIntervals:
    """Order by tensor, then by step: the access before ``j`` of a tensor is ``j - 1``."""
    return ReuseIntervals.of(line, np.lexsort((line.step, line.tensor)))


def _writers(line: Timeline) -> Ints:
    """(a,) The access that wrote the contents which each access leaves, or -1."""
    order = np.argsort(line.tensor, kind="stable")
    written, first = line.kind[order] != Access.READ, line.previous[order] < 0
    # The latest one that wrote, or the first of the tensor if nothing did so far.
    origin = np.maximum.accumulate(np.where(written | first, np.arange(order.size), 0))
    writer = np.empty_like(order)
    writer[order] = np.where(written[origin], order[origin], -1)
    return writer


def pages_in_steps(steps: int, begin: Ints, end: Ints, pages: Ints) -> Ints:
    """(n,) Sums of ``pages`` (k,) that are held in steps [begin, end) each."""
    change = np.zeros(steps + 1, np.int64)
    np.add.at(change, begin, pages)
    np.subtract.at(change, end, pages)
    return np.cumsum(change)[:-1]


def steps_of(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All steps of the ranges [begin, end): which range, and which step."""
    length = np.maximum(end - begin, 0)
    which = np.repeat(np.arange(length.size, dtype=np.int64), length)
    offset = np.arange(which.size, dtype=np.int64) - np.repeat(np.cumsum(length) - length, length)
    return which, begin[which] + offset
