"""Commands executed one after the other on bytes, and the same operations without a scratchpad.

An operation gets its operands from the scratchpad, at the addresses that its command names, and
from the bytes streamed in for it; nothing else reaches it. Missing bytes are poison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.execution.commands import Kind, Program, Use
from spmopt.execution.memory import POISON, Bytes, Memory

Kernel = Callable[[int, Sequence[Bytes]], Sequence[Bytes]]
"""Computes an operation: from its index and the bytes of its inputs, in the order of
``Operation.reads``, to the bytes of its results, in that of ``Operation.writes``. It must not
change its operands."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Contents and measured figures of an execution.

    Attributes
    ----------
    contents
        Bytes of each tensor at the end; plain execution drops those of no further use.
    read
        Fingerprint of the operands of each operation, by its index.
    loaded_bytes, stored_bytes
        Moved between DRAM and scratchpad, every fetch of a stream counted.
    """

    contents: Sequence[Bytes]
    read: dict[int, bytes] = field(default_factory=dict)
    loaded_bytes: int = 0
    stored_bytes: int = 0


def execute(program: Program, contents: Sequence[Bytes | None], kernel: Kernel) -> Trace:
    """Execute a program.

    Parameters
    ----------
    program
        Commands with addresses.
    contents : (m,)
        Of each tensor at the start, None where it is not in DRAM.
    kernel
        Computes operations.

    Raises
    ------
    InputError
        The memories do not fit this computer.
    """
    machine = _Machine(program, contents, kernel)
    for command in range(len(program.commands)):
        machine.run(command)
    return machine.trace()


def execute_plainly(
    problem: Problem,
    order: Sequence[int],
    contents: Sequence[Bytes | None],
    kernel: Kernel,
) -> Trace:
    """Execute operations in an order, on whole tensors, without any scratchpad.

    Parameters
    ----------
    problem
        Problem of the operations.
    order
        Operations by their index.
    contents, kernel
        As for :func:`execute`.
    """
    now = [np.empty(0, np.uint8) if given is None else given for given in contents]
    read, last = {}, _last_uses(problem, order)
    for index in order:
        operation = problem.operations[index]
        operands = [now[tensor] for tensor in operation.reads]
        read[index] = fingerprint(operands)
        results = kernel(index, [_lock(each) for each in operands])
        for tensor, result in zip(operation.writes, results, strict=True):
            now[tensor] = result
        for tensor in operation.tensors:
            if last.get(tensor) == index:
                # Dropped at the last use, so that large networks fit the memory of this computer.
                now[tensor] = now[tensor][:0].copy()
    return Trace(contents=now, read=read)


def _last_uses(problem: Problem, order: Sequence[int]) -> dict[int, int]:
    """Return the last operation that uses each tensor that is written, and not kept."""
    operations = problem.operations
    written = {tensor for index in order for tensor in operations[index].writes}
    return {
        tensor: index
        for index in order
        for tensor in operations[index].tensors
        if tensor in written and not problem.tensors[tensor].keep
    }


def fingerprint(operands: Sequence[Bytes]) -> bytes:
    """Return a hash of 8 bytes of the operands."""
    digest = blake2b(digest_size=8)
    for each in operands:
        digest.update(each.data)
    return digest.digest()


def _lock(array: Bytes) -> Bytes:
    """Return a view that cannot be written."""
    found = array.view()
    found.setflags(write=False)
    return found


class _Machine:
    """Both memories, and the bytes in the buffers of streams and moves."""

    def __init__(self, program: Program, contents: Sequence[Bytes | None], kernel: Kernel) -> None:
        self._program, self._kernel = program, kernel
        problem = program.problem
        self._operations = problem.operations
        self._sizes = [tensor.size_bytes for tensor in problem.tensors]
        self._memory = Memory(
            problem.machine.spm_bytes,
            program.used_spm_bytes,
            program.dram_offset,
            contents,
            self._sizes,
        )
        self._commands = program.commands.rows()
        self._segments = program.segments.rows()
        self._first: list[int] = program.first_segment.tolist()
        self._releases = _group(program.releases.command, program.releases.rows())
        self._streamed: dict[int, list[tuple[int, Bytes]]] = {}
        self._results: dict[int, Bytes] = {}
        self._lifted: list[tuple[int, int, Bytes]] = []
        self._read: dict[int, bytes] = {}
        self._moved, self._ratio = [0, 0], problem.moved

    def run(self, command: int) -> None:
        """Execute one command."""
        # Before the command: it may itself be the first that must not read them.
        for _, address, size in self._releases.get(command, ()):
            self._memory.release(address, size)
        step, kind, operation, tensor, begin, end, fetches = self._commands[command]
        del step
        segments = self._segments[self._first[command] : self._first[command + 1]]
        match kind:
            case Kind.COMPUTE:
                self._compute(operation, segments)
            case Kind.STREAM_IN:
                # A copy: a later store of the step may change DRAM before the operation reads.
                arrived = self._memory.tensor(tensor)[begin:end].copy()
                self._streamed.setdefault(tensor, []).append((begin, arrived))
                # Traffic counts every fetch; the contents of one fetch are those of all.
                self._moved[0] += self._moves(tensor, (end - begin) * fetches)
            case Kind.STREAM_OUT:
                found = self._results.get(tensor)
                self._memory.tensor(tensor)[begin:end] = (
                    # A stream out before its operation has nothing to bring.
                    POISON if found is None else found[begin:end]
                )
                self._moved[1] += self._moves(tensor, (end - begin) * fetches)
            case _:
                self._copy(kind, segments)
                if kind in (Kind.LOAD, Kind.STORE):
                    self._moved[kind == Kind.STORE] += self._moves(tensor, end - begin)

    def _moves(self, tensor: int, size: int) -> int:
        """Return the bytes that a command of so many moves, which are compressed in DRAM."""
        return -(-size * int(self._ratio.numerator[tensor]) // self._ratio.denominator)

    def trace(self) -> Trace:
        """Return contents and figures at the end."""
        return Trace(
            contents=[self._memory.tensor(tensor) for tensor in range(len(self._sizes))],
            read=self._read,
            loaded_bytes=self._moved[0],
            stored_bytes=self._moved[1],
        )

    def _copy(self, kind: int, segments: Sequence[tuple[int, ...]]) -> None:
        """Copy between scratchpad and DRAM, or to new addresses."""
        spm = self._memory.spm
        for _, tensor, begin, size, address, _ in segments:
            here, there = slice(address, address + size), slice(begin, begin + size)
            if kind == Kind.LOAD:
                spm[here] = self._memory.tensor(tensor)[there]
            elif kind == Kind.STORE:
                self._memory.tensor(tensor)[there] = spm[here]
            elif kind == Kind.LIFT:
                self._lifted.append((tensor, begin, spm[here].copy()))
            else:
                spm[here] = self._carry(tensor, begin, size)

    def _carry(self, tensor: int, begin: int, size: int) -> Bytes:
        """Return bytes that were lifted; poison where none were."""
        # Bytes without a page and without a stream remain poison.
        found = np.full(size, POISON, np.uint8)
        for of, first, held in self._lifted:
            low, high = max(begin, first), min(begin + size, first + held.size)
            if of == tensor and low < high:
                found[low - begin : high - begin] = held[low - first : high - first]
        return found

    def _compute(self, index: int, segments: Sequence[tuple[int, ...]]) -> None:
        operation, spm = self._operations[index], self._memory.spm
        for _, _, _, size, address, use in segments:
            if use == Use.SCRATCH:  # computing there destroys the old contents
                self._memory.release(address, size)
        operands = [self._gather(tensor, segments) for tensor in operation.reads]
        self._read[index] = fingerprint(operands)
        results = self._kernel(index, operands)
        self._results = dict(zip(operation.writes, results, strict=True))
        for _, tensor, begin, size, address, use in segments:
            if use in (Use.WRITE, Use.UPDATE):
                spm[address : address + size] = self._results[tensor][begin : begin + size]
        # Buffers of streams and moves last one step.
        self._streamed, self._lifted = {}, []

    def _gather(self, tensor: int, segments: Sequence[tuple[int, ...]]) -> Bytes:
        """Return an operand: pages from the scratchpad, and streamed bytes."""
        spm, size = self._memory.spm, self._sizes[tensor]
        own = [row for row in segments if row[1] == tensor]
        if len(own) == 1 and own[0][3] == size:  # contiguous: read where it lies
            return _lock(spm[own[0][4] : own[0][4] + size])
        found = np.full(size, POISON, np.uint8)
        for begin, arrived in self._streamed.get(tensor, ()):
            found[begin : begin + arrived.size] = arrived
        for _, _, begin, count, address, _ in own:
            found[begin : begin + count] = spm[address : address + count]
        return _lock(found)


def _group(key: Ints, rows: Sequence[tuple[int, ...]]) -> dict[int, list[tuple[int, ...]]]:
    found: dict[int, list[tuple[int, ...]]] = {}
    for each, row in zip(key.tolist(), rows, strict=True):
        found.setdefault(each, []).append(row)
    return found
