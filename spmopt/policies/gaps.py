"""Gaps between the uses of a tensor: transfers in them, and the plan with these transfers.

Between two uses a residency plan may trim a tensor to a base, write back the dirty part of the
rest, and let it grow for the second use. A tensor kept whole or not at all has a base of all or
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spmopt.assemble.cost import sum_up
from spmopt.assemble.index import latest_access, neighbors, resident_bytes, row_at
from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.table import Ints, Table
from spmopt.core.timeline import Access, Timeline

NEVER = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class PageMoves(Table):
    """Rows "``pages`` pages of transfer ``item`` move in ``step``"."""

    item: Ints
    step: Ints
    pages: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfers(Table):
    """Rows "``size_bytes`` of the transfer of ``access`` move in ``step``"."""

    access: Ints
    step: Ints
    size_bytes: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaps:
    """Columns over the accesses (a): of each one, and of the gap after it up to the next one.

    Attributes
    ----------
    held, base : (a,)
        Bytes resident at the access, and from right after it until growth for the next one.
    saved, trimmed : (a,)
        Bytes written back in the gap, and the step before which the last of them must be.
    last_write : (a,)
        The tensor's last access, up to and with this one, that writes; or -1.
    apart
        Least number of steps between the last store of a gap and the first load.
    """

    timeline: Timeline
    held: Ints
    base: Ints
    saved: Ints
    trimmed: Ints
    last_write: Ints
    apart: int

    @property
    def grown(self) -> Ints:
        """(a,) Bytes loaded at the access, beyond the base of the gap before it."""
        timeline = self.timeline
        base = np.where(timeline.previous >= 0, self.base[timeline.previous], 0)
        found: Ints = np.where(timeline.kind == Access.WRITE, 0, self.held - base)
        return found


def page_gaps(timeline: Timeline, residency_plan: ResidencyPlan) -> Gaps:
    """Return the gaps of a residency plan that keeps heads of tensors."""
    step, tensor, stores = timeline.step, timeline.tensor, residency_plan.stores
    owner = latest_access(timeline, stores.step, stores.tensor)
    base, saved, trimmed = np.zeros((3, tensor.size), np.int64)
    np.add.at(saved, owner, stores.size_bytes)
    np.maximum.at(trimmed, owner, stores.step + 1)
    held = resident_bytes(residency_plan.residency, step, tensor)
    # Step 0 has nothing before it.
    before = np.where(step > 0, resident_bytes(residency_plan.residency, step - 1, tensor), 0)
    again = np.flatnonzero(timeline.previous >= 0)
    base[timeline.previous[again]] = np.minimum(before[again], held[again])
    return Gaps(
        timeline=timeline,
        held=held,
        base=base,
        saved=saved,
        trimmed=trimmed,
        last_write=_last_write(timeline),
        apart=0,
    )


def whole_gaps(timeline: Timeline, residency: Residency) -> Gaps:
    """Return the gaps of whole tensors, each resident from the first to the last use of a row."""
    rows = merge_equal(residency)
    row = row_at(rows, timeline.step, timeline.tensor)
    size, last_write = timeline.size_bytes[timeline.tensor], _last_write(timeline)
    again = np.flatnonzero(timeline.previous >= 0)
    again = again[(row[again] >= 0) & (row[again] == row[timeline.previous[again]])]
    base, ends = np.zeros_like(size), row >= 0
    base[timeline.previous[again]] = size[again]
    ends[timeline.previous[again]] = False
    dirty = ends & timeline.live_after & (last_write >= 0) & (row[last_write] == row)
    return Gaps(
        timeline=timeline,
        held=np.where(row >= 0, size, 0),
        base=base,
        saved=np.where(dirty, size, 0),
        trimmed=np.where(ends, np.append(rows.end, 0)[row], 0),
        last_write=last_write,
        # A load onto a resident rest would be no load but a part kept.
        apart=1,
    )


def merge_equal(residency: Residency) -> Residency:
    """Return the same residency in the fewest rows: no row goes on as the next of equal size."""
    before, after = neighbors(residency, residency.size_bytes)
    heads = residency.take(before != residency.size_bytes)
    return replace(heads, end=residency.end[after != residency.size_bytes])


def join(*parts: Residency) -> Residency:
    """Return one table of all rows, sorted, in the fewest rows, without empty ones."""
    rows = Residency.together(*parts)
    rows = rows.take(rows.begin < rows.end)
    return merge_equal(rows.take(np.lexsort((rows.begin, rows.tensor))))


def transfers_of(
    page_bytes: int, access: Ints, size_bytes: Ints, moves: PageMoves, *, short_first: bool
) -> Transfers:
    """Return the bytes of ``moves`` of the transfers ``access``, one row for each step.

    Of a transfer that ends within a page the first move is short, or else the last one.
    """
    span = int(moves.step.max(initial=0)) + 1
    keys, slot = np.unique(moves.item * span + moves.step, return_inverse=True)
    item, step = np.divmod(keys, span)
    moved = sum_up(keys.size, slot, moves.pages) * page_bytes
    changes = item[1:] != item[:-1]
    short = np.append(True, changes) if short_first else np.append(changes, True)
    short = short[: keys.size]
    missing = -(-size_bytes // page_bytes) * page_bytes - size_bytes
    moved[short] -= missing[item[short]]
    return Transfers(access=access[item], step=step, size_bytes=moved)


def free_pages(machine: Machine, timeline: Timeline, residency: Residency) -> Ints:
    """Return (n,) free pages of every step, beside its scratch and resident pages."""
    pages = machine.pages(residency.size_bytes)
    change = np.zeros(timeline.steps + 1, np.int64)
    np.add.at(change, residency.begin, pages)
    np.subtract.at(change, residency.end, pages)
    return machine.spm_pages - machine.pages(timeline.scratch_bytes) - np.cumsum(change)[:-1]


def earliest_loads(gaps: Gaps, stores: Transfers) -> Ints:
    """Return (a,) the first step that may load for each access, once its gap's stores are done."""
    timeline = gaps.timeline
    # A tensor that left at its use may come back in the next step.
    left = timeline.step + 1 + np.where(gaps.held > 0, gaps.apart, 0)
    np.maximum.at(left, stores.access, stores.step + 1 + gaps.apart)
    earliest: Ints = np.where(timeline.previous >= 0, left[timeline.previous], 0)
    return earliest


