"""The event-driven replay: the same commands on a machine without barriers between steps.

One FIFO channel, or with duplex one for ``load`` and ``stream_in`` and one for ``store`` and
``stream_out``; operations in order. A command starts when its channel is free and

* a load: earlier uses of the pages that it fills have ended, and the operation that wrote
  the bytes, if one did, has ended;
* a store of results of the step's operation, and every stream: the operation has started
  (row pipelining, an assumption); of a required-resident result: the operation has ended;
* another store: the operation that wrote the bytes has ended;
* duplex: earlier steps' accesses of the other channel to the same DRAM bytes are done.

With banks a step opens with its moves (:mod:`spmopt.verifier.moving`).

An operation starts when the one before it has ended, loads of its required-resident operands and
all loads of its operands in earlier steps are done, and so is every earlier command that uses a
page that it overwrites. It ends after its computation, its streams and the loads of the same step
that serve it.

It ends no later than the makespan. Claim: everything of steps up to i ends by
``T_i = d_0 + ... + d_i``. Suppose it for i - 1, and let T be ``T_{i-1}``. Predecessors of a move, a
load, a store of older contents or a DRAM access of step i belong to earlier steps, or is such a
move, so it is eligible by T. One channel: the first loads run one after the other from T at the
latest, so the operation starts by ``T + L``. The next commands are eligible by then, and the
channel has nothing but ``X - S`` to do, so they end by ``T + X - S`` and the operation by ``max(T +
L + c, T + X - S)``; the last stores follow, ``S`` more: ``T + max(L + c + S, X)``. Duplex: likewise
the inward channel is done by ``T + in``, the outward one up to the last stores by ``T + L + out -
S`` (its streams wait for the operation), the operation ends by the greatest of these and ``T + L +
c``, and the last stores ``S`` later: ``T + max(in + S, L + out, L + c + S)``. Both are ``T_{i-1} +
d_i = T_i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.arrays import AFTER, BEFORE, DURING, ScheduleArrays
from spmopt.verifier.durations import Durations, durations
from spmopt.verifier.extents import Addresses, Extent
from spmopt.verifier.lookup import pick_flag
from spmopt.verifier.memory import MemoryContents
from spmopt.verifier.moving import Moving, PageTimes
from spmopt.verifier.violation import MAX_PER_CHECK, Violation

SCRATCH = -1
_PHASES = (BEFORE, DURING, AFTER)
# As plain integers, which compare faster than members.
_LOAD, _STORE = int(Command.LOAD), int(Command.STORE)
_STREAM_IN, _STREAM_OUT = int(Command.STREAM_IN), int(Command.STREAM_OUT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """Times of all events, in cycles, and faulty contents of SPM or DRAM when used.

    ``operation_start``, ``operation_end`` are per step, ``command_start``, ``command_end`` per
    row of the command table.
    """

    cycles: int
    operation_start: Ints
    operation_end: Ints
    command_start: Ints
    command_end: Ints
    violations: tuple[Violation, ...]


def replay(view: ScheduleArrays, time: Durations | None = None) -> Replay:
    """Run a schedule in correct format (R0); ``time`` is that of ``view``, where it is known.

    Of a schedule that breaks other rules the times mean nothing, but the contents are still
    followed, in program order. Rule R10 makes that the queue order; within a step an
    operation takes its inputs before its results leave.
    """
    placed, available = view.schedule.placements, view.problem.machine.spm_pages
    if ((placed.spm_page < 0) | (placed.spm_page > available - placed.pages)).any():
        text = f"an address is outside the SPM of {available} pages"
        outside = Violation(rule="replay", step=None, tensor=None, message=text)
        return _result(0, _Spans(0), _Spans(0), [outside])
    machine = _Machine(view, durations(view) if time is None else time)
    for step in range(view.timeline.steps):
        machine.run(step)
    machine.check_end()
    return machine.result()


class _Machine:
    """State of the replay; times in cycles."""

    def __init__(self, view: ScheduleArrays, time: Durations) -> None:
        commands, line = view.schedule.commands, view.timeline
        tensors, steps = line.size_bytes.size, line.steps
        self._view = view
        self._memory = MemoryContents(view)
        self._addresses = Addresses(view.schedule.placements)
        # One channel keeps the order of accesses to DRAM by itself.
        self._dram = _DramOrder(tensors) if view.problem.machine.duplex else None
        # Columns as lists, which give single numbers faster than arrays.
        self._cycles: list[int] = time.command.tolist()
        self._kind: list[int] = commands.kind.tolist()
        self._tensor: list[int] = commands.tensor.tolist()
        self._begin: list[int] = commands.begin.tolist()
        self._end: list[int] = commands.end.tolist()
        self._queue, self._turn = _queue(view)
        self._reads, self._writes = _Operands(line, Access.WRITE), _Operands(line, Access.READ)
        # Per command: whether the operation of its step reads, or writes, its tensor.
        access = view.command_access
        self._is_read: list[bool] = pick_flag(line.kind != Access.WRITE, access).tolist()
        self._is_written: list[bool] = pick_flag(line.kind != Access.READ, access).tolist()
        self._size: list[int] = line.size_bytes.tolist()
        self._compute: list[int] = time.operation.tolist()
        self._free = [0, 0]
        self._busy = PageTimes(view.problem.machine.spm_pages)
        self._moving = Moving(view, self._memory, self._addresses, self._busy)
        # Per tensor, and last for the scratch: the step of its last use.
        self._last_use = [-1] * (tensors + 1)
        # Per tensor: when its last load and the operation that wrote it end.
        self._arrived = [0] * tensors
        self._written = [0] * tensors
        self._opened = 0  # when the step's moves were made
        self._operation_end = 0
        self._spans = _Spans(steps)
        self._command_spans = _Spans(len(commands))
        self._violations: list[Violation] = []

    def run(self, step: int) -> None:
        """One step: moves, commands before, operation and commands during it, commands after."""
        self._opened = self._moving.open(step, self._operation_end, self._give_up)
        reads, writes = self._reads.of(step), self._writes.of(step)
        turn = len(_PHASES) * step
        first, middle, last, over = self._turn[turn : turn + len(_PHASES) + 1]
        during = self._queue[middle:last]
        start = 0
        for row in self._queue[first:middle]:
            start = max(start, self._load(row, step))
        start = self._ready(start, reads, writes)
        end = start + self._compute[step]
        for row in during:
            end = max(end, self._run_during(row, step, start))
        self._operate(step, reads, writes, during)
        for row in self._queue[last:over]:
            self._run(row, step, end)
        for row in self._queue[middle:over]:
            self._leave(row)
        for tensor in reads:
            self._last_use[tensor] = step
        for tensor in writes:
            self._last_use[tensor] = step
            self._written[tensor] = end
        self._last_use[SCRATCH] = step
        self._operation_end = end
        self._spans.set(step, start, end)

    def check_end(self) -> None:
        """Check that kept tensors are in DRAM."""
        for tensor in np.flatnonzero(self._view.timeline.keep).tolist():
            if not self._memory.valid_in_dram(tensor, 0, self._size[tensor]):
                self._violate(None, tensor, "is to be kept, but DRAM does not hold it at the end")

    def result(self) -> Replay:
        """Return all times."""
        cycles = max(self._operation_end, *self._free)
        return _result(cycles, self._spans, self._command_spans, self._violations)

    def _give_up(self, step: int) -> None:
        """Note until when pages that change hands in this step were in use: the last use."""
        for tensor, since, (low, high, _) in self._addresses.advance(step):
            last = self._last_use[tensor]
            if last >= since:
                self._busy.used.set(low, high, self._spans.end[last])

    def _run_during(self, row: int, step: int, start: int) -> int:
        """Run a command; return until when the operation must wait for it (0: it need not)."""
        kind = self._kind[row]
        if kind == _LOAD:
            end = self._load(row, step)
            return end if self._is_read[row] else 0
        if kind == _STORE:
            tensor = self._tensor[row]
            # Loads need no waiting for: their bytes are in DRAM and are not stored (R5).
            older = max(self._written[tensor], self._moving.last[tensor])
            self._run(row, step, start if self._is_written[row] else older)
            return 0
        return self._run(row, step, start)

    def _run(self, row: int, step: int, eligible: int) -> int:
        """Occupy the command's channel once it is eligible; return when it ends."""
        if self._dram is not None:
            return self._run_duplex(self._dram, row, step, eligible)
        start = max(self._free[0], eligible)
        finish = start + self._cycles[row]
        self._free[0] = finish
        self._command_spans.set(row, start, finish)
        return finish

    def _run_duplex(self, dram: _DramOrder, row: int, step: int, eligible: int) -> int:
        """Do so on the channel of its direction, after the other's accesses to these bytes."""
        outward = self._kind[row] in (_STORE, _STREAM_OUT)
        tensor, begin, end = self._tensor[row], self._begin[row], self._end[row]
        order = dram.eligible(outward, tensor, begin, end, step)
        start = max(self._free[outward], eligible, order)
        finish = start + self._cycles[row]
        self._free[outward] = finish
        self._command_spans.set(row, start, finish)
        dram.note(outward, tensor, (begin, end, finish, step), self._free[not outward])
        return finish

    def _load(self, row: int, step: int) -> int:
        tensor, extents = self._tensor[row], self._extents(row)
        eligible = max(self._busy.unused_from(extents), self._written[tensor])
        finish = self._run(row, step, eligible)
        for low, high, _ in extents:
            self._busy.loaded.set(low, high, finish)
        self._arrived[tensor] = finish
        self._memory.load(tensor, self._begin[row], self._end[row], extents)
        return finish

    def _extents(self, row: int) -> list[Extent]:
        """Return where the pages of a command's bytes lie."""
        page = self._view.page_bytes
        first, last = self._begin[row] // page, -(-self._end[row] // page)
        return self._addresses.part(self._tensor[row], first, last)

    def _ready(self, loaded: int, reads: list[int], writes: list[int]) -> int:
        """Return when the operation before, its operands' loads and users of its pages are done."""
        ready = max(loaded, self._opened, self._operation_end)
        for tensor in reads:
            ready = max(ready, self._arrived[tensor])
        if ready >= max(self._free):
            return ready  # all commands so far are done, whatever pages they use
        for tensor in (*writes, SCRATCH):
            ready = max(ready, self._busy.fill(self._addresses.of(tensor)))
        return ready

    def _operate(self, step: int, reads: list[int], writes: list[int], during: list[int]) -> None:
        """Compare the inputs, resident and streamed, with their expected versions; write pages."""
        resident: dict[int, int] = {}
        for row in during:
            if self._kind[row] == _STREAM_IN and self._is_read[row]:
                tensor, begin, end = self._tensor[row], self._begin[row], self._end[row]
                if not self._memory.valid_in_dram(tensor, begin, end):
                    self._violate(step, tensor, "streamed in, but DRAM holds another version")
                if end == self._size[tensor]:
                    resident[tensor] = min(begin, resident.get(tensor, end))
        for tensor in reads:
            size = resident.get(tensor, self._size[tensor])
            if not self._memory.valid_in_spm(tensor, size, self._addresses.of(tensor)):
                self._violate(step, tensor, f"first {size} bytes read from other contents")
        self._memory.scribble(self._addresses.of(SCRATCH))
        for tensor in writes:
            self._memory.new_version(tensor)
            self._memory.write(tensor, self._addresses.of(tensor))

    def _leave(self, row: int) -> None:
        """Put the bytes of the step's stores and streams into DRAM.

        Only now, because a load of an operand updated in place brings the old version even when
        it stands behind the store of the new one, and because bytes that the operation overwrites
        must not be those that an older store of the same step still needs.
        """
        kind = self._kind[row]
        if kind == _STORE:
            extents = self._extents(row)
            for low, high, _ in extents:
                self._busy.stored.set(low, high, self._command_spans.end[row])
            self._memory.store(self._tensor[row], self._begin[row], self._end[row], extents)
        elif kind == _STREAM_OUT:
            self._memory.stream_out(self._tensor[row], self._begin[row], self._end[row])

    def _violate(self, step: int | None, tensor: int, what: str) -> None:
        if len(self._violations) < MAX_PER_CHECK:
            text = f"{self._view.name(tensor)}: {what}"
            self._violations.append(
                Violation(rule="replay", step=step, tensor=tensor, message=text)
            )


