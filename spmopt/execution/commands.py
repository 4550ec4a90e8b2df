"""Commands of a schedule, in order: DMA, moves on chip and operations, with their addresses.

A machine without any knowledge of tensors can follow the list: copy these bytes of DRAM to those of
the scratchpad, run this operation on the bytes at these addresses. Nothing is decided here. In a
step

1. bytes that move on chip leave their old addresses (``LIFT``) and, once all have, get their new
   ones (``LAY``);
2. loads, streams in, and stores of tensors that the step's operation does not write run in queue
   order;
3. the operation runs (``COMPUTE``);
4. streams out, and stores of its results, run in queue order.

So everything that a command needs stands before it, as rules R3 to R5 say: a load brings the
contents from before the step even behind a store of the new ones in the queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Placements, Residency, Schedule
from spmopt.core.table import Ints, Table

ALIGNMENT_BYTES = 64
"""Of tensors in DRAM."""
SCRATCH = -1
"""In place of a tensor."""
Run = tuple[int, int, int]
"""First byte in the tensor, number of bytes, address of the first in the scratchpad."""


class Kind(IntEnum):
    """Kinds of commands; those of DMA are numbered as in :class:`~spmopt.core.schedule.Command`."""

    LOAD = int(Command.LOAD)
    STORE = int(Command.STORE)
    STREAM_IN = int(Command.STREAM_IN)
    STREAM_OUT = int(Command.STREAM_OUT)
    COMPUTE = 4
    LIFT = 5
    LAY = 6


class Use(IntEnum):
    """Use that a command makes of bytes of the scratchpad."""

    READ = 0
    WRITE = 1
    UPDATE = 2
    SCRATCH = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class MachineCommands(Table):
    """Commands in the order of execution.

    Those of DMA and moves are of the bytes [begin, end) of ``tensor`` (``operation`` -1), DMA
    ``fetches`` times; a ``COMPUTE`` is of ``operation`` (``tensor`` -1). ``kind``: :class:`Kind`.
    """

    step: Ints
    kind: Ints
    operation: Ints
    tensor: Ints
    begin: Ints
    end: Ints
    fetches: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Segments(Table):
    """Contiguous bytes of the scratchpad that a command uses, as :class:`Use` says.

    They are ``size_bytes`` of ``tensor`` from byte ``begin`` on, at ``spm_address``; of scratch
    (``tensor`` -1) ``begin`` counts from its own first byte. Those of a load or store are its DMA
    descriptors. Streams pass the scratchpad by and have none. Sorted by ``command``.
    """

    command: Ints
    tensor: Ints
    begin: Ints
    size_bytes: Ints
    spm_address: Ints
    use: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Releases(Table):
    """Bytes of the scratchpad whose contents end: no command from ``command`` on may read them."""

    command: Ints
    spm_address: Ints
    size_bytes: Ints


@dataclass(frozen=True, kw_only=True)
class Program:
    """Commands of a schedule with all addresses.

    Attributes
    ----------
    problem
        Problem whose operations and tensors commands name.
    commands, segments, releases
        In order.
    dram_offset : (m,)
        Byte at which each tensor begins in DRAM, a multiple of 64.
    peak_spm_bytes
        Bytes of the pages in use, in the step with the most.
    """

    problem: Problem
    commands: MachineCommands
    segments: Segments
    releases: Releases
    dram_offset: Ints
    peak_spm_bytes: int

    @property
    def used_spm_bytes(self) -> int:
        """Bytes of the scratchpad up to the last that a command uses."""
        ends = self.segments.spm_address + self.segments.size_bytes
        return int(ends.max(initial=0))

    @cached_property
    def first_segment(self) -> Ints:
        """(commands + 1,) Segments of command ``k`` are ``[k]`` to before ``[k + 1]``."""
        return np.searchsorted(self.segments.command, np.arange(len(self.commands) + 1))

    @property
    def dram_bytes(self) -> int:
        """Bytes of DRAM from the first tensor to the end of the last."""
        sizes = [tensor.size_bytes for tensor in self.problem.tensors]
        return int(self.dram_offset[-1]) + sizes[-1] if sizes else 0


def machine_program(problem: Problem, schedule: Schedule) -> Program:
    """Return the commands of a schedule, in the order of execution.

    Parameters
    ----------
    problem
        Problem of the schedule.
    schedule
        A legal schedule. Others are taken literally: a page without an address has no segment.
    """
    tables = _ProgramTables(problem, schedule)
    for step in range(len(schedule.steps)):
        tables.add_step(step)
    sizes = problem.size_bytes
    # DRAM offsets are a layout of our own: a schedule does not place tensors in DRAM.
    room = -(-sizes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return Program(
        problem=problem,
        commands=MachineCommands.of_rows(tables.commands),
        segments=Segments.of_rows(tables.segments),
        releases=Releases.of_rows(tables.releases),
        dram_offset=np.cumsum(room) - room,
        peak_spm_bytes=tables.peak_spm_bytes,
    )


def use_of(operation: Operation, tensor: int) -> Use:
    """Return the use that an operation makes of one of its tensors."""
    if tensor not in operation.writes:
        return Use.READ
    return Use.UPDATE if tensor in operation.reads else Use.WRITE


class _ProgramTables:
    """Tables of a program, filled step by step."""

    def __init__(self, problem: Problem, schedule: Schedule) -> None:
        self.commands: list[tuple[int, ...]] = []
        self.segments: list[tuple[int, ...]] = []
        self.releases: list[tuple[int, ...]] = []
        self.peak_spm_bytes = 0
        self._problem = problem
        self._operation = schedule.steps.operation.tolist()
        self._mapping = schedule.steps.mapping.tolist()
        self._places = _Places(schedule.placements, problem.machine.page_bytes)
        self._resident = _Resident(schedule.residency)
        self._moves = _by_step(schedule.moves, len(schedule.steps))
        self._queue = _by_step(schedule.commands, len(schedule.steps))

    def add_step(self, step: int) -> None:
        """Append the rows of one step."""
        operation = self._problem.operations[self._operation[step]]
        moves = [row[1:] for row in self._moves[step]]
        for tensor, begin, end in moves:
            self._transfer(step, Kind.LIFT, (tensor, begin, end, 1), Use.READ)
        # Old pages are given up only after LIFT has read them.
        for address, size in self._places.advance(step):
            self.releases.append((len(self.commands), address, size))
        self._resident.advance(step)
        self.peak_spm_bytes = max(self.peak_spm_bytes, self._places.size_bytes)
        for tensor, begin, end in moves:
            self._transfer(step, Kind.LAY, (tensor, begin, end, 1), Use.WRITE)
        later = []
        for _, number, *moved in self._queue[step]:
            kind = Kind(number)
            # A store of a result waits for its operation; other stores hold contents from before.
            written = kind is Kind.STORE and moved[0] in operation.writes
            if written or kind is Kind.STREAM_OUT:
                later.append((kind, moved))
            else:
                self._transfer(step, kind, moved, _USE.get(kind))
        self._compute(step)
        for kind, moved in later:
            self._transfer(step, kind, moved, _USE.get(kind))

    def _transfer(self, step: int, kind: Kind, moved: Sequence[int], use: Use | None) -> None:
        tensor, begin, end, fetches = moved
        if use is not None:
            self._add_segments(tensor, begin, end, use)
        self.commands.append((step, int(kind), -1, tensor, begin, end, fetches))

    def _compute(self, step: int) -> None:
        index = self._operation[step]
        operation = self._problem.operations[index]
        for tensor in operation.tensors:
            use = use_of(operation, tensor)
            self._add_segments(tensor, 0, self._resident.size_bytes(tensor), use)
        # Scratch is released by its use: nothing reads its contents afterwards.
        scratch = operation.mappings[self._mapping[step]].scratch_bytes
        self._add_segments(SCRATCH, 0, scratch, Use.SCRATCH)
        self.commands.append((step, int(Kind.COMPUTE), index, -1, 0, 0, 1))

    def _add_segments(self, tensor: int, begin: int, end: int, use: Use) -> None:
        for first, size, address in self._places.runs(tensor, begin, end):
            self.segments.append((len(self.commands), tensor, first, size, address, int(use)))


_USE = {Kind.LOAD: Use.WRITE, Kind.STORE: Use.READ}
"""Use of the scratchpad by DMA commands that have a place in it."""


def _by_step(table: Table, steps: int) -> list[list[tuple[int, ...]]]:
    """Return the rows of a table whose first column is the step, for each step."""
    found: list[list[tuple[int, ...]]] = [[] for _ in range(steps)]
    for row in table.rows():
        found[row[0]].append(row)
    return found


class _Resident:
    """Resident bytes of each tensor, step by step."""

    def __init__(self, table: Residency) -> None:
        self._begins = _at_times(table.begin)
        self._ends = _at_times(table.end)
        self._tensor, self._size = table.tensor.tolist(), table.size_bytes.tolist()
        self._now: dict[int, int] = {}

    def advance(self, step: int) -> None:
        """Go on to ``step``; call it for every step in turn."""
        for row in self._ends.get(step, ()):
            self._now[self._tensor[row]] = 0
        for row in self._begins.get(step, ()):
            self._now[self._tensor[row]] = self._size[row]

    def size_bytes(self, tensor: int) -> int:
        """Return the resident bytes of a tensor."""
        return self._now.get(tensor, 0)


class _Places:
    """Addresses of pages, step by step."""

    def __init__(self, table: Placements, page_bytes: int) -> None:
        self._page_bytes = page_bytes
        self._begins, self._ends = _at_times(table.begin), _at_times(table.end)
        columns = (table.tensor, table.tensor_page, table.pages, table.spm_page)
        self._rows = list(zip(*(column.tolist() for column in columns), strict=True))
        self._now: dict[int, dict[int, tuple[int, int, int]]] = {}
        self.size_bytes = 0
        """Bytes of the pages in use."""

    def advance(self, step: int) -> list[tuple[int, int]]:
        """Go on to ``step``; return addresses and sizes of bytes that are given up."""
        ended = self._ends.get(step, ())
        for row in ended:
            _, pages, _ = self._now[self._rows[row][0]].pop(row)
            self.size_bytes -= pages * self._page_bytes
        for row in self._begins.get(step, ()):
            tensor, page, pages, spm_page = self._rows[row]
            self.size_bytes += pages * self._page_bytes
            self._now.setdefault(tensor, {})[row] = (page, pages, spm_page)
        return [given_up for row in ended for given_up in self._give_up(*self._rows[row])]

    def _give_up(
        self, tensor: int, page: int, pages: int, spm_page: int
    ) -> Iterator[tuple[int, int]]:
        """Yield bytes of pages that end their row here and lie in no other row there."""
        last = spm_page + pages
        # Rows of the same tensor at the same shift keep these addresses: their bytes live on.
        stay = sorted(
            (min(place, last), min(place + count, last))
            for first, count, place in (self._now.get(tensor, {}).values() if tensor >= 0 else ())
            if first - place == page - spm_page
        )
        low = spm_page
        for begin, end in [*stay, (last, last)]:
            if begin > low:
                yield low * self._page_bytes, (begin - low) * self._page_bytes
            low = max(low, end)

    def runs(self, tensor: int, begin: int, end: int) -> Iterator[Run]:
        """Yield contiguous runs of bytes [begin, end) of a tensor, in order."""
        size, last = self._page_bytes, (begin, 0, 0)
        for page, pages, spm_page in sorted(self._now.get(tensor, {}).values()):
            low, high = max(begin, page * size), min(end, (page + pages) * size)
            if low >= high:
                continue
            address = spm_page * size + low - page * size
            # Contiguous in the tensor and in the scratchpad: one DMA descriptor.
            if last[1] and last[0] + last[1] == low and last[2] + last[1] == address:
                last = (last[0], last[1] + high - low, last[2])
                continue
            if last[1]:
                yield last
            last = (low, high - low, address)
        if last[1]:
            yield last


def _at_times(time: Ints) -> dict[int, list[int]]:
    """Return the rows of each time."""
    found: dict[int, list[int]] = {}
    for row, when in enumerate(time.tolist()):
        found.setdefault(when, []).append(row)
    return found
