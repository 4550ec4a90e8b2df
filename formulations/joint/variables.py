"""Creates the variables of the joint model, in the order of the README."""

from __future__ import annotations

from formulations.joint.facts import (
    NONE,
    JointFacts,
    command_cycles,
    possible_intervals,
    serial_cycles,
    unit_cycles,
)
from formulations.joint.program import (
    AFTER,
    BEFORE,
    DURING,
    JointProgram,
    Literal,
    Move,
    Occupant,
    Slot,
)
from spmopt.core.schedule import Command
from spmopt.core.timeline import Access

SCRATCH = -1  # in place of a tensor and of an interval


def create_program(facts: JointFacts) -> JointProgram:
    """A program with all variables, and no constraint but their domains."""
    program = JointProgram(
        facts=facts, intervals=possible_intervals(facts), horizon=serial_cycles(facts)
    )
    _operations(program)
    unit = unit_cycles(facts)
    program.cp.add(program.makespan == unit * program.integer(0, program.horizon // unit))
    _intervals(program)
    for interval, record in enumerate(program.intervals):
        if record.loads:
            program.load[interval] = _load(program, interval)
    for version, contents in enumerate(facts.versions):
        if contents.writer != NONE and contents.is_needed and program.intervals_of(contents.writer):
            program.store[version] = _store(program, version)
    for use in range(len(facts.uses)):
        program.streams[use] = _streams(program, use)
    _windows(program)
    _occupants(program)
    return program


def _operations(program: JointProgram) -> None:
    """Start, end, mapping and position; the order of those that nothing orders."""
    facts, count = program.facts, program.facts.operations
    for operation in facts.problem.operations:
        program.start.append(program.time())
        program.end.append(program.time())
        several = len(operation.mappings) > 1
        program.mapping.append(
            [program.boolean() if several else program.true for _ in operation.mappings]
        )
    for one in range(count):
        before, after = int(facts.before[:, one].sum()), int(facts.before[one].sum())
        fixed = before + after == count - 1
        program.position.append(before if fixed else program.integer(before, count - 1 - after))
        for other in range(one + 1, count):
            if not facts.before[one, other] and not facts.before[other, one]:
                literal = program.boolean()
                program.order[one, other] = literal
                program.order[other, one] = ~literal


def _intervals(program: JointProgram) -> None:
    """Members, steps covered, first step and last, when its pages are claimed and released."""
    uses, count = program.facts.uses, program.facts.operations
    for interval, record in enumerate(program.intervals):
        for use in record.members:
            program.member[use, interval] = program.boolean()
        inside = {uses[use].operation: use for use in record.members}
        for operation in record.operations:
            member = inside.get(operation)
            program.covered[interval, operation] = (
                program.boolean() if member is None else program.member[member, interval]
            )
        program.begin.append(program.integer(0, count - 1))
        program.finish.append(program.integer(1, count))
        program.claimed.append(program.time())
        program.released.append(program.time())


def _load(program: JointProgram, interval: int) -> Move:
    """One slot an operation; its own step is in one of two phases, which the mapping decides."""
    record = program.intervals[interval]
    use = program.facts.uses[record.head]
    slots = []
    for operation in record.issues:
        if operation != use.operation:
            slots.append(_other(program, operation))
            continue
        slots += _own(program, record.head, BEFORE)
    return _move(program, Command.LOAD, use.tensor, program.present(interval), slots=tuple(slots))


def _store(program: JointProgram, version: int) -> Move:
    """Issued in a step from the write on and before the next one."""
    facts = program.facts
    contents = facts.versions[version]
    writer = facts.uses[contents.writer].operation
    last = NONE if contents.next_writer == NONE else facts.uses[contents.next_writer].operation
    slots = []
    for operation in range(facts.operations):
        late = last != NONE and (operation == last or facts.before[last, operation])
        if late or facts.before[operation, writer]:
            continue
        if operation != writer:
            slots.append(_other(program, operation))
            continue
        slots += _own(program, contents.writer, AFTER)
    present = program.boolean()
    return _move(program, Command.STORE, contents.tensor, present, slots=tuple(slots))


def _other(program: JointProgram, operation: int) -> Slot:
    """In the step of an operation that does not decide the phase."""
    return Slot(chosen=program.boolean(), mapping=program.true, operation=operation, phase=DURING)


def _own(program: JointProgram, use: int, phase: int) -> list[Slot]:
    """In the step of the use: for each mapping a slot, in ``phase`` where it is resident."""
    operation = program.facts.uses[use].operation
    return [
        Slot(
            chosen=program.boolean(),
            mapping=chosen,
            operation=operation,
            phase=phase if program.operand(use, mapping).required_resident else DURING,
        )
        for mapping, chosen in enumerate(program.mapping[operation])
    ]


def _streams(program: JointProgram, use: int) -> list[Move]:
    """Bytes that cross while the operation runs if the tensor is not resident (R3, R4)."""
    facts = program.facts
    record = facts.uses[use]
    written = record.kind != Access.READ and facts.versions[record.writes].is_needed
    moves = []
    for mapping, chosen in enumerate(program.mapping[record.operation]):
        operand = program.operand(use, mapping)
        if operand.required_resident:
            continue
        inward = operand.fetches
        if record.kind == Access.WRITE:
            inward = operand.fetches - 1 if written else 0
        present = _absent(program, use, chosen)
        slots = (Slot(chosen=present, mapping=chosen, operation=record.operation, phase=DURING),)
        for kind, fetches in (
            (Command.STREAM_IN, inward),
            (Command.STREAM_OUT, operand.fetches if written else 0),
        ):
            if fetches:
                moves.append(
                    _move(program, kind, record.tensor, present, fetches=fetches, slots=slots)
                )
    return moves


def _absent(program: JointProgram, use: int, mapping: Literal) -> Literal:
    """Whether the operation runs in that mapping and the tensor is not resident."""
    resident = program.memberships(use)
    if mapping is program.true and not resident:
        return program.true
    if mapping is program.true and len(resident) == 1:
        return ~resident[0]
    absent = program.boolean()
    if mapping is program.true:
        program.cp.add_exactly_one(absent, *resident)
        return absent
    program.cp.add_bool_or(absent, ~mapping, *resident)
    for literal in resident:
        program.cp.add_implication(absent, ~literal)
    program.cp.add_implication(absent, mapping)
    return absent


def _move(
    program: JointProgram,
    kind: Command,
    tensor: int,
    present: Literal,
    *,
    fetches: int = 1,
    slots: tuple[Slot, ...],
) -> Move:
    facts = program.facts
    return Move(
        kind=kind,
        tensor=tensor,
        fetches=fetches,
        cycles=command_cycles(facts.problem.machine, facts.size(tensor) * fetches),
        present=present,
        start=program.time(),
        slots=slots,
    )


def _windows(program: JointProgram) -> None:
    """When the queue takes each step's commands: four times, between which its phases lie."""
    for channel in program.channels:
        for operation in range(program.facts.operations):
            phases = {
                slot.phase
                for move in program.moves()
                if program.channel(move) == channel
                for slot in move.slots
                if slot.operation == operation
            }
            opens, closes = program.time(), program.time()
            during = program.time() if BEFORE in phases else opens
            after = program.time() if AFTER in phases else closes
            program.window[channel, operation] = (opens, during, after, closes)


def _occupants(program: JointProgram) -> None:
    """Intervals and scratch, with an address each; which of two has the pages before the other."""
    facts = program.facts
    room = facts.problem.machine.spm_pages
    for number, interval in enumerate(program.intervals):
        program.occupants.append(
            Occupant(
                interval=number,
                tensor=interval.tensor,
                first=facts.uses[interval.head].operation,
                pages=interval.pages,
                present=program.present(number),
                begin=program.begin[number],
                finish=program.finish[number],
                claimed=program.claimed[number],
                released=program.released[number],
                address=program.integer(0, room - interval.pages),
            )
        )
    for index, operation in enumerate(facts.problem.operations):
        for mapping, record in enumerate(operation.mappings):
            pages = facts.pages(record.scratch_bytes)
            if 0 < pages <= room:
                program.occupants.append(
                    Occupant(
                        interval=SCRATCH,
                        tensor=SCRATCH,
                        first=index,
                        pages=pages,
                        present=program.mapping[index][mapping],
                        begin=program.position[index],
                        finish=program.position[index] + 1,
                        claimed=program.start[index],
                        released=program.end[index],
                        address=program.integer(0, room - pages),
                    )
                )
    for one, left in enumerate(program.occupants):
        for other, right in enumerate(program.occupants):
            same = left.first == right.first
            if one != other and not same and not facts.before[right.first, left.first]:
                program.earlier[one, other] = program.boolean()
