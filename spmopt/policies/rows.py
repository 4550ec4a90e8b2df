"""The stretches of whole-tensor residency in a plan, and the bytes that each must move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.index import row_at
from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.gaps import NEVER, merge_equal


@dataclass(frozen=True, kw_only=True, eq=False)
class WholeRows:
    """Columns over the residency rows that some operation uses (k), by tensor and time.

    Attributes
    ----------
    tensor, size_bytes, pages : (k,)
    first, last : (k,)
        The first and the last access.
    first_use, last_use, end : (k,)
        Their steps, and the first step without the tensor as the policy decided.
    last_write : (k,)
        Step of the last write, or -1.
    previous_use : (k,)
        Step of the tensor's use before the row, or -1.
    previous_row : (k,)
        The row of this table that ``previous_use`` falls in, or -1.
    loads, stores : (k,) bool
        The row begins with a load (its first use needs the old contents); it leaves contents
        that DRAM lacks and something needs.
    pinned_load, pinned_store : (k,) bool
        The tensor is required-resident at the first use; at the last write.
    """

    tensor: Ints
    size_bytes: Ints
    pages: Ints
    first: Ints
    last: Ints
    first_use: Ints
    last_use: Ints
    end: Ints
    last_write: Ints
    previous_use: Ints
    previous_row: Ints
    loads: Bools
    stores: Bools
    pinned_load: Bools
    pinned_store: Bools

    def used(self) -> Residency:
        """Residency from first to last use only."""
        return Residency(
            tensor=self.tensor,
            begin=self.first_use,
            end=self.last_use + 1,
            size_bytes=self.size_bytes,
        )


def whole_rows(machine: Machine, timeline: Timeline, residency: Residency) -> WholeRows:
    """Rows of a residency plan that keeps whole tensors."""
    merged = merge_equal(residency)
    row = row_at(merged, timeline.step, timeline.tensor)
    held = np.flatnonzero(row >= 0)
    writes = held[timeline.kind[held] != Access.READ]
    first = np.full(len(merged), timeline.tensor.size, np.int64)
    last, last_write = np.full((2, len(merged)), NEVER, np.int64)
    # Accesses are in the order of steps, and of two to one place the later assignment remains.
    first[row[held][::-1]] = held[::-1]
    last[row[held]] = held
    last_write[row[writes]] = writes
    used = np.flatnonzero(last >= 0)
    first, last, last_write = first[used], last[used], last_write[used]
    # Rows that no operation uses are left out.
    rank = np.full(len(merged) + 1, NEVER, np.int64)
    rank[used] = np.arange(used.size)
    previous = timeline.previous[first]
    written, repeated = last_write >= 0, previous >= 0
    size = timeline.size_bytes[merged.tensor[used]]
    return WholeRows(
        tensor=merged.tensor[used],
        size_bytes=size,
        pages=machine.pages(size),
        first=first,
        last=last,
        first_use=timeline.step[first],
        last_use=timeline.step[last],
        end=merged.end[used],
        last_write=np.where(written, timeline.step[last_write], NEVER),
        previous_use=np.where(repeated, timeline.step[previous], NEVER),
        previous_row=np.where(repeated, rank[row[previous]], NEVER),
        loads=timeline.kind[first] != Access.WRITE,
        stores=written & timeline.live_after[last],
        pinned_load=timeline.required_resident[first],
        pinned_store=written & timeline.required_resident[last_write],
    )
