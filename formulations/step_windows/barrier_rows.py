"""How long steps take where none begins before the one before has ended (PROBLEM.md, section 3).

Commands take whole cycles, here up to one less each.
"""

from __future__ import annotations

from formulations.step_windows.moves import moves
from formulations.step_windows.program import Number, WindowProgram
from spmopt.assemble.commands import Turn


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
        before, after, into, out = (
            sum(move.time for move in queue if move.turn == Turn.REQUIRED_RESIDENT_LOAD),
            sum(move.time for move in queue if move.turn == Turn.REQUIRED_RESIDENT_STORE),
            sum(move.time for move in queue if not move.outward),
            sum(move.time for move in queue if move.outward),
        )
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
