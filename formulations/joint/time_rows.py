"""Which operation and which command runs when."""

from __future__ import annotations

from itertools import pairwise

from formulations.joint.facts import NONE
from formulations.joint.program import AFTER, BEFORE, JointProgram
from spmopt.core.schedule import Command


def positions(program: JointProgram) -> None:
    """(J1) Operations take one step each, in an order that keeps the dependences (R9).

    ``position_i < position_j`` where i precedes j; positions are the numbers of operations before.
    """
    facts = program.facts
    for (one, other), literal in program.order.items():
        program.at_most(program.position[one] + 1, program.position[other], literal)
    # All pairs are ordered by dependences: positions are constants.
    if not program.order:
        return
    for operation in range(facts.operations):
        free = [literal for (_, other), literal in program.order.items() if other == operation]
        program.cp.add(
            program.position[operation] == int(facts.before[:, operation].sum()) + sum(free)
        )


def order(program: JointProgram) -> None:
    """(J1) ``end_i <= start_j`` where i precedes j."""
    for one, other in program.facts.chain:
        program.cp.add(program.end[one] <= program.start[other])
    for (one, other), literal in program.order.items():
        program.at_most(program.end[one], program.start[other], literal)


def computation(program: JointProgram) -> None:
    """(J2) An operation takes the computation of its mapping."""
    for index, operation in enumerate(program.facts.problem.operations):
        for mapping, chosen in zip(operation.mappings, program.mapping[index], strict=True):
            done = program.start[index] + mapping.compute_cycles
            program.at_most(done, program.end[index], chosen)


def streams(program: JointProgram) -> None:
    """(J9) A stream runs while its operation does."""
    for use, moves in program.streams.items():
        operation = program.facts.uses[use].operation
        for move in moves:
            program.at_most(program.start[operation], move.start, move.present)
            program.at_most(move.end, program.end[operation], move.present)


def loads(program: JointProgram) -> None:
    """(J10) An operation starts when loads ahead and required-resident operands have arrived.

    A load waits for the operation that wrote its contents.

    Loads of its own step serve it as they arrive: it need only end later. The other
    uses of an interval come after its head.
    """
    facts = program.facts
    for interval, load in program.load.items():
        head = facts.uses[program.intervals[interval].head]
        operation, written = head.operation, facts.versions[head.reads].writer
        if written != NONE:
            program.at_most(program.end[facts.uses[written].operation], load.start, load.present)
        for slot in load.slots:
            # Row pipelining: a load of the same step serves the operation as it arrives.
            streamed = slot.operation == operation and slot.phase != BEFORE
            until = program.end[operation] if streamed else program.start[operation]
            program.at_most(load.end, until, slot.chosen)


def stores(program: JointProgram) -> None:
    """(J11) A store waits for the operation that writes, an update for the store of its input.

    In the writer's own step it may begin with the operation, unless the result is
    required-resident.
    """
    facts = program.facts
    for version, store in program.store.items():
        contents = facts.versions[version]
        writer = facts.uses[contents.writer].operation
        for slot in store.slots:
            # Row pipelining: a store may follow the rows of its own operation.
            own = slot.operation == writer and slot.phase != AFTER
            since = program.start[writer] if own else program.end[writer]
            program.at_most(since, store.start, slot.chosen)
        if contents.next_writer == NONE:
            continue
        overwriter = facts.uses[contents.next_writer].operation
        for interval in program.intervals_of(contents.writer):
            both = (
                program.member[contents.writer, interval],
                program.member.get((contents.next_writer, interval), program.false),
            )
            program.at_most(store.end, program.start[overwriter], store.present, *both)


def dram_order(program: JointProgram) -> None:
    """(J12) Loads wait for stores of the same tensor in earlier steps.

    One channel keeps that order by itself; the other order (out after in) follows from the
    operations between. Every write is ordered against every use of its tensor beforehand, and
    a load for a later use is issued after the write, because its interval holds no other use.
    """
    facts = program.facts
    outward = [(facts.versions[v].writer, store) for v, store in program.store.items()]
    outward += [
        (use, move)
        for use, moves in program.streams.items()
        for move in moves
        if move.kind is Command.STREAM_OUT
    ]
    inward = [(program.intervals[interval].head, load) for interval, load in program.load.items()]
    inward += [
        (use, move)
        for use, moves in program.streams.items()
        for move in moves
        if move.kind is Command.STREAM_IN
    ]
    for written, out in outward:
        for used, back in inward:
            if out.tensor == back.tensor and facts.use_before(written, used):
                program.at_most(out.end, back.start, out.present, back.present)


def makespan(program: JointProgram) -> None:
    """(J19) Operations and stores have ended. Loads and streams end before operations do."""
    for end in program.end:
        program.cp.add(end <= program.makespan)
    for store in program.store.values():
        program.at_most(store.end, program.makespan, store.present)
    program.cp.minimize(program.makespan)


def one_at_a_time(program: JointProgram) -> None:
    """(J13) The commands of a channel do not overlap."""
    for channel in program.channels:
        program.cp.add_no_overlap(
            program.cp.new_optional_fixed_size_interval_var(
                move.start, move.cycles, move.present, ""
            )
            for move in program.moves()
            if program.channel(move) == channel
        )


def queue(program: JointProgram) -> None:
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
            program.at_most(closes, opens, literal)
    for move in program.moves():
        for slot in move.slots:
            times = program.window[program.channel(move), slot.operation]
            program.at_most(times[slot.phase], move.start, slot.chosen)
            program.at_most(move.end, times[slot.phase + 1], slot.chosen)
