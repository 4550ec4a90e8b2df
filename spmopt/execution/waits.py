"""Waits between commands of engines that run at the same time.

Engines take their commands in the order of the list: one DMA channel (two with ``duplex``), the
compute engine, and the engine of moves on chip. A command waits for commands of other engines that
write bytes, of the scratchpad or of DRAM, that it reads or overwrites, and for those that read
bytes that it overwrites. Streams in of an operation, whose buffers are its scratch, come before it,
streams out after it; a machine that pipelines them by rows may start all with the operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spmopt.core.table import Ints, Table
from spmopt.execution.commands import Kind, Program, Use

NONE = -1


class Engine(IntEnum):
    """Engine of a command; without ``duplex`` all DMA is of ``DMA_IN``."""

    DMA_IN = 0
    DMA_OUT = 1
    COMPUTE = 2
    MOVE = 3


_ENGINES = {
    Kind.LOAD: Engine.DMA_IN,
    Kind.STREAM_IN: Engine.DMA_IN,
    Kind.STORE: Engine.DMA_OUT,
    Kind.STREAM_OUT: Engine.DMA_OUT,
    Kind.COMPUTE: Engine.COMPUTE,
    Kind.LIFT: Engine.MOVE,
    Kind.LAY: Engine.MOVE,
}
_INTO_DRAM = (Kind.STORE, Kind.STREAM_OUT)
_OF_DMA = (Kind.LOAD, Kind.STREAM_IN, *_INTO_DRAM)
_STREAMS = (Kind.STREAM_IN, Kind.STREAM_OUT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Waits(Table):
    """Rows "``command`` waits for ``on``", a command of another engine; sorted by both.

    Implied waits are left out: a command waits for all earlier ones of its engine, and for all
    that these, and those it waits for, have waited for.
    """

    command: Ints
    on: Ints


def engines(program: Program) -> Ints:
    """Return (commands,) the :class:`Engine` of each command."""
    table = np.array([_ENGINES[kind] for kind in Kind], np.int64)
    found: Ints = table[program.commands.kind]
    # One channel moves both ways, in the order of the list.
    if not program.problem.machine.duplex:
        found[found == Engine.DMA_OUT] = Engine.DMA_IN
    return found


def waits(program: Program) -> Waits:
    """Return the waits of each command of a program."""
    walk = _Walk(program)
    for command in range(len(program.commands)):
        walk.take(command)
    return Waits.of_rows(walk.rows)


class _Touched:
    """Last command of each engine that wrote, and that read, each granule of a memory.

    Granules lie between neighboring boundaries of ``touched`` pages: few, however large the memory
    is.
    """

    def __init__(self, touched: Iterable[slice]) -> None:
        boundaries = {boundary for pages in touched for boundary in (pages.start, pages.stop)}
        self._place = {boundary: place for place, boundary in enumerate(sorted(boundaries))}
        self.written = np.full((len(Engine), len(boundaries)), NONE, np.int64)
        self.read = self.written.copy()

    def before(self, pages: slice, *, writes: bool) -> Ints:
        """Return (engines,) the last commands that one must wait for that reads, or writes."""
        granules = self._granules(pages)
        found: Ints = self.written[:, granules].max(axis=1, initial=NONE)
        if writes:
            found = np.maximum(found, self.read[:, granules].max(axis=1, initial=NONE))
        return found

    def note(self, pages: slice, engine: int, command: int, *, writes: bool) -> None:
        """Note that a command reads or writes."""
        (self.written if writes else self.read)[engine, self._granules(pages)] = command

    def _granules(self, pages: slice) -> slice:
        return slice(self._place[pages.start], self._place[pages.stop])


class _Pages(NamedTuple):
    """Pages of a memory that a command uses, and whether it writes them."""

    in_spm: bool
    pages: slice
    writes: bool


class _Walk:
    """Walk along the list, with the commands that every engine knows to be done."""

    def __init__(self, program: Program) -> None:
        self.rows: list[tuple[int, int]] = []
        self._page = program.problem.machine.page_bytes
        self._commands = program.commands.rows()
        self._segments = program.segments.rows()
        self._first: list[int] = program.first_segment.tolist()
        self._engine: list[int] = engines(program).tolist()
        pages = [-(-tensor.size_bytes // self._page) for tensor in program.problem.tensors]
        self._dram_first = np.cumsum([0, *pages]).tolist()
        self._scratch = self._scratch_by_step()
        self._uses = [self._pages_of(command) for command in range(len(self._commands))]
        dram, spm = (
            _Touched(each.pages for some in self._uses for each in some if each.in_spm == in_spm)
            for in_spm in (False, True)
        )
        self._memories = dram, spm
        self._last_compute = self._last_lay = self._last_out = NONE
        self._known = np.full((len(Engine), len(Engine)), NONE, np.int64)
        self._clock: list[NDArray[np.int64]] = []

    def take(self, command: int) -> None:
        """Go on to the next command."""
        engine, uses = self._engine[command], self._uses[command]
        needed = np.full(len(Engine), NONE, np.int64)
        for in_spm, pages, writes in uses:
            needed = np.maximum(needed, self._memories[in_spm].before(pages, writes=writes))
        for other in self._in_order(command):
            if other != NONE:
                needed[self._engine[other]] = max(needed[self._engine[other]], other)
        self._wait(command, engine, needed)
        for in_spm, pages, writes in uses:
            self._memories[in_spm].note(pages, engine, command, writes=writes)

    def _wait(self, command: int, engine: int, needed: Ints) -> None:
        """Add rows for commands not known to be done, and note them as known."""
        # Vector clocks: an engine knows all that the commands it waited for knew.
        known = self._known[engine]
        # Latest first: its clock may make the earlier ones known.
        for on in sorted(needed.tolist(), reverse=True):
            if on != NONE and known[self._engine[on]] < on:
                if self._engine[on] != engine:
                    self.rows.append((command, on))
                np.maximum(known, self._clock[on], out=known)
        known[engine] = command
        self._clock.append(known.copy())
        # At most one row a foreign engine was added just now.
        own = [row for row in self.rows[-len(Engine) :] if row[0] == command]
        self.rows[len(self.rows) - len(own) :] = sorted(own)

    def _pages_of(self, command: int) -> list[_Pages]:
        """Return the pages that a command reads and writes."""
        step, kind, _, tensor, begin, end, _ = self._commands[command]
        found: list[_Pages] = []
        for row in range(self._first[command], self._first[command + 1]):
            _, _, _, size, address, use = self._segments[row]
            found.append(_Pages(True, self._pages(address, address + size), use != Use.READ))
        # Rows of streams pass through the scratch of their operation.
        if kind in _STREAMS:
            writes = kind == Kind.STREAM_IN
            # A stream in fills the scratch, a stream out drains it.
            found += [_Pages(True, pages, writes) for pages in self._scratch.get(step, ())]
        if kind in _OF_DMA:
            # In pages of DRAM, numbered through all tensors: few granules.
            first = self._dram_first[tensor]
            pages = slice(first + begin // self._page, first - (-end // self._page))
            found.append(_Pages(False, pages, kind in _INTO_DRAM))
        return found

    def _in_order(self, command: int) -> tuple[int, ...]:
        """Return commands that come before this one, whichever pages they touch."""
        match self._commands[command][1]:
            case Kind.COMPUTE:
                # Moves of the step, streams out that use the same scratch, and streams in.
                before = (self._last_lay, self._last_out, *self._streams_in(command))
                self._last_compute = command
                return before
            case Kind.STREAM_OUT:
                self._last_out = command
                return (self._last_compute,)
            case Kind.LAY:
                self._last_lay = command
                return (self._last_compute,)
            case Kind.STREAM_IN | Kind.LIFT:
                return (self._last_compute,)
        return ()

    def _streams_in(self, command: int) -> list[int]:
        step, found = self._commands[command][0], list[int]()
        for earlier in range(command - 1, -1, -1):
            if self._commands[earlier][0] != step:
                break
            if self._commands[earlier][1] == Kind.STREAM_IN:
                found.append(earlier)
        return found

    def _scratch_by_step(self) -> dict[int, list[slice]]:
        found: dict[int, list[slice]] = {}
        for command, _, _, size, address, use in self._segments:
            if use == Use.SCRATCH:
                step = self._commands[command][0]
                found.setdefault(step, []).append(self._pages(address, address + size))
        return found

    def _pages(self, begin: int, end: int) -> slice:
        return slice(begin // self._page, -(-end // self._page))
