"""Which bytes that commands move are used afterwards, found from the end to the start.

A legal schedule may load what nobody reads, and store what is overwritten: an error in that changes
nothing. Errors are planted elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spmopt.execution.commands import Kind, Program, Use

Flags = NDArray[np.bool_]


def used_bytes(program: Program) -> list[Flags]:
    """For each command, by byte of its tensor, whether what it moves is of use.

    Of an operation: by byte of the scratchpad, whether what it writes there is of use.
    """
    return _Backward(program).found


class _Backward:
    def __init__(self, program: Program) -> None:
        problem, table = program.problem, program.commands
        self.program, self.operations = program, problem.operations
        self.sizes = [tensor.size_bytes for tensor in problem.tensors]
        self.spm = np.zeros(problem.machine.spm_bytes, bool)
        self.dram = [np.full(each.size_bytes, each.keep) for each in problem.tensors]
        self.found: list[Flags] = [np.zeros(0, bool)] * len(table)
        self.segments = program.segments.rows()
        self.moved: dict[int, Flags] = {}
        """Of bytes that move on chip in a step, whether they are of use where they go."""
        reads: tuple[int, ...] = ()
        steps = table.step.tolist()
        computed = {
            step: operation
            for step, operation in zip(steps, table.operation, strict=True)
            if operation >= 0
        }
        for command in reversed(range(len(table))):
            _, kind, operation, tensor, begin, end, _ = table.rows()[command]
            reads = self.operations[computed[steps[command]]].reads
            if kind == Kind.COMPUTE:
                self._compute(command, operation)
            elif kind == Kind.STREAM_IN:
                here = np.zeros(self.sizes[tensor], bool)
                here[begin:end] = tensor in reads
                self.dram[tensor] |= here
                self.found[command] = here
            elif kind == Kind.STREAM_OUT:
                here = np.zeros(self.sizes[tensor], bool)
                here[begin:end] = self.dram[tensor][begin:end]
                self.dram[tensor][begin:end] = False
                self.found[command] = here
            else:
                self._copy(command, kind, tensor)
            for _, address, size in (row for row in program.releases.rows() if row[0] == command):
                self.spm[address : address + size] = False

    def _own(self, command: int) -> list[tuple[int, ...]]:
        return [row for row in self.segments if row[0] == command]

    def _compute(self, command: int, operation: int) -> None:
        written = np.zeros_like(self.spm)
        for _, _, _, size, address, use in self._own(command):
            if use in (Use.WRITE, Use.UPDATE):
                written[address : address + size] = True
        self.found[command] = written & self.spm
        for _, _, _, size, address, use in self._own(command):
            self.spm[address : address + size] = use in (Use.READ, Use.UPDATE) or (
                self.spm[address : address + size] & (use == Use.READ)
            )

    def _copy(self, command: int, kind: int, tensor: int) -> None:
        here = np.zeros(self.sizes[tensor], bool)
        for _, _, begin, size, address, _ in self._own(command):
            there, place = slice(begin, begin + size), slice(address, address + size)
            if kind == Kind.LOAD:
                here[there] = self.spm[place]
                self.dram[tensor][there] |= self.spm[place]
                self.spm[place] = False
            elif kind == Kind.STORE:
                here[there] = self.dram[tensor][there]
                self.spm[place] |= self.dram[tensor][there]
                self.dram[tensor][there] = False
            elif kind == Kind.LAY:
                here[there] = self.spm[place]
                self.spm[place] = False
            else:
                here[there] = self.moved[tensor][there]
                self.spm[place] |= here[there]
        if kind == Kind.LAY:
            self.moved[tensor] = self.moved.get(tensor, np.zeros_like(here)) | here
        elif kind == Kind.LIFT:
            self.moved[tensor] &= ~here
        self.found[command] = here
