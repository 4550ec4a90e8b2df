"""Accesses by tensor, and the gaps between them in which a tensor may stay resident."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Uses:
    """Accesses (a,), sorted by tensor and then by step; the one before ``j`` is ``j - 1``.

    The *gap* of access ``j`` lies between it and access ``j - 1`` of the same tensor.

    Attributes
    ----------
    steps
        Number of steps n.
    access : (a,)
        Index of the access in the timeline.
    step, tensor, kind, passes, stationary, size_bytes : (a,)
    pages : (a,)
        Of the tensor, rounded up.
    gap : (a,) bool
        ``j`` has a gap, and the contents are needed across it.
    live_before, live_after : (a,) bool
        ``j`` needs the old contents; something needs those it leaves.
    version : (a,)
        Access that wrote the contents which ``j`` leaves; -1 if they came from DRAM.
    final : (a,) bool
        ``j`` leaves contents that were written and must be in DRAM at the end.
    room_pages : (n,)
        Pages for tensors in each step (the scratch is taken off).
    page_bytes
    """

    steps: int
    access: Ints
    step: Ints
    tensor: Ints
    kind: Ints
    passes: Ints
    stationary: Bools
    size_bytes: Ints
    pages: Ints
    gap: Bools
    live_before: Bools
    live_after: Bools
    version: Ints
    final: Bools
    room_pages: Ints
    page_bytes: int

    @staticmethod
    def of(instance: Instance, line: Timeline) -> Uses:
        """Arrange the accesses of a timeline."""
        page = instance.machine.page_bytes
        order = np.lexsort((line.step, line.tensor))
        tensor, kind = line.tensor[order], line.kind[order]
        first = line.previous[order] < 0
        size = line.size_bytes[tensor]
        written = kind != Access.READ
        # The latest position that wrote, or the first of the tensor if nothing did so far.
        position = np.arange(order.size)
        origin = np.maximum.accumulate(np.where(written | first, position, 0))
        version = np.where(written[origin], origin, -1) if order.size else origin
        live_before = kind != Access.WRITE
        return Uses(
            steps=line.steps,
            access=order,
            step=line.step[order],
            tensor=tensor,
            kind=kind,
            passes=line.passes[order],
            stationary=line.stationary[order],
            size_bytes=size,
            pages=-(-size // page),
            gap=live_before & ~first,
            live_before=live_before,
            live_after=line.live_after[order],
            version=version,
            final=(line.next[order] < 0) & line.keep[tensor] & (version >= 0),
            room_pages=instance.machine.spm_pages - -(-line.scratch_bytes // page),
            page_bytes=page,
        )

    def inner(self, uses: Ints) -> tuple[Ints, Ints]:
        """Untouched steps [begin, end) of the gaps of ``uses``."""
        return self.step[uses - 1] + 1, self.step[uses]

    def gap_steps(self) -> int:
        """Untouched steps of all gaps together."""
        begin, end = self.inner(np.flatnonzero(self.gap))
        return int((end - begin).sum())

    def needed_pages(self) -> Ints:
        """(n,) Pages of the stationary operands of each step."""
        fixed = np.flatnonzero(self.stationary)
        total = np.zeros(self.steps, np.int64)
        np.add.at(total, self.step[fixed], self.pages[fixed])
        return total


def spans(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All steps of the ranges [begin, end): which range, and which step."""
    length = np.maximum(end - begin, 0)
    which = np.repeat(np.arange(length.size, dtype=np.int64), length)
    offset = np.arange(which.size, dtype=np.int64) - np.repeat(np.cumsum(length) - length, length)
    return which, begin[which] + offset
