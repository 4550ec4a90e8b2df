"""Commands with all that a machine needs to follow them: engines, waits, buffers, descriptors.

What streams, and what moves on chip, is for a while in no page. It gets a place in one of three
buffers of the machine: where rows wait before and behind the engine (``in``, ``out``), and what
has been lifted but not laid (``move``). Waits keep them free: a stream in and a move wait for the
operation before, an operation for the streams out before it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spmopt.core.table import Ints, Table
from spmopt.execution.commands import ALIGNMENT_BYTES, Kind, Program, Use
from spmopt.execution.waits import Waits, engines, waits


class Memory(IntEnum):
    """Where a descriptor's bytes are."""

    SPM = 0
    IN = 1
    OUT = 2
    MOVE = 3


_BUFFERS = {
    Kind.STREAM_IN: Memory.IN,
    Kind.STREAM_OUT: Memory.OUT,
    Kind.LIFT: Memory.MOVE,
    Kind.LAY: Memory.MOVE,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Descriptors(Table):
    """Contiguous bytes that a command uses, in the order of commands.

    ``size_bytes`` of ``tensor`` (scratch: -1) from byte ``begin`` on, at ``address`` of
    ``memory``, as :class:`~spmopt.execution.commands.Use` says.
    """

    command: Ints
    memory: Ints
    tensor: Ints
    begin: Ints
    size_bytes: Ints
    address: Ints
    use: Ints


@dataclass(frozen=True, kw_only=True)
class Linked:
    """A program to be emitted.

    Attributes
    ----------
    program
        Commands with addresses.
    engine : (commands,)
        Which :class:`~spmopt.execution.waits.Engine` executes each.
    waits
        Between engines.
    buffer : (commands,)
        First byte in its buffer, of streams and moves; 0 of others.
    buffer_bytes
        Sizes of the buffers, by :class:`Memory`.
    descriptors
        Of loads, stores and moves in the scratchpad, of operations in buffers too.
    """

    program: Program
    engine: Ints
    waits: Waits
    buffer: Ints
    buffer_bytes: dict[Memory, int]
    descriptors: Descriptors

    def waits_for(self) -> list[list[int]]:
        """Return the commands that each waits for."""
        return self._list(self.waits.command, self.waits.on)

    def waited_for_by(self) -> list[list[int]]:
        """Return the commands that wait for each."""
        return self._list(self.waits.on, self.waits.command)

    def _list(self, of: Ints, what: Ints) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(len(self.program.commands))]
        for each, other in zip(of.tolist(), what.tolist(), strict=True):
            found[each].append(other)
        return found


def link(program: Program) -> Linked:
    """Return what is to be emitted of a program."""
    buffer, sizes = _buffers(program)
    return Linked(
        program=program,
        engine=engines(program),
        waits=waits(program),
        buffer=np.array(buffer, np.int64),
        buffer_bytes=sizes,
        descriptors=_descriptors(program, buffer),
    )


def _buffers(program: Program) -> tuple[list[int], dict[Memory, int]]:
    """Return where in its buffer each command's bytes are, and how large buffers must be."""
    sizes: dict[Memory, int] = {each: 0 for each in Memory if each is not Memory.SPM}
    used: dict[tuple[int, Memory], int] = {}
    lifted: dict[tuple[int, ...], int] = {}
    found = []
    for step, kind, _, tensor, begin, end, _ in program.commands.rows():
        memory = _BUFFERS.get(Kind(kind))
        what = (step, tensor, begin, end)
        if memory is None:
            found.append(0)
        elif kind == Kind.LAY:
            found.append(lifted[what])
        else:
            place = used.get((step, memory), 0)
            used[step, memory] = place - (begin - end) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
            sizes[memory] = max(sizes[memory], used[step, memory])
            if kind == Kind.LIFT:
                lifted[what] = place
            found.append(place)
    return found, sizes


def _descriptors(program: Program, buffer: list[int]) -> Descriptors:
    """Return segments, and of operations what streams for them."""
    rows: list[tuple[int, ...]] = [
        (command, int(Memory.SPM), tensor, begin, size, address, use)
        for command, tensor, begin, size, address, use in program.segments.rows()
    ]
    kinds = program.commands.kind
    computes = np.flatnonzero(kinds == Kind.COMPUTE)
    compute_of = dict(zip(program.commands.step[computes].tolist(), computes.tolist(), strict=True))
    streams: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for command, (step, kind, _, tensor, begin, end, _) in enumerate(program.commands.rows()):
        if kind in (Kind.STREAM_IN, Kind.STREAM_OUT):
            memory = _BUFFERS[Kind(kind)]
            use = Use.READ if memory is Memory.IN else Use.WRITE
            place, size = buffer[command], end - begin
            row = (compute_of[step], int(memory), tensor, begin, size, place, int(use))
            streams[compute_of[step]].append(row)
    rows += [row for each in streams.values() for row in each]
    return Descriptors.of_rows(sorted(rows, key=lambda row: (row[0], row[1])))