class _Spans:
    """When each of ``count`` things starts and ends."""

    def __init__(self, count: int) -> None:
        self.start, self.end = [0] * count, [0] * count

    def set(self, place: int, start: int, end: int) -> None:
        """Set those of one."""
        self.start[place], self.end[place] = start, end


class _Operands:
    """Operands of each step's operation: its accesses less those of kind ``other``.

    In their order, which matters where pages of two written tensors overlap (against R8).
    """

    def __init__(self, line: Timeline, other: Access) -> None:
        chosen = line.kind != other
        self._tensor: list[int] = line.tensor[chosen].tolist()
        self._first: list[int] = np.concatenate(([0], np.cumsum(chosen)))[line.first].tolist()

    def of(self, step: int) -> list[int]:
        """Return the tensors."""
        return self._tensor[self._first[step] : self._first[step + 1]]


def _queue(view: ScheduleArrays) -> tuple[list[int], list[int]]:
    """Return rows of commands by step, then phase, then row; and where each step's phases begin."""
    turn = view.schedule.commands.step * len(_PHASES) + view.command_phase
    rows = np.argsort(turn, kind="stable")
    turns = np.arange(view.timeline.steps * len(_PHASES) + 1)
    return rows.tolist(), np.searchsorted(turn[rows], turns).tolist()


