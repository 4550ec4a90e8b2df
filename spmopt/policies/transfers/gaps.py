"""The gaps between the uses of a tensor: transfers in them, and the plan with these transfers.

Between two uses a residency plan may trim a tensor to a base, write back the dirty part of the
rest, and let it grow for the second use. A tensor that stays whole or not at all has a base of all
or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.cost import sum_up
from spmopt.assemble.index import resident_bytes
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.table import Ints, Table
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.transfers.idle import Pieces
from spmopt.policies.transfers.rows import WholeRows

_NEVER = -1


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
    grown : (a,)
        Bytes loaded at the access, beyond the base of the gap before it.
    apart
        Steps at least between the last store of a gap and the first load: 1 of whole tensors, for a
        load onto a resident rest would be no load but a part kept, which they do not know.
    """

    timeline: Timeline
    held: Ints
    base: Ints
    saved: Ints
    trimmed: Ints
    last_write: Ints
    grown: Ints
    apart: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts(Table):
    """Rows "``size_bytes`` of the transfer of ``access`` move in ``step``"."""

    access: Ints
    step: Ints
    size_bytes: Ints


def page_gaps(timeline: Timeline, residency_plan: ResidencyPlan) -> Gaps:
    """Gaps of a residency plan that keeps heads of tensors."""
    owner = _latest(timeline, residency_plan.stores.step, residency_plan.stores.tensor)
    saved, trimmed = np.zeros((2, timeline.tensor.size), np.int64)
    np.add.at(saved, owner, residency_plan.stores.size_bytes)
    np.maximum.at(trimmed, owner, residency_plan.stores.step + 1)
    return _gaps(timeline, residency_plan.residency, saved, trimmed, apart=0)


def whole_gaps(timeline: Timeline, rows: WholeRows) -> Gaps:
    """Gaps of tensors that stay whole from the first to the last use of each of ``rows``."""
    saved, trimmed = np.zeros((2, timeline.tensor.size), np.int64)
    saved[rows.last] = np.where(rows.stores, rows.size_bytes, 0)
    trimmed[rows.last] = rows.end
    return _gaps(timeline, rows.used(), saved, trimmed, apart=1)


def _gaps(
    timeline: Timeline, residency: Residency, saved: Ints, trimmed: Ints, *, apart: int
) -> Gaps:
    step, tensor = timeline.step, timeline.tensor
    held = resident_bytes(residency, step, tensor)
    # What is resident just before an access; step 0 has nothing before it.
    before = np.where(step > 0, resident_bytes(residency, step - 1, tensor), 0)
    again = np.flatnonzero(timeline.previous >= 0)
    base = np.zeros(tensor.size, np.int64)
    base[timeline.previous[again]] = np.minimum(before[again], held[again])
    grown = held.copy()
    grown[again] -= base[timeline.previous[again]]
    grown[timeline.kind == Access.WRITE] = 0
    return Gaps(
        timeline=timeline,
        held=held,
        base=base,
        saved=saved,
        trimmed=trimmed,
        last_write=_last_write(timeline),
        grown=grown,
        apart=apart,
    )


def parts_of(
    page_bytes: int, access: Ints, size_bytes: Ints, pieces: Pieces, *, short_first: bool
) -> Parts:
    """Bytes of ``fusion`` of the transfers ``access``, one row for each step.

    Of a transfer that ends within a page the first piece is short, or else the last one.
    """
    span = int(pieces.step.max(initial=0)) + 1
    keys, slot = np.unique(pieces.item * span + pieces.step, return_inverse=True)
    item, step = np.divmod(keys, span)
    moved = sum_up(keys.size, slot, pieces.pages) * page_bytes
    heads = np.append(True, item[1:] != item[:-1])[: keys.size]
    tails = np.append(item[1:] != item[:-1], True)[: keys.size]
    missing = -(-size_bytes // page_bytes) * page_bytes - size_bytes
    short = heads if short_first else tails
    moved[short] -= missing[item[short]]
    return Parts(access=access[item], step=step, size_bytes=moved)


def earliest_loads(gaps: Gaps, stores: Parts) -> Ints:
    """(a,) First step that may load for each access, once the ``stores`` of the gap are done."""
    timeline = gaps.timeline
    left = timeline.step + 1 + np.where(gaps.held > 0, gaps.apart, 0)
    np.maximum.at(left, stores.access, stores.step + 1 + gaps.apart)
    earliest: Ints = np.where(timeline.previous >= 0, left[timeline.previous], 0)
    return earliest


def latest_stores(timeline: Timeline) -> Ints:
    """(a,) Last step that may store a tensor after each access, if it is kept whole.

    One step before its next use is without it (:attr:`Gaps.apart`).
    """
    following = timeline.next
    return np.where(following >= 0, timeline.step[following] - 2, timeline.steps - 1)


def residency_of(gaps: Gaps, stores: Parts, loads: Parts, left: Ints | None = None) -> Residency:
    """Residency as a sum of changes: at each use, after it, and as parts move.

    ``left`` (a,) is the first step after each access with the base alone, the next one by default.
    """
    timeline = gaps.timeline
    step, previous = timeline.step, timeline.previous
    left = step + 1 if left is None else left
    late = stores.take(stores.step >= left[stores.access])
    early = loads.take(loads.step < step[loads.access])
    tail = sum_up(step.size, late.access, late.size_bytes)
    head = sum_up(step.size, early.access, early.size_bytes)
    found = gaps.held - np.where(previous >= 0, gaps.base[previous], 0) - head
    access = np.arange(step.size)
    owner = np.concatenate((access, access, late.access, early.access))
    when = np.concatenate((step, left, late.step + 1, early.step))
    change = np.concatenate(
        (found, gaps.base + tail - gaps.held, -late.size_bytes, early.size_bytes)
    )
    span = timeline.steps + 2
    keys, slot = np.unique(timeline.tensor[owner] * span + when, return_inverse=True)
    # The changes of a tensor add up to nothing, so that the sums need no restart.
    level = np.cumsum(sum_up(keys.size, slot, change))
    changed = np.flatnonzero(np.diff(level, prepend=0))
    tensor, begin = np.divmod(keys[changed], span)
    size = level[changed]
    end = np.append(begin[1:], 0)
    rows = np.flatnonzero(size > 0)
    return Residency(tensor=tensor[rows], begin=begin[rows], end=end[rows], size_bytes=size[rows])


def move_residency_plan(
    gaps: Gaps, stores: Parts, loads: Parts, left: Ints | None = None
) -> ResidencyPlan:
    """Plan of the gaps with these transfers; ``left`` as in :func:`residency_of`."""
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


def _latest(timeline: Timeline, step: Ints, tensor: Ints) -> Ints:
    """Last access of ``tensor[k]`` up to and with ``step[k]``; there must be one."""
    order = np.argsort(timeline.tensor, kind="stable")
    keys = (timeline.tensor * (timeline.steps + 1) + timeline.step)[order]
    place = np.searchsorted(keys, tensor * (timeline.steps + 1) + step, side="right") - 1
    return order[place]


def _last_write(timeline: Timeline) -> Ints:
    order = np.argsort(timeline.tensor, kind="stable")
    writes = timeline.kind[order] != Access.READ
    place = np.maximum.accumulate(np.where(writes, np.arange(order.size), _NEVER))
    same = (place >= 0) & (timeline.tensor[order[place]] == timeline.tensor[order])
    found = np.empty(order.size, np.int64)
    found[order] = np.where(same, order[place], _NEVER)
    return found
