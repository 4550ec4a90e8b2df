"""A schedule next to its problem, as arrays that every rule reads and none changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Commands, Schedule
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline, timeline
from spmopt.verifier.lookup import StepIndex, pick, pick_flag

BEFORE, DURING, AFTER = 0, 1, 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Suffix:
    """The last ``Z`` bytes of a tensor are valid in DRAM.

    Attributes
    ----------
    index : over the changes of ``Z``, by the first step that they hold for.
    bytes_after : (changes,) ``Z`` after each.
    store : the commands that are stores, as rows of the command table.
    before_store : ``Z`` at each of these, the write of the same step included.
    """

    index: StepIndex
    bytes_after: Ints
    store: Ints
    before_store: Ints

    def valid(self, tensor: Ints, step: Ints) -> Ints:
        """Return ``Z_t`` at the start of ``step`` (``steps``: at the end), bytes per pair."""
        return pick(self.bytes_after, self.index.last(tensor, step), 0)


def track_suffix(line: Timeline, commands: Commands, resident: Ints) -> Suffix:
    """Follow ``Z`` through starts, writes and stores; ``resident`` is per access.

    ``Z_t(1) = s_t`` if ``in_dram``, else 0. A write leaves its streamed bytes, ``s_t - r_t``, or
    nothing when the result is dead and so not streamed. A store adds its bytes.
    """
    tensors = line.size_bytes.size
    write = np.flatnonzero(line.kind != Access.READ)
    store = np.flatnonzero(commands.kind == Command.STORE)
    streamed = np.where(line.live_after, line.size_bytes[line.tensor] - resident, 0)[write]
    tensor = np.concatenate((np.arange(tensors), line.tensor[write], commands.tensor[store]))
    # A start holds from step 0, a change of step i from step i + 1.
    since = np.concatenate(
        (np.zeros(tensors, np.int64), line.step[write] + 1, commands.step[store] + 1)
    )
    base = np.concatenate(
        (np.where(line.in_dram, line.size_bytes, 0), streamed, np.zeros(store.size, np.int64))
    )
    added = np.zeros(tensor.size, np.int64)
    added[tensors + write.size :] = (commands.end - commands.begin)[store]
    is_store = np.arange(tensor.size) >= tensors + write.size
    # A write and a store of the same step: the write comes first (R5).
    order = np.lexsort((is_store, since, tensor))
    total = np.cumsum(added[order])
    # The start or write that each change in ``order`` follows.
    root = np.maximum.accumulate(np.where(is_store[order], 0, np.arange(order.size)))
    after = base[order][root] + total - total[root]
    bytes_after = np.empty_like(after)
    bytes_after[order] = after
    before_store = bytes_after[is_store] - added[is_store]
    index = StepIndex.of(tensor, since, line.steps)
    return Suffix(index=index, bytes_after=bytes_after, store=store, before_store=before_store)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScheduleArrays:
    """View of a schedule for the rules; built only for schedules in correct format (R0).

    Attributes
    ----------
    rows, accesses
        Residency rows by their begin, accesses by their step.
    resident_bytes : (a,)
        ``r_t(i)`` of every access.
    suffix
        ``Z_t``.
    """

    problem: Problem
    schedule: Schedule
    timeline: Timeline
    rows: StepIndex
    accesses: StepIndex
    resident_bytes: Ints
    suffix: Suffix

    @classmethod
    def of(cls, problem: Problem, schedule: Schedule) -> Self:
        """Lay out ``schedule``; its indices must be in range."""
        line = timeline(problem, schedule.steps)
        table = schedule.residency
        rows = StepIndex.of(table.tensor, table.begin, line.steps)
        resident = _resident(schedule, rows, line.tensor, line.step)
        return cls(
            problem=problem,
            schedule=schedule,
            timeline=line,
            rows=rows,
            accesses=StepIndex.of(line.tensor, line.step, line.steps),
            resident_bytes=resident,
            suffix=track_suffix(line, schedule.commands, resident),
        )

    @property
    def page_bytes(self) -> int:
        """Bytes of an SPM page, ``g``."""
        return self.problem.machine.page_bytes

    def name(self, tensor: int) -> str:
        """Return a tensor's name, for messages."""
        return "scratch" if tensor < 0 else self.problem.tensors[tensor].name

    def pages(self, size_bytes: Ints) -> Ints:
        """Return the pages that hold so many bytes."""
        return -(-size_bytes // self.page_bytes)

    def resident(self, tensor: Ints, step: Ints) -> Ints:
        """Return ``r_t(step)`` per pair; 0 before the first step and after the last."""
        return _resident(self.schedule, self.rows, tensor, step)

    def access(self, tensor: Ints, step: Ints) -> Ints:
        """Return the access to ``tensor`` in ``step``, or -1, per pair."""
        row = self.accesses.last(tensor, step)
        return np.where(pick(self.timeline.step, row, -2) == step, row, -1)

    def live(self, tensor: Ints, step: Ints) -> Bools:
        """Whether the contents at the start of ``step`` are needed, per pair."""
        row = self.accesses.last(tensor, step - 1)
        live: Bools = np.where(
            row < 0, self.timeline.live_before[tensor], pick_flag(self.timeline.live_after, row)
        )
        return live

    @cached_property
    def named_bytes(self) -> Ints:
        """The bytes on chip that each command names, with all fetches."""
        commands = self.schedule.commands
        return (commands.end - commands.begin) * commands.fetches

    @cached_property
    def command_bytes(self) -> Ints:
        """The bytes that each command moves: fewer than it names, of a compressed tensor."""
        return self.timeline.moved.of(self.schedule.commands.tensor, self.named_bytes)

    @cached_property
    def command_access(self) -> Ints:
        """The access that each command's tensor has in its step, or -1."""
        return self.access(self.schedule.commands.tensor, self.schedule.commands.step)

    @cached_property
    def command_phase(self) -> Ints:
        """``BEFORE``: loads of resident operands; ``AFTER``: stores of resident results."""
        line, commands, row = self.timeline, self.schedule.commands, self.command_access
        kind = pick(line.kind, row, -1)
        required_resident = pick_flag(line.required_resident, row)
        before = (commands.kind == Command.LOAD) & required_resident & (kind != Access.WRITE)
        after = (commands.kind == Command.STORE) & required_resident & (kind != Access.READ)
        phase: Ints = np.where(before, BEFORE, np.where(after, AFTER, DURING))
        return phase


def _resident(schedule: Schedule, rows: StepIndex, tensor: Ints, step: Ints) -> Ints:
    row = rows.last(tensor, step)
    inside = pick(schedule.residency.end, row, 0) > step
    return np.where(inside, pick(schedule.residency.size_bytes, row, 0), 0)
