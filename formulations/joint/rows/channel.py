"""The DMA channels: one command at a time, in the order of the queue."""

from __future__ import annotations

from itertools import pairwise

from formulations.joint.program import Program


def one_at_a_time(program: Program) -> None:
    """(J13) The commands of a channel do not overlap."""
    for channel in program.channels:
        program.cp.add_no_overlap(
            program.cp.new_optional_fixed_size_interval_var(
                move.start, move.cycles, move.present, ""
            )
            for move in program.moves()
            if program.channel(move) == channel
        )


def queue(program: Program) -> None:
    """(J14) A channel takes the commands step by step, and in each step phase by phase (R10).

    ``window_i`` are the times between which the phases of i's step lie; windows follow each
    other as the operations do. A command lies in the window of its slot.
    """
    for channel in program.channels:
        for operation in range(program.facts.operations):
            for early, late in pairwise(program.window[channel, operation]):
                program.cp.add(early <= late)
        for one, other in program.facts.chain:
            closes, opens = program.window[channel, one][-1], program.window[channel, other][0]
            program.cp.add(closes <= opens)
        for (one, other), literal in program.order.items():
            closes, opens = program.window[channel, one][-1], program.window[channel, other][0]
            program.when(literal).at_most(closes, opens)
    for move in program.moves():
        for slot in move.slots:
            times = program.window[program.channel(move), slot.operation]
            program.when(slot.chosen).at_most(times[slot.phase], move.start)
            program.when(slot.chosen).at_most(move.end, times[slot.phase + 1])