def _result(
    cycles: int, operations: _Spans, commands: _Spans, violations: Sequence[Violation]
) -> Replay:
    return Replay(
        cycles=cycles,
        operation_start=np.array(operations.start, np.int64),
        operation_end=np.array(operations.end, np.int64),
        command_start=np.array(commands.start, np.int64),
        command_end=np.array(commands.end, np.int64),
        violations=tuple(violations),
    )


Past = tuple[int, int, int, int]
"""Bytes [begin, end) of an access, when it was over, and its step."""


class _DramOrder:
    """Per tensor and direction, the accesses that a later one may have to wait for.

    For duplex: one channel keeps the order by itself. In one step the accesses to a tensor are
    to different bytes, or are inputs and results of one operation, pipelined by rows; so only
    those of earlier steps are waited for.
    """

    def __init__(self, tensors: int) -> None:
        self._past: tuple[list[list[Past]], ...] = tuple(
            [[] for _ in range(tensors)] for _ in range(2)
        )

    def eligible(self, outward: bool, tensor: int, begin: int, end: int, step: int) -> int:
        """Return when the other direction's accesses to bytes [begin, end) are over."""
        past = self._past[not outward][tensor]
        return max(
            (over for low, high, over, at in past if at < step and low < end and begin < high),
            default=0,
        )

    def note(self, outward: bool, tensor: int, access: Past, now: int) -> None:
        """Remember ``access``; forget commands that ended by ``now``.

        ``now`` is when the other channel is free: commands started later need not wait for them.
        """
        past = self._past[outward]
        past[tensor] = [*(each for each in past[tensor] if each[2] > now), access]
