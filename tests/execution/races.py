"""Which commands of a program may run at the same time and touch the same thing.

Found from the program and its waits alone, in a way of its own: one command comes before another if
a chain of waits and of the engines' own orders leads from one to the other. Two that touch the same
thing, of which one writes it, race unless one comes before the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spmopt.execution.commands import Kind, Program, Use
from spmopt.execution.waits import Waits, engines

Touched = tuple[str, int, int, int, bool]
"""A memory, which part of it, the bytes of that from one to before another, whether it writes."""
_WHOLE = 1 << 62


def before(program: Program, rows: Waits) -> NDArray[np.bool_]:
    """(n, n) Whether a command (first axis) comes before another."""
    engine = engines(program).tolist()
    found = np.zeros((len(engine),) * 2, bool)
    last: dict[int, int] = {}
    waited: dict[int, list[int]] = {}
    for command, on in rows.rows():
        waited.setdefault(command, []).append(on)
    for command, own in enumerate(engine):
        earlier = [*waited.get(command, []), *([last[own]] if own in last else [])]
        for each in earlier:
            found[:, command] |= found[:, each]
            found[each, command] = True
        last[own] = command
    return found


def touched(program: Program) -> list[list[Touched]]:
    """What each command reads and writes.

    Beside bytes of both memories there are the buffers of streams, in and out, one set for all
    operations: what streams in lies there until the operation has read it, what it writes until it
    has streamed out. They are the operation's scratch, too.
    """
    commands, first = program.commands.rows(), program.first_segment.tolist()
    segments = program.segments.rows()
    scratch: dict[int, list[tuple[int, int]]] = {}
    for command, _, _, size, address, use in segments:
        if use == Use.SCRATCH:
            scratch.setdefault(commands[command][0], []).append((address, address + size))
    found = []
    for command, (step, kind, _, tensor, begin, end, _) in enumerate(commands):
        own: list[Touched] = []
        for row in range(first[command], first[command + 1]):
            _, _, _, size, address, use = segments[row]
            own.append(("spm", 0, address, address + size, use != Use.READ))
        if kind in (Kind.LOAD, Kind.STREAM_IN):
            own.append(("dram", tensor, begin, end, False))
        if kind in (Kind.STORE, Kind.STREAM_OUT):
            own.append(("dram", tensor, begin, end, True))
        if kind == Kind.STREAM_IN:
            own.append(("in", 0, 0, _WHOLE, True))
            own += [("spm", 0, *each, True) for each in scratch.get(step, ())]
        if kind == Kind.STREAM_OUT:
            own.append(("out", 0, 0, _WHOLE, False))
            own += [("spm", 0, *each, False) for each in scratch.get(step, ())]
        if kind == Kind.COMPUTE:
            own += [("in", 0, 0, _WHOLE, False), ("out", 0, 0, _WHOLE, True)]
        found.append(own)
    return found


def conflicts(program: Program) -> Iterator[tuple[int, int]]:
    """Pairs of commands, the earlier one first, of which one writes what the other touches."""
    every = touched(program)
    for later, theirs in enumerate(every):
        for earlier in range(later):
            if any(_clash(one, other) for one in every[earlier] for other in theirs):
                yield earlier, later


def _clash(one: Touched, other: Touched) -> bool:
    same = one[:2] == other[:2] and one[2] < other[3] and other[2] < one[3]
    return same and (one[4] or other[4])


def races(program: Program, rows: Waits) -> list[tuple[int, int]]:
    """Conflicting commands that are in no order."""
    order = before(program, rows)
    return [(one, other) for one, other in conflicts(program) if not order[one, other]]
