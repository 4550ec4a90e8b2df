"""Hide the transfers of a plan that keeps heads of tensors: as ``transfers.hide``, by gaps.

Between two uses of a tensor a plan may trim it to a base, write back what DRAM lacks of the
rest, and let it grow at the second use. Of each such gap:

1. The tensor is trimmed to its base right after the first use, which frees room for the rest.
2. Write-back moves where DMA time is idle, from the last write on: first up to the first use,
   then beyond it, the head shrinking, up to the step where the policy trimmed it last.
3. Growth moves where DMA time is idle: in the step of the second use, then backwards.

What finds no idle time moves at the uses. No more bytes move, and the result is taken only if
it is faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.cost import summed, transfer_cycles
from spmopt.assemble.index import resident_bytes
from spmopt.core.machine import Machine
from spmopt.core.schedule import Commands, Plan, Residency, Stores
from spmopt.core.table import Bools, Ints, Table
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.transfers.budget import free_pages, idle_beside_streams
from spmopt.policies.transfers.faster import if_faster
from spmopt.policies.transfers.idle import Pieces, Waiting
from spmopt.policies.transfers.windows import loads_in_windows, stores_in_windows

_NEVER = -1


def hide_pages(machine: Machine, timeline: Timeline, plan: Plan) -> Plan:
    """Faster plan with the same residency at every use, or ``plan`` itself."""
    return if_faster(machine, timeline, plan, spread_pages)


def spread_pages(machine: Machine, timeline: Timeline, plan: Plan, commands: Commands) -> Plan:
    """Plan that moves the same bytes in idle time; ``commands`` are those of ``plan``."""
    gaps = _gaps(timeline, plan)
    inward, outward = idle_beside_streams(machine, timeline, commands)
    none = Parts.empty()
    room = free_pages(machine, timeline, _residency(timeline, gaps, none, none))
    stores = _spread_stores(machine, gaps, outward, room)
    idle = inward
    if not machine.duplex:
        taken = _ordinary_cycles(machine, timeline.steps, gaps, stores)
        idle = np.maximum(inward - taken, 0)
    room = free_pages(machine, timeline, _residency(timeline, gaps, stores, none))
    loads = _spread_loads(machine, gaps, stores, idle, room)
    return Plan(
        operation=plan.operation,
        mode=plan.mode,
        residency=_residency(timeline, gaps, stores, loads),
        stores=_stores(timeline, stores),
    )


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
    """

    timeline: Timeline
    held: Ints
    base: Ints
    saved: Ints
    trimmed: Ints
    last_write: Ints
    grown: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts(Table):
    """Rows "``size_bytes`` of the transfer of ``access`` move in ``step``"."""

    access: Ints
    step: Ints
    size_bytes: Ints


def _gaps(timeline: Timeline, plan: Plan) -> Gaps:
    step, tensor, count = timeline.step, timeline.tensor, timeline.tensor.size
    held = resident_bytes(plan.residency, step, tensor)
    # What is resident just before an access; step 0 has nothing before it.
    before = np.where(step > 0, resident_bytes(plan.residency, step - 1, tensor), 0)
    again = np.flatnonzero(timeline.previous >= 0)
    base = np.zeros(count, np.int64)
    base[timeline.previous[again]] = np.minimum(before[again], held[again])
    grown = held.copy()
    grown[again] -= base[timeline.previous[again]]
    grown[timeline.kind == Access.WRITE] = 0
    owner = _latest(timeline, plan.stores.step, plan.stores.tensor)
    saved, trimmed = np.zeros((2, count), np.int64)
    np.add.at(saved, owner, plan.stores.size_bytes)
    np.maximum.at(trimmed, owner, plan.stores.step + 1)
    return Gaps(
        timeline=timeline,
        held=held,
        base=base,
        saved=saved,
        trimmed=trimmed,
        last_write=_last_write(timeline),
        grown=grown,
    )


