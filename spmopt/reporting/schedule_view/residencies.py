"""Rectangles of address and time: residencies of tensors in the scratchpad."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from spmopt.core.schedule import Command, Commands, Moves, Placements
from spmopt.core.table import Bools, Ints, Table
from spmopt.reporting.schedule_view.times import Times, expand
from spmopt.verifier import ScheduleArrays
from spmopt.verifier.lookup import pick


class Came(IntEnum):
    """How bytes came on chip. ``MOVED``: from another address (banks)."""

    LOADED = 0
    WRITTEN = 1
    SCRATCH = 2
    MOVED = 3

    @property
    def words(self) -> str:
        """As people read it, before the step in which they came."""
        return ("loaded from DRAM", "written", "scratch", "moved from another address")[self]


class Left(IntEnum):
    """Why bytes went.

    ``DEAD``: they are not needed any more. ``EVICTED``: they are needed again. ``END``: of the
    schedule. ``OUT``: from now on they are needed in DRAM only. ``MOVED``: to another address.
    """

    DEAD = 0
    EVICTED = 1
    END = 2
    OUT = 3
    MOVED = 4

    @property
    def words(self) -> str:
        """As people read it."""
        return (
            "no longer needed",
            "evicted, needed again",
            "end of the schedule",
            "needed in DRAM only from then on",
            "moved to another address",
        )[self]


@dataclass(frozen=True, kw_only=True, eq=False)
class Residencies(Table):
    """Pages [page, page + pages) hold those of ``tensor`` (-1: scratch) from ``tensor_page`` on.

    In steps [begin, end), which is cycles [start, stop). ``came`` and ``left`` are :class:`Came`
    and :class:`Left`; ``next`` is the step of the first use after ``begin``, or -1. Sorted by
    (begin, page); no two overlap.
    """

    tensor: Ints
    page: Ints
    pages: Ints
    tensor_page: Ints
    begin: Ints
    end: Ints
    start: Ints
    stop: Ints
    came: Ints
    left: Ints
    next: Ints


def residencies(view: ScheduleArrays, times: Times) -> Residencies:
    """Return the rectangles of a legal schedule.

    In the replay a rectangle begins with the load that fills it or the operation that writes it,
    and ends with the last operation or command that uses it: then another load may fill the pages.
    """
    table = _join(view.schedule.placements)
    row, command = _touching(view, table)
    begins = view.schedule.commands.step[command] == table.begin[row]
    load = begins & (view.schedule.commands.kind[command] == Command.LOAD)
    came = _came(view, table, row[load])
    if times.timing == "step":
        edge = np.concatenate((times.start, [times.cycles]))
        start, stop = edge[table.begin], edge[table.end]
    else:
        start = _replay_start(times, table, came, row[load], command[load])
        # Never backwards: bytes that nothing used end as they begin.
        stop = np.maximum(start, _replay_stop(view, times, table, row, command))
    return Residencies(
        tensor=table.tensor,
        page=table.spm_page,
        pages=table.pages,
        tensor_page=table.tensor_page,
        begin=table.begin,
        end=table.end,
        start=start,
        stop=stop,
        came=came,
        left=_reasons_to_leave(view, table),
        next=next_use(view, table.tensor, table.begin),
    )


def _join(table: Placements) -> Placements:
    """Join rows that follow each other in time, of the same pages at the same place."""
    keys = (table.spm_page, table.pages, table.tensor_page, table.tensor)
    order = np.lexsort((table.begin, *keys))
    rows = table.take(order)
    # Scratch of two steps is two buffers, even at one place.
    follows = (rows.begin[1:] == rows.end[:-1]) & (rows.tensor[1:] >= 0)
    for column in (rows.spm_page, rows.pages, rows.tensor_page, rows.tensor):
        follows &= column[1:] == column[:-1]
    first = np.flatnonzero(np.concatenate(([True], ~follows)))[: len(rows)]
    last = np.concatenate((first[1:], [len(rows)]))[: first.size] - 1
    joined = replace(rows.take(first), end=rows.end[last])
    return joined.take(np.lexsort((joined.spm_page, joined.begin)))


def _touching(view: ScheduleArrays, table: Placements) -> tuple[Ints, Ints]:
    """Return pairs (rectangle, load or store of some of its bytes while it is there)."""
    commands = view.schedule.commands
    chosen = np.flatnonzero((commands.kind == Command.LOAD) | (commands.kind == Command.STORE))
    row, place = _meeting(view, table, commands.take(chosen), (table.begin, table.end))
    return row, chosen[place]


def _meeting(
    view: ScheduleArrays, table: Placements, ranges: Commands | Moves, during: tuple[Ints, Ints]
) -> tuple[Ints, Ints]:
    """Return pairs (rectangle, range of bytes that it has some of, in steps ``during``)."""
    page, stride = view.page_bytes, view.timeline.steps + 1
    order = np.lexsort((ranges.step, ranges.tensor))
    key = (ranges.tensor * stride + ranges.step)[order]
    row, place = expand(*(np.searchsorted(key, table.tensor * stride + step) for step in during))
    found = order[place]
    low, high = table.tensor_page[row] * page, (table.tensor_page + table.pages)[row] * page
    meets = (ranges.begin[found] < high) & (ranges.end[found] > low)
    return row[meets], found[meets]


def _came(view: ScheduleArrays, table: Placements, loaded: Ints) -> Ints:
    """Return (r,) :class:`Came`; ``loaded`` are the rectangles that a load fills."""
    came = np.where(_move(view, table, table.begin), Came.MOVED, Came.WRITTEN)
    came[loaded] = Came.LOADED
    came[table.tensor < 0] = Came.SCRATCH
    return came


def _reasons_to_leave(view: ScheduleArrays, table: Placements) -> Ints:
    """Return (r,) :class:`Left` of each rectangle."""
    tensor, after = np.maximum(table.tensor, 0), table.end - 1
    needed = view.live(tensor, table.end) & (table.tensor >= 0)
    again = next_use(view, table.tensor, after) >= 0
    return np.select(
        # First match wins: the end of the schedule before any other reason.
        [table.end == view.timeline.steps, _move(view, table, table.end), needed & again, needed],
        [Left.END, Left.MOVED, Left.EVICTED, Left.OUT],
        Left.DEAD,
    )


def _move(view: ScheduleArrays, table: Placements, step: Ints) -> Bools:
    """Find (r,) whether some bytes of a rectangle get another address as ``step`` opens."""
    row, _ = _meeting(view, table, view.schedule.moves, (step, step + 1))
    return np.isin(np.arange(len(table)), row)


def next_use(view: ScheduleArrays, tensor: Ints, step: Ints) -> Ints:
    """Return (r,) the first step after ``step`` that uses ``tensor``, or -1."""
    line, known = view.timeline, np.maximum(tensor, 0)
    row = view.accesses.last(known, step)
    following = np.where(row < 0, line.first_access[known], pick(line.next, row, -1))
    return np.where(tensor < 0, -1, pick(line.step, following, -1))


def _replay_start(times: Times, table: Placements, came: Ints, row: Ints, load: Ints) -> Ints:
    start = np.where(came == Came.MOVED, times.start[table.begin], times.compute_start[table.begin])
    # Later than any load, so that the minimum below is the first load's.
    start[row] = times.cycles
    np.minimum.at(start, row, times.command_start[load])
    return start


def _replay_stop(
    view: ScheduleArrays, times: Times, table: Placements, row: Ints, command: Ints
) -> Ints:
    used = view.accesses.last(np.maximum(table.tensor, 0), table.end - 1)
    step = np.where(table.tensor < 0, table.begin, pick(view.timeline.step, used, -1))
    stop = np.where(step >= table.begin, times.operation_end[step], 0)
    np.maximum.at(stop, row, times.command_end[command])
    stop[table.end == view.timeline.steps] = times.cycles
    return stop
