"""When operations and commands run: with barriers between steps, or on the replay, without any.

The queue is that of :mod:`spmopt.assemble.commands`. One freedom of the replay is left out: a
command of a step never starts before the operation of the step before has ended. One that could, as
its pages are free by then, may be issued a step earlier instead; but then it stands before the
streams of that step, and its operation waits for it to start. So some schedules that are a little
better are not found.

Times here are at least those of the replay, but that a command of the replay takes whole cycles,
here up to one less.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulations.step_windows.moves import STORES, Move, moves
from formulations.step_windows.program import Literal, Number, WindowProgram
from spmopt.assemble.commands import Turn


class Replay:
    """Adds the rows of one step after the other, and remembers predecessors of later ones."""

    def __init__(self, program: WindowProgram) -> None:
        self._program = program
        unit, window = program.unit, program.window
        self._free: list[Number] = [unit * cycles for cycles in window.free]
        self._ended: Number = 0
        # By tensor: when its loads have arrived, those of before the window and all, and when its
        # bytes have left for DRAM.
        self._before = [unit * each.arrived for each in window.tensors]
        self._arrived: list[Number] = [*self._before]
        self._left: list[Number] = [unit * each.left for each in window.tensors]
        self._leaving: list[tuple[Literal, Number]] = []

    def end(self) -> Number:
        """Return the time at which all has ended."""
        last = self._program.time()
        for each in (self._ended, *self._free):
            self._program.cp.add(last >= each)
        return last

    def run(self, step: int) -> None:
        """Add a step: its commands in their turn, and its operation."""
        program = self._program
        start, end = program.time(), program.time()
        program.cp.add(start >= self._ended)
        for literal, operation, mapping in program.options(step):
            cycles = program.window.operations[operation][mapping].cycles
            program.when(end >= start + program.unit * cycles, literal)
        for literal, when in self._leaving:
            program.when(start >= when, literal)
        self._leaving = self._trailing(step, start)
        for tensor in range(len(program.window.tensors)):
            for literal, operand in program.uses(step, tensor):
                ready = self._arrived[tensor] if operand.reads else self._before[tensor]
                program.when(start >= ready, literal)
                if operand.writes:
                    program.when(start >= self._left[tensor], literal)
        queue = [*moves(program, step)]
        arrived, left = [*self._arrived], [*self._left]  # after the step
        for move in sorted(queue, key=lambda move: (move.turn, move.tensor)):
            finish = self._queue(move, start, end)
            if move.turn == Turn.EARLY_LOAD or move.turn in STORES:
                known = left if move.outward else arrived  # in one turn or another of the step
                known[move.tensor] = self._later(known[move.tensor], finish, move)
        self._arrived, self._left, self._ended = arrived, left, end

    def _later(self, before: Number, finish: Number, move: Move) -> Number:
        found = self._program.time()
        self._program.cp.add(found >= before)
        self._program.when(found >= finish, move.present)
        return found

    def _queue(self, move: Move, start: Number, end: Number) -> Number:
        """Put a command behind those before it on its channel; return when it ends."""
        program, finish = self._program, self._program.time()
        channel = int(move.outward) if len(self._free) > 1 else 0
        program.cp.add(finish >= self._free[channel] + move.time)
        self._free[channel] = finish
        present = move.present

        def after(when: Number, *literals: Literal) -> None:
            program.when(finish >= when + move.time, present, *literals)

        if move.turn == Turn.STREAM:
            after(start)
            program.when(end >= finish, present)
        elif move.outward:
            after({Turn.OLDER_STORE: self._ended, Turn.OWN_STORE: start}.get(move.turn, end))
        else:
            after(self._ended)
            if move.turn != Turn.EARLY_LOAD:
                until = start if move.turn == Turn.REQUIRED_RESIDENT_LOAD else end
                program.when(until >= finish, present)
        if len(self._free) > 1 and not move.outward:  # else the queue keeps that order
            after(self._left[move.tensor])
            for dropped, when in self._leaving if move.turn != Turn.STREAM else ():
                after(when, dropped)
        return finish

    def _trailing(self, step: int, start: Number) -> list[tuple[Literal, Number]]:
        """Let stores run on when the operation starts, of as many pages as it does not overwrite.

        Return departing bytes: a literal, and when its stores are done. No load fills its pages
        sooner, and the operation after this one waits for them.
        """
        program, found, busy = self._program, list[tuple[Literal, Number]](), list[Number]()
        for tensor, record in enumerate(program.window.tensors):
            gone = program.held[tensor][step - 1] - program.held[tensor][step]
            left, arrived = self._left[tensor], self._before[tensor]
            idle = not arrived and isinstance(left, int) and left <= 0
            if idle or (isinstance(gone, int) and gone <= 0):
                continue
            dropped = program.some(gone, record.pages)
            if arrived:  # in vain, but who overwrites its pages waits for that
                program.when(start >= arrived, dropped)
            trailing, pages = program.cp.new_bool_var(""), program.integer(record.pages)
            program.when(pages >= gone, trailing)
            program.when(start >= left, ~trailing, dropped)
            found.append((dropped, left))
            busy.append(pages)
        if busy:
            program.cp.add(sum(busy) <= program.spare(step) + sum(self._load(step)))
        return found

    def _load(self, step: int) -> Iterator[Number]:
        """Yield the pages that loads fill which the operation does not wait for to start."""
        program = self._program
        for tensor in range(len(program.window.tensors)):
            if not any(use.required_resident for _, use in program.uses(step, tensor)):
                yield program.load(step, tensor)[0]


class Barriers:
    """Adds the rows of one step after the other."""

    def __init__(self, program: WindowProgram) -> None:
        self._program = program
        self._taken = list[Number]()

    def end(self) -> Number:
        """Return the time of all steps."""
        return sum(self._taken)

    def run(self, step: int) -> None:
        """Add a step, which takes as long as its transfers, and as its computation.

        Loads of required-resident operands come before that, stores of required-resident results
        after it.
        """
        program = self._program
        queue, taken = [*moves(program, step)], program.time()
        before = sum(move.time for move in queue if move.turn == Turn.REQUIRED_RESIDENT_LOAD)
        after = sum(move.time for move in queue if move.turn == Turn.REQUIRED_RESIDENT_STORE)
        into = sum(move.time for move in queue if not move.outward)
        out = sum(move.time for move in queue if move.outward)
        for literal, operation, mapping in program.options(step):
            cycles = program.window.operations[operation][mapping].cycles
            program.when(taken >= before + program.unit * cycles + after, literal)
        # R6 with two channels: each waits for the other's serial transfers.
        if len(program.window.free) > 1:
            program.cp.add(taken >= into + after)
            program.cp.add(taken >= before + out)
        else:
            program.cp.add(taken >= into + out)
        self._taken.append(taken)