def in_their_steps(timeline: Timeline, access: Ints) -> Residency:
    """Return rows in which the tensor of each access is resident in its step alone."""
    step, tensor = timeline.step[access], timeline.tensor[access]
    size = timeline.size_bytes[tensor]
    return Residency(tensor=tensor, begin=step, end=step + 1, size_bytes=size)


def latest_stores(timeline: Timeline) -> Ints:
    """Return (a,) the last step that may store a tensor after each access, if it is kept whole.

    One step before its next use is without it (:attr:`Gaps.apart`).
    """
    following = timeline.next
    return np.where(following >= 0, timeline.step[following] - 2, timeline.steps - 1)


def residency_of(
    gaps: Gaps, stores: Transfers, loads: Transfers, left: Ints | None = None
) -> Residency:
    """Return residency as a sum of changes: at each use, after it, and as bytes move.

    ``left`` (a,) is the first step after each access with the base alone, the next one by default.
    """
    timeline = gaps.timeline
    step, previous = timeline.step, timeline.previous
    left = step + 1 if left is None else left
    late = stores.take(stores.step >= left[stores.access])
    early = loads.take(loads.step < step[loads.access])
    tail = sum_up(step.size, late.access, late.size_bytes)
    head = sum_up(step.size, early.access, early.size_bytes)
    at_use = gaps.held - np.where(previous >= 0, gaps.base[previous], 0) - head
    access = np.arange(step.size)
    owner = np.concatenate((access, access, late.access, early.access))
    when = np.concatenate((step, left, late.step + 1, early.step))
    change = np.concatenate(
        (at_use, gaps.base + tail - gaps.held, -late.size_bytes, early.size_bytes)
    )
    span = timeline.steps + 2
    keys, slot = np.unique(timeline.tensor[owner] * span + when, return_inverse=True)
    # The changes of a tensor add up to nothing, so that the sums need no restart.
    level = np.cumsum(sum_up(keys.size, slot, change))
    changed = np.flatnonzero(np.diff(level, prepend=0))
    tensor, begin = np.divmod(keys[changed], span)
    size, end = level[changed], np.append(begin[1:], 0)
    rows = np.flatnonzero(size > 0)
    return Residency(tensor=tensor[rows], begin=begin[rows], end=end[rows], size_bytes=size[rows])


def plan_of(
    gaps: Gaps, stores: Transfers, loads: Transfers, left: Ints | None = None
) -> ResidencyPlan:
    """Return the plan of the gaps with these transfers; ``left`` as in :func:`residency_of`."""
    timeline, tensors = gaps.timeline, gaps.timeline.size_bytes.size
    # One row for each step and tensor.
    keys, slot = np.unique(
        stores.step * tensors + timeline.tensor[stores.access], return_inverse=True
    )
    step, tensor = np.divmod(keys, tensors)
    return ResidencyPlan(
        steps=timeline.chosen,
        residency=residency_of(gaps, stores, loads, left),
        stores=Stores(
            step=step, tensor=tensor, size_bytes=sum_up(keys.size, slot, stores.size_bytes)
        ),
    )


def _last_write(timeline: Timeline) -> Ints:
    order = np.argsort(timeline.tensor, kind="stable")
    writes = timeline.kind[order] != Access.READ
    place = np.maximum.accumulate(np.where(writes, np.arange(order.size), NEVER))
    same = (place >= 0) & (timeline.tensor[order[place]] == timeline.tensor[order])
    found = np.empty(order.size, np.int64)
    found[order] = np.where(same, order[place], NEVER)
    return found