def _spread_stores(machine: Machine, gaps: Gaps, idle: Ints, room: Ints) -> Parts:
    """Write-back by windows: up to the last use before the trim, then beyond."""
    timeline, access = gaps.timeline, np.flatnonzero(gaps.saved)
    use, size = timeline.step[access], gaps.saved[access]
    write = gaps.last_write[access]
    within = Waiting(
        home=timeline.step[write],
        last=use,
        pages=-(-size // machine.page_bytes),
        size_bytes=size,
        at_home=~timeline.stationary[write],
    )
    until = np.maximum(gaps.trimmed[access] - 1, use)
    pieces = stores_in_windows(machine, within, until, idle, room)
    # The first piece, at the end of the tensor, may be short.
    return _parts(access, size, machine.page_bytes, pieces, short_first=True)


def _spread_loads(machine: Machine, gaps: Gaps, stores: Parts, idle: Ints, room: Ints) -> Parts:
    """Growth, backwards in time from the use that it is for."""
    timeline, access = gaps.timeline, np.flatnonzero(gaps.grown)
    left = timeline.step + 1
    np.maximum.at(left, stores.access, stores.step + 1)
    previous = timeline.previous[access]
    size = gaps.grown[access]
    waiting = Waiting(
        home=timeline.step[access],
        last=np.where(previous >= 0, left[previous], 0),
        pages=-(-size // machine.page_bytes),
        size_bytes=size,
        at_home=~timeline.stationary[access],
    )
    pieces = loads_in_windows(machine, waiting, idle, room)
    return _parts(access, size, machine.page_bytes, pieces, short_first=False)


def _residency(timeline: Timeline, gaps: Gaps, stores: Parts, loads: Parts) -> Residency:
    """What is resident as a sum of changes: at each use, after it, and as parts move."""
    step, previous = timeline.step, timeline.previous
    late = stores.take(stores.step > step[stores.access])
    early = loads.take(loads.step < step[loads.access])
    tail = summed(step.size, late.access, late.size_bytes)
    head = summed(step.size, early.access, early.size_bytes)
    found = gaps.held - np.where(previous >= 0, gaps.base[previous], 0) - head
    access = np.arange(step.size)
    owner = np.concatenate((access, access, late.access, early.access))
    when = np.concatenate((step, step + 1, late.step + 1, early.step))
    change = np.concatenate(
        (found, gaps.base + tail - gaps.held, -late.size_bytes, early.size_bytes)
    )
    span = timeline.steps + 2
    keys, slot = np.unique(timeline.tensor[owner] * span + when, return_inverse=True)
    # The changes of a tensor add up to nothing, so that the sums need no restart.
    level = np.cumsum(summed(keys.size, slot, change))
    changed = np.flatnonzero(np.diff(level, prepend=0))
    tensor, begin = np.divmod(keys[changed], span)
    size = level[changed]
    end = np.append(begin[1:], 0)
    rows = np.flatnonzero(size > 0)
    return Residency(tensor=tensor[rows], begin=begin[rows], end=end[rows], size_bytes=size[rows])


def _stores(timeline: Timeline, stores: Parts) -> Stores:
    """One row for each step and tensor."""
    tensors = timeline.size_bytes.size
    keys, slot = np.unique(
        stores.step * tensors + timeline.tensor[stores.access], return_inverse=True
    )
    step, tensor = np.divmod(keys, tensors)
    return Stores(step=step, tensor=tensor, size_bytes=summed(keys.size, slot, stores.size_bytes))


def _parts(access: Ints, size: Ints, page: int, pieces: Pieces, *, short_first: bool) -> Parts:
    """Bytes of pieces of the transfers ``access``, one row for each step."""
    span = int(pieces.step.max(initial=0)) + 1
    keys, slot = np.unique(pieces.item * span + pieces.step, return_inverse=True)
    item, step = np.divmod(keys, span)
    pages = summed(keys.size, slot, pieces.pages)
    moved = pages * page
    heads = np.append(True, item[1:] != item[:-1])[: keys.size]
    tails = np.append(item[1:] != item[:-1], True)[: keys.size]
    missing = -(-size // page) * page - size
    short = heads if short_first else tails
    moved[short] -= missing[item[short]]
    return Parts(access=access[item], step=step, size_bytes=moved)


def _ordinary_cycles(machine: Machine, steps: int, gaps: Gaps, stores: Parts) -> Ints:
    """(n,) DMA cycles of the stores, less those of stationary results in their own step."""
    write = gaps.last_write[stores.access]
    serial: Bools = gaps.timeline.stationary[write] & (stores.step == gaps.timeline.step[write])
    chosen = stores.take(~serial)
    return summed(steps, chosen.step, transfer_cycles(machine, chosen.size_bytes))


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
