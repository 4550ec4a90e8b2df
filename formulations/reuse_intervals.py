"""Reuse intervals: between two uses of a tensor it may remain resident, or leave and come back.

The one table of accesses that the formulations share; each takes it in the order that it needs.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from spmopt.core.schedule import Residency, Stores
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


class ReuseIntervals:
    """Accesses (a,) of a timeline in some order, each with the reuse interval that it ends.

    Attributes
    ----------
    line
        The timeline.
    steps
        Number of steps n.
    access : (a,)
        Index of the access in the timeline.
    position : (a + 1,)
        Of each access of the timeline, in this order; -1 of none.
    step, tensor, kind, fetches, required_resident, size_bytes, ratio : (a,)
        Of the access; the size is its tensor's, and the ratio of bytes that move to bytes on chip.
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
    offset : (a,)
        Where dual values of the tensor's ratio begin: all steps, then all of the next ratio.
    """

    _early: Bools | None = None

    def __init__(self, line: Timeline, order: Ints, early: Bools | None = None) -> None:
        """Arrange the accesses of a timeline in ``order`` (a,); ``early`` (a,) is as they come."""
        self.position = position = np.append(np.empty_like(order), -1)
        position[order] = np.arange(order.size)
        self.line, self.steps, self.access = line, line.steps, order
        self.step, self.tensor, self.kind = line.step[order], line.tensor[order], line.kind[order]
        self.fetches, self.required_resident = line.fetches[order], line.required_resident[order]
        self.size_bytes, self.ratio = line.size_bytes[self.tensor], line.moved.ratio[self.tensor]
        self.offset: Ints = line.steps * line.moved.ratios[1][self.tensor]
        self.previous, self.next, self.version = (
            position[link[order]] for link in (line.previous, line.next, writers(line))
        )
        first, in_dram = self.previous < 0, line.in_dram[self.tensor]
        self.begin = np.where(first, 0, self.step[self.previous] + 1)
        self.live_after = line.live_after[order]
        needed = np.where(first, in_dram, self.live_after[self.previous])
        self.live: Bools = needed & (self.kind != Access.WRITE)
        self.from_dram = first & in_dram
        self.dirty = self.live & ~first & (self.version[self.previous] >= 0)
        self._early = None if early is None else early[order]
        self.final = (self.next < 0) & line.keep[self.tensor] & (self.version >= 0)

    @cached_property
    def early(self) -> Bools:
        """(a,) Blind writes whose bytes are held in the step before, too; mostly there are none."""
        return np.zeros(self.step.size, bool) if self._early is None else self._early

    @cached_property
    def at(self) -> Ints:
        """(a,) The step of the access among dual values of all ratios."""
        result: Ints = self.step + self.offset
        return result

    @cached_property
    def read(self) -> Bools:
        """(a,) Accesses that only read."""
        result: Bools = self.kind == Access.READ
        return result

    @cached_property
    def write(self) -> Bools:
        """(a,) Accesses that overwrite their tensor without reading it."""
        result: Bools = self.kind == Access.WRITE
        return result

    @cached_property
    def between_uses(self) -> Bools:
        """(a,) Intervals between two accesses across which the contents are needed."""
        return self.live & (self.previous >= 0)

    @cached_property
    def before_use(self) -> Bools:
        """(a,) Accesses whose contents the next one needs."""
        result: Bools = (self.next >= 0) & self.live[self.next]
        return result

    @cached_property
    def dead(self) -> Bools:
        """(a,) Accesses after which nothing needs the contents."""
        return ~self.live_after

    @cached_property
    def last(self) -> Ints:
        """(f,) Positions of the ``final`` accesses."""
        return np.flatnonzero(self.final)


def writers(line: Timeline) -> Ints:
    """Return (a,) the access that wrote the contents which each access leaves, or -1."""
    order = np.argsort(line.tensor, kind="stable")
    # By tensor, then step: the sort is stable.
    written, first = line.kind[order] != Access.READ, line.previous[order] < 0
    # The latest one that wrote, or the first of the tensor if nothing did so far.
    origin = np.maximum.accumulate(np.where(written | first, np.arange(order.size), 0))
    writer = np.empty_like(order)
    writer[order] = np.where(written[origin], order[origin], -1)
    return writer


def pages_in_steps(steps: int, begin: Ints, end: Ints, pages: Ints) -> Ints:
    """Return (n,) the sums of ``pages`` (k,) that are held in steps [begin, end) each."""
    change = np.zeros(steps + 1, np.int64)
    np.add.at(change, begin, pages)
    np.subtract.at(change, end, pages)
    return np.cumsum(change)[:-1]


def steps_of(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all steps of the ranges [begin, end): which range, and which step."""
    length = np.maximum(end - begin, 0)
    which = np.repeat(np.arange(length.size, dtype=np.int64), length)
    offset = np.arange(which.size, dtype=np.int64) - np.repeat(np.cumsum(length) - length, length)
    return which, begin[which] + offset


def residency_of(steps: int, tensor: Ints, begin: Ints, end: Ints, size_bytes: Ints) -> Residency:
    """Add up parts (k,) of tensors, each resident in steps [begin, end), to the rows of a plan."""
    span = steps + 1
    # One number for each tensor and step, so that one sort serves all rows.
    keys = np.concatenate((tensor * span + begin, tensor * span + end))
    unique, place = np.unique(keys, return_inverse=True)
    change = np.zeros(unique.size, np.int64)
    np.add.at(change, place, np.concatenate((size_bytes, -size_bytes)))
    # A tensor's changes add up to nothing, so one running sum serves all of them.
    level = np.cumsum(change)
    rows = np.flatnonzero(change)
    held = rows[level[rows] > 0]
    following = rows[np.searchsorted(rows, held) + 1]
    return Residency(
        tensor=unique[held] // span,
        begin=unique[held] % span,
        end=unique[following] % span,
        size_bytes=level[held],
    )


def stores_of(step: Ints, tensor: Ints, size_bytes: Ints) -> Stores:
    """Return stores (k,) in the order that plans have."""
    rows = Stores(step=step, tensor=tensor, size_bytes=size_bytes)
    return rows.take(np.lexsort((tensor, step)))
