"""The DMA commands that follow from a residency plan, in queue order (R2 to R5, R10)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from spmopt.assemble.index import access_at, flag, neighbors, resident_bytes
from spmopt.core.errors import ScheduleError
from spmopt.core.schedule import Command, Commands, Residency, ResidencyPlan
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline


class Turn(IntEnum):
    """Place of a command in its step's queue.

    R10 fixes the first and the last. Between them stand commands that can start before the step's
    operation does (loads, stores of older results), so that a first-in first-out channel
    works while the operation before still runs; then commands that must wait for the operation.
    Among the loads, those that the operation itself reads come first.
    """

    REQUIRED_RESIDENT_LOAD = 0
    OWN_LOAD = 1
    EARLY_LOAD = 2
    OLDER_STORE = 3
    STREAM = 4
    OWN_STORE = 5
    REQUIRED_RESIDENT_STORE = 6


def derive_commands(timeline: Timeline, residency_plan: ResidencyPlan) -> Commands:
    """Return the loads, streams and stores of ``residency_plan`` (PROBLEM.md, section 3).

    Parameters
    ----------
    timeline
        The problem in the residency plan's order and mappings.
    residency_plan
        Tables in the form that :func:`spmopt.assemble.assemble` checks.

    Raises
    ------
    ScheduleError
        A store of more bytes than DRAM lacks.
    """
    parts = (
        _loads(timeline, residency_plan),
        _streams(timeline, residency_plan),
        _stores(timeline, residency_plan),
    )
    turn = np.concatenate([part[0] for part in parts])
    commands = Commands.together(*(part[1] for part in parts))
    return commands.take(np.lexsort((commands.tensor, commands.kind, turn, commands.step)))


class Loads(NamedTuple):
    """Loads of a plan, by residency row: bytes ``[begin, size_bytes)`` of its tensor (R2)."""

    row: Ints
    begin: Ints
    access: Ints


def loads_of(timeline: Timeline, rows: Residency) -> Loads:
    """Return the bytes that a row holds beyond the row before it.

    Unless its first step overwrites it (R2). ``access`` is that of the row's tensor in its first
    step, or -1.
    """
    # R2: only the growth over the adjoining row is loaded; a gap starts from nothing.
    before, _ = neighbors(rows, rows.size_bytes)
    access = access_at(timeline, rows.begin, rows.tensor)
    # A pure write makes its bytes on chip: nothing to load.
    overwritten = flag(timeline.kind == Access.WRITE, access)
    row = np.flatnonzero((rows.size_bytes > before) & ~overwritten)
    return Loads(row, before[row], access[row])


def stream_fetches(timeline: Timeline) -> tuple[Ints, Ints]:
    """Return (a,) how often non-resident bytes cross in and out (R3, R4)."""
    kind, live, fetches = timeline.kind, timeline.live_after, timeline.fetches
    # R4: a result in p passes is written p times and read back p - 1 times.
    fetches_in = np.where(kind == Access.WRITE, np.where(live, fetches - 1, 0), fetches)
    fetches_out = np.where((kind != Access.READ) & live, fetches, 0)
    return fetches_in, fetches_out


def _loads(timeline: Timeline, residency_plan: ResidencyPlan) -> tuple[Ints, Commands]:
    """R2, of every load."""
    row, begin, access = loads_of(timeline, residency_plan.residency)
    turn = np.full(row.size, Turn.EARLY_LOAD, np.int64)
    turn[access >= 0] = Turn.OWN_LOAD
    # Last, as a required-resident operand is one of the step's own as well.
    turn[flag(timeline.required_resident, access)] = Turn.REQUIRED_RESIDENT_LOAD
    rows = residency_plan.residency
    return turn, Commands(
        step=rows.begin[row],
        kind=np.full(row.size, Command.LOAD),
        tensor=rows.tensor[row],
        begin=begin,
        end=rows.size_bytes[row],
        fetches=np.ones(row.size, np.int64),
    )


def _streams(timeline: Timeline, residency_plan: ResidencyPlan) -> tuple[Ints, Commands]:
    """R3 and R4: the part of each operand that is not resident, as often as it crosses."""
    size = timeline.size_bytes[timeline.tensor]
    held = resident_bytes(residency_plan.residency, timeline.step, timeline.tensor)
    fetches_in, fetches_out = (np.where(held < size, p, 0) for p in stream_fetches(timeline))
    incoming, outgoing = np.flatnonzero(fetches_in > 0), np.flatnonzero(fetches_out > 0)
    access = np.concatenate((incoming, outgoing))
    direction = np.repeat([Command.STREAM_IN, Command.STREAM_OUT], [incoming.size, outgoing.size])
    return np.full(access.size, Turn.STREAM, np.int64), Commands(
        step=timeline.step[access],
        kind=direction,
        tensor=timeline.tensor[access],
        begin=held[access],
        end=size[access],
        fetches=np.concatenate((fetches_in[incoming], fetches_out[outgoing])),
    )


def _stores(timeline: Timeline, residency_plan: ResidencyPlan) -> tuple[Ints, Commands]:
    """R5: each store extends downwards the suffix that DRAM holds."""
    rows = residency_plan.stores
    access = access_at(timeline, rows.step, rows.tensor)
    valid = _valid_before(timeline, residency_plan)
    size = timeline.size_bytes[rows.tensor]
    # DRAM holds a suffix of each tensor, residency a prefix: a store extends the suffix down.
    begin = size - valid - rows.size_bytes
    if (begin < 0).any():
        row = int(np.flatnonzero(begin < 0)[0])
        raise ScheduleError(f"stores: more bytes than DRAM lacks of the tensor (row {row})")
    result = timeline.kind != Access.READ
    turn = np.full(len(rows), Turn.OLDER_STORE, np.int64)
    turn[flag(result, access)] = Turn.OWN_STORE
    turn[flag(result & timeline.required_resident, access)] = Turn.REQUIRED_RESIDENT_STORE
    return turn, Commands(
        step=rows.step,
        kind=np.full(len(rows), Command.STORE),
        tensor=rows.tensor,
        begin=begin,
        end=size - valid,
        fetches=np.ones(len(rows), np.int64),
    )


def _valid_before(timeline: Timeline, residency_plan: ResidencyPlan) -> Ints:
    """Return (stores,) bytes valid in DRAM that each store finds, after its own step's write.

    Writes set the figure and stores add to it, so it is a running sum that restarts at every
    write: the sum of all stores so far less that sum at the last write.
    """
    rows, writes = residency_plan.stores, np.flatnonzero(timeline.kind != Access.READ)
    tensors = np.arange(timeline.size_bytes.size)
    step = np.concatenate((np.full(tensors.size, -1), timeline.step[writes], rows.step))
    tensor = np.concatenate((tensors, timeline.tensor[writes], rows.tensor))
    held = resident_bytes(residency_plan.residency, timeline.step[writes], timeline.tensor[writes])
    level = np.concatenate(
        (
            np.where(timeline.in_dram, timeline.size_bytes, 0),
            timeline.size_bytes[timeline.tensor[writes]] - held,
            np.zeros(len(rows), np.int64),
        )
    )
    added = np.concatenate((np.zeros(tensors.size + writes.size, np.int64), rows.size_bytes))
    is_store = np.arange(step.size) >= tensors.size + writes.size
    order = np.lexsort((is_store, step, tensor))
    total = np.cumsum(added[order])
    # Index of the last write (or start) at or before each event.
    restart = np.maximum.accumulate(np.where(is_store[order], 0, np.arange(step.size)))
    found = level[order][restart] + total - added[order] - total[restart]
    valid = np.empty(step.size, np.int64)
    valid[order] = found
    return valid[is_store]
