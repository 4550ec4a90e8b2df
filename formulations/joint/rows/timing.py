"""What waits for what in the replay, besides the channel and the scratchpad's pages."""

from __future__ import annotations

from formulations.joint.facts import NONE
from formulations.joint.program import AFTER, BEFORE, Program
from spmopt.core.schedule import Command


def streams(program: Program) -> None:
    """(J9) A stream runs while its operation does."""
    for use, moves in program.streams.items():
        operation = program.facts.uses[use].operation
        for move in moves:
            program.when(move.present).at_most(program.start[operation], move.start)
            program.when(move.present).at_most(move.end, program.end[operation])


def loads(program: Program) -> None:
    """(J10) An operation starts when what was loaded ahead for it, or is stationary, has arrived.

    What is loaded in its own step serves it as it arrives: it need only end later. The other
    uses of a stay come after its head.
    """
    for stay, load in program.load.items():
        operation = program.facts.uses[program.stays[stay].head].operation
        for slot in load.slots:
            streamed = slot.operation == operation and slot.phase != BEFORE
            until = program.end[operation] if streamed else program.start[operation]
            program.when(slot.chosen).at_most(load.end, until)


def stores(program: Program) -> None:
    """(J11) A store waits for the operation that writes, an update for the store of what it reads.

    In the writer's own step it may begin with the operation, unless the result is stationary.
    """
    facts = program.facts
    for version, store in program.store.items():
        contents = facts.versions[version]
        writer = facts.uses[contents.writer].operation
        for slot in store.slots:
            own = slot.operation == writer and slot.phase != AFTER
            since = program.start[writer] if own else program.end[writer]
            program.when(slot.chosen).at_most(since, store.start)
        if contents.next_writer == NONE:
            continue
        overwriter = facts.uses[contents.next_writer].operation
        for stay in program.stays_of(contents.writer):
            both = (
                program.member[contents.writer, stay],
                program.member.get((contents.next_writer, stay), program.false),
            )
            row = program.when(store.present, *both)
            row.at_most(store.end, program.start[overwriter])


def dram_order(program: Program) -> None:
    """(J12) What comes in waits for what went out of the same tensor in earlier steps.

    One channel keeps that order by itself; the other order (out after in) follows from the
    operations between. Every write is ordered against every use of its tensor beforehand, and
    a load for a later use is issued after the write, because its stay holds no other use.
    """
    facts = program.facts
    outward = [(facts.versions[v].writer, store) for v, store in program.store.items()]
    outward += [
        (use, move)
        for use, moves in program.streams.items()
        for move in moves
        if move.kind is Command.STREAM_OUT
    ]
    inward = [(program.stays[stay].head, load) for stay, load in program.load.items()]
    inward += [
        (use, move)
        for use, moves in program.streams.items()
        for move in moves
        if move.kind is Command.STREAM_IN
    ]
    for written, out in outward:
        for used, back in inward:
            if out.tensor == back.tensor and facts.use_before(written, used):
                program.when(out.present, back.present).at_most(out.end, back.start)


def makespan(program: Program) -> None:
    """(J19) Operations and stores have ended. Loads and streams end before operations do."""
    for end in program.end:
        program.cp.add(end <= program.makespan)
    for store in program.store.values():
        program.when(store.present).at_most(store.end, program.makespan)
    program.cp.minimize(program.makespan)
