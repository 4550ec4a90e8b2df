"""Where the bytes of a transfer could move instead: how far, and their space there.

* Incoming bytes could come earlier, after they were on chip last, or be kept since then.
* Results that a step sends out could be sent later, until it is updated or read for the last
  time; kept until then, it need not be sent at all.
* Loads of the first step for a later one could come later, at no space, until needed.
* An older result that is stored could be stored earlier, at no space, since it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from spmopt.core.schedule import Command
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access
from spmopt.verifier import ScheduleArrays
from spmopt.verifier.lookup import StepIndex, pick, pick_flag


@dataclass(frozen=True, kw_only=True, eq=False)
class Shifts:
    """Bytes that could move to another step (k,).

    Steps count from the end where ``later``: all of them are to move back, towards 0.

    Attributes
    ----------
    step
        Where they are moved now.
    start
        The last step in which they would take space that they do not take now.
    low
        The first step that they can be moved in, or be caught in.
    supplied
        They are on chip in step ``low`` anyway: held from there on, they need no transfer.
    later
        They would be moved later, not earlier.
    """

    size_bytes: Ints
    step: Ints
    start: Ints
    low: Ints
    supplied: Bools
    later: Bools

    @classmethod
    def of(cls, view: ScheduleArrays, command: Ints) -> Self:
        """Find how every command may move."""
        table = view.schedule.commands
        step, tensor, kind = (c[command] for c in (table.step, table.tensor, table.kind))
        size = (table.end - table.begin)[command]
        access = view.command_access[command]
        # A store in a step that does not write the tensor carries an older version.
        writes = np.isin(pick(view.timeline.kind, access, -1), (Access.WRITE, Access.UPDATE))
        store = kind == Command.STORE
        # Results of the step itself cannot leave before it; they can only leave later.
        later = (kind == Command.STREAM_OUT) | (store & writes)
        until = _first_need(view, command)
        ahead = until > step
        later |= ahead
        into = ~later & ~store
        start, low = step.copy(), step.copy()
        supplied = np.ones(step.size, bool)
        rows = np.flatnonzero(into)
        start[rows], low[rows], supplied[rows] = _inbound(view, command[rows])
        rows = np.flatnonzero(store & ~later)
        low[rows] = _last_write(view, tensor[rows], step[rows])
        start[rows], supplied[rows] = low[rows] - 1, False
        last = view.timeline.steps - 1
        low[ahead] = last - until[ahead]
        start[ahead], supplied[ahead] = low[ahead] - 1, False
        rows = np.flatnonzero(later & ~ahead)
        free, until, supplied[rows] = _outbound(view, command[rows])
        start[rows], low[rows] = last - free, last - until
        return cls(
            size_bytes=size,
            step=np.where(later, last - step, step),
            start=start,
            low=low,
            supplied=supplied,
            later=later,
        )

    @property
    def needs_next(self) -> Bools:
        """They need space in the step next to theirs at once."""
        following = self.step - 1
        needs: Bools = (self.start >= following) & (following >= self.low)
        return needs

    def take(self, rows: Ints) -> Self:
        """Return some of them."""
        return type(self)(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def _inbound(view: ScheduleArrays, command: Ints) -> tuple[Ints, Ints, Bools]:
    """Find start, low and supplied of incoming bytes.

    It was on chip last where it was used last, or until it was dropped after that. The partial
    sums of a result are made by the step itself.
    """
    table, line = view.schedule.commands, view.timeline
    step, tensor = table.step[command], table.tensor[command]
    stream = table.kind[command] == Command.STREAM_IN
    used = view.accesses.last(tensor, step - 1)
    since = pick(line.step, used, -1)
    held = _hold_until(view, tensor, step - 1, table.begin[command], since)
    # Where it streamed past it takes space to be caught; where it was held, from then on only.
    there = pick(view.resident_bytes, used, 0) > table.begin[command]
    # Held beyond its last use, it was dropped after ``held``; else it was dropped at once.
    low = np.where(held > since, held + 1, np.where(there, since + 1, since))
    low, supplied = np.maximum(low, 0), (since >= 0) | (held > since)
    partial = stream & (pick(line.kind, view.command_access[command], -1) == Access.WRITE)
    low[partial], supplied[partial] = step[partial], True
    return np.where(stream, step, step - 1), np.minimum(low, step), supplied


def _first_need(view: ScheduleArrays, command: Ints) -> Ints:
    """Find the last step for loads of the first step for later ones; -1 for others.

    It is that of the first use, or where it is required-resident, the one before; unused, the last
    of all.
    """
    table, line = view.schedule.commands, view.timeline
    ahead = (table.kind[command] == Command.LOAD) & (table.step[command] == 0)
    ahead &= view.command_access[command] < 0
    used = np.where(ahead, line.first_access[table.tensor[command]], -1)
    before = pick_flag(line.required_resident, used) & (pick(line.kind, used, -1) != Access.WRITE)
    until: Ints = pick(line.step, used, line.steps - 1) - before
    return np.where(ahead, until, -1)


def _hold_until(view: ScheduleArrays, tensor: Ints, step: Ints, byte: Ints, since: Ints) -> Ints:
    """Find the last step up to ``step``, after ``since``, in which ``byte`` is resident."""
    rows = view.schedule.residency
    row = view.rows.last(tensor, step)
    while True:
        begin = pick(rows.begin, row, -1)
        short = (row >= 0) & (begin > since) & (pick(rows.size_bytes, row, 0) <= byte)
        if not short.any():
            break
        row = np.where(short, view.rows.last(tensor, begin - 1), row)
    last = np.minimum(pick(rows.end, row, 0) - 1, step)
    return np.where((row >= 0) & (pick(rows.size_bytes, row, 0) > byte), last, -1)


def _last_write(view: ScheduleArrays, tensor: Ints, step: Ints) -> Ints:
    """Return the step that made the stored contents."""
    line = view.timeline
    write = np.flatnonzero(line.kind != Access.READ)
    row = StepIndex.of(line.tensor[write], line.step[write], line.steps).last(tensor, step)
    return np.maximum(pick(line.step[write], row, 0), 0)


def _outbound(view: ScheduleArrays, command: Ints) -> tuple[Ints, Ints, Bools]:
    """Find the first step in which keeping it takes space, the last one to send it, supplied.

    It need never be sent if it can be kept until it is written over, or until its last use.
    """
    table = view.schedule.commands
    step, access = table.step[command], view.command_access[command]
    free = np.where(table.kind[command] == Command.STREAM_OUT, step, 0)
    stored = np.flatnonzero(table.kind[command] == Command.STORE)
    row = view.rows.last(table.tensor[command[stored]], step[stored])
    free[stored] = _leaves(view)[row]
    until, kept = _last_need(view)
    return free, until[access], ~kept[access]


def _leaves(view: ScheduleArrays) -> Ints:
    """Find (rows,) the step from which on bytes of each residency row are not resident."""
    table = view.schedule.residency
    follows = (table.tensor[1:] == table.tensor[:-1]) & (table.begin[1:] == table.end[:-1])
    goes_on = np.append(follows & (table.size_bytes[1:] >= table.size_bytes[:-1]), False)
    # A row that goes on leaves with the next that does not.
    stops = np.flatnonzero(~goes_on)
    leaves: Ints = table.end[stops[np.searchsorted(stops, np.arange(len(table)))]]
    return leaves


def _last_need(view: ScheduleArrays) -> tuple[Ints, Bools]:
    """Find (a,) the last step that needs the contents after each access; whether they stay then.

    Up to and with the next update, or the last read; kept contents to the end.
    """
    line = view.timeline
    until, kept = line.step.copy(), np.zeros(line.step.size, bool)
    last = line.next < 0
    kept[last] = line.keep[line.tensor[last]]
    until[last & kept] = line.steps - 1
    # From the last access of every tensor back to its first.
    following: list[int] = line.next.tolist()
    kinds, steps = line.kind.tolist(), line.step.tolist()
    ends, keeps = until.tolist(), kept.tolist()
    for row in range(len(following) - 1, -1, -1):
        after = following[row]
        if after >= 0 and kinds[after] == Access.READ:
            ends[row], keeps[row] = ends[after], keeps[after]
        elif after >= 0 and kinds[after] == Access.UPDATE:
            ends[row], keeps[row] = steps[after], False
    return np.array(ends, np.int64), np.array(keeps, bool)
