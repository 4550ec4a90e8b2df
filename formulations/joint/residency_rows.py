"""Which tensors are resident when and where: intervals, stores, the scratchpad."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExpr

from formulations.joint.facts import NONE
from formulations.joint.program import JointProgram, Literal
from spmopt.core.timeline import Access


def mappings(program: JointProgram) -> None:
    """(J2) One mapping each; required-resident operands are resident."""
    for mappings in program.mapping:
        program.cp.add_exactly_one(mappings)
    for use, record in enumerate(program.facts.uses):
        for number, chosen in enumerate(program.mapping[record.operation]):
            if program.operand(use, number).required_resident:
                program.cp.add_bool_or(~chosen, *program.memberships(use))


def membership(program: JointProgram) -> None:
    """(J3) A use is in one interval at most, which is there, and whose head is its first use."""
    uses = program.facts.uses
    for interval, record in enumerate(program.intervals):
        head = uses[record.head].operation
        for use in record.members:
            member = program.member[use, interval]
            program.cp.add_implication(member, program.present(interval))
            # (J3) The head is the first of the members in every order.
            if use != record.head:
                program.cp.add_implication(member, program.precedes(head, uses[use].operation))
    for use in range(len(uses)):
        program.cp.add_at_most_one(program.memberships(use))


def coverage(program: JointProgram) -> None:
    """(J4) An interval is exactly the steps [begin, finish); a use in one of them is a member.

    ``covered`` of an operation that uses the tensor *is* its membership, so an interval ends, or
    has not begun, where a use of the tensor is not a member.
    """
    facts = program.facts
    for interval, record in enumerate(program.intervals):
        head = facts.uses[record.head].operation
        present = program.present(interval)
        begin, finish = program.begin[interval], program.finish[interval]
        for operation in range(facts.operations):
            position = program.position[operation]
            covered = program.covered.get((interval, operation))
            outside = [present] if covered is None else [present, ~covered]
            if covered is not None:
                program.cp.add_implication(covered, present)
                program.at_most(begin, position, covered)
                program.at_most(position + 1, finish, covered)
            if operation == head:
                continue
            ahead, behind = program.precedes(operation, head), program.precedes(head, operation)
            program.at_most(position + 1, begin, *outside, ahead)
            program.at_most(finish, position, *outside, behind)
        # A blind write makes the contents in its own step.
        if not record.loads:
            program.equal(begin, program.position[head], present)


def separation(program: JointProgram) -> None:
    """(J5) Intervals of one tensor do not meet: with no step between, they would be one (R2).

    Before a blind write the contents may be there up to the very step, at the same address.
    """
    facts = program.facts
    for one, left in enumerate(program.intervals):
        for other, right in enumerate(program.intervals):
            if one == other or left.tensor != right.tensor:
                continue
            first, second = (facts.uses[record.head].operation for record in (left, right))
            ordered = program.precedes(first, second)
            both: list[Literal] = [program.present(one), program.present(other), ordered]
            if facts.before[second, first]:
                continue
            if facts.uses[right.head].kind != Access.WRITE:
                program.at_most(program.finish[one] + 1, program.begin[other], *both)
                continue
            # Either a step lies between, or the new contents take over the very address.
            gap = program.boolean()
            program.at_most(program.finish[one] + 1, program.begin[other], *both, gap)
            program.equal(program.finish[one], program.begin[other], *both, ~gap)
            addresses = (program.occupants[one].address, program.occupants[other].address)
            program.equal(*addresses, *both, ~gap)


def issue(program: JointProgram) -> None:
    """(J6) A load is issued in the first step of its interval, and nowhere if there is no interval.

    In the step of the head it is in the phase of the mapping that this one runs in.
    """
    for interval, load in program.load.items():
        program.cp.add(sum(slot.chosen for slot in load.slots) == load.present)
        for slot in load.slots:
            program.cp.add_implication(slot.chosen, program.covered[interval, slot.operation])
            position = program.position[slot.operation]
            program.equal(program.begin[interval], position, slot.chosen)
            program.cp.add_implication(slot.chosen, slot.mapping)


def stores_needed(program: JointProgram) -> None:
    """(J7) A version whose writer is in an interval is stored if it is needed beyond (R5, R7).

    That is: if one that reads it is not in the same interval, or if it must be kept. One whose
    writer is in no interval was streamed out.
    """
    for version, contents in enumerate(program.facts.versions):
        if version not in program.store:
            continue
        # A version streamed by its writer is in DRAM already (R4).
        stored = program.store[version].present
        for interval in program.intervals_of(contents.writer):
            written = program.member[contents.writer, interval]
            if contents.kept:
                program.cp.add_implication(written, stored)
            for reader in contents.readers:
                member = program.member.get((reader, interval))
                inside = [] if member is None else [member]
                program.cp.add_bool_or(~written, stored, *inside)


def stores_issued(program: JointProgram) -> None:
    """(J8) A store is issued in one step, of its writer's interval, before the next write (R5)."""
    facts = program.facts
    for version, store in program.store.items():
        contents = facts.versions[version]
        writer = facts.uses[contents.writer].operation
        program.cp.add_bool_or(~store.present, *program.memberships(contents.writer))
        program.cp.add(sum(slot.chosen for slot in store.slots) == store.present)
        for slot in store.slots:
            program.cp.add_implication(slot.chosen, slot.mapping)
            # A store in the writer's own step follows it by its phase.
            if slot.operation != writer:
                program.cp.add_implication(slot.chosen, program.precedes(writer, slot.operation))
            if contents.next_writer != NONE:
                last = facts.uses[contents.next_writer].operation
                program.cp.add_implication(slot.chosen, program.precedes(slot.operation, last))
            for interval in program.intervals_of(contents.writer):
                written = program.member[contents.writer, interval]
                covered = program.covered.get((interval, slot.operation), program.false)
                program.cp.add_bool_or(~slot.chosen, ~written, covered)


def capacity(program: JointProgram) -> None:
    """(J15) Resident bytes and the scratch fit, in every step (R1)."""
    facts = program.facts
    held: list[list[LinearExpr]] = [[] for _ in range(facts.operations)]
    for (interval, operation), covered in program.covered.items():
        held[operation].append(program.intervals[interval].pages * covered)
    for operation, terms in enumerate(held):
        total = LinearExpr.sum([*terms, program.scratch_pages(operation)])
        program.cp.add(total <= facts.problem.machine.spm_pages)


def addresses(program: JointProgram) -> None:
    """(J16) Of two occupants one is gone, in steps, before the other comes, or is below it (R8)."""
    for one, left in enumerate(program.occupants):
        for other in range(one):
            right = program.occupants[other]
            ways = [
                program.earlier[pair]
                for pair in ((one, other), (other, one))
                if pair in program.earlier
            ]
            # Disjunction of R8: apart in time, or one above the other.
            for low, high in ((left, right), (right, left)):
                below = program.boolean()
                program.at_most(low.address + low.pages, high.address, below)
                ways.append(below)
            program.cp.add_bool_or(~left.present, ~right.present, *ways)
    for (one, other), earlier in program.earlier.items():
        finish, begin = program.occupants[one].finish, program.occupants[other].begin
        program.at_most(finish, begin, earlier)


def reuse(program: JointProgram) -> None:
    """(J17) Who has pages after another waits, in time, until they are released."""
    for (one, other), earlier in program.earlier.items():
        released, claimed = program.occupants[one].released, program.occupants[other].claimed
        program.at_most(released, claimed, earlier)


def crowding(program: JointProgram) -> None:
    """(J17') Without addresses: at no time more pages are claimed and not released than exist."""
    intervals, demands = [], []
    for occupant in program.occupants:
        size = program.time()
        intervals.append(
            program.cp.new_optional_interval_var(
                occupant.claimed, size, occupant.released, occupant.present, ""
            )
        )
        demands.append(occupant.pages)
    program.cp.add_cumulative(intervals, demands, program.facts.problem.machine.spm_pages)


def claims(program: JointProgram) -> None:
    """(J18) An interval claims its pages with its load and the operation that overwrites them.

    It releases them when the operations that use it have ended, and its stores.
    """
    facts = program.facts
    for interval, record in enumerate(program.intervals):
        head = facts.uses[record.head]
        present = program.present(interval)
        if record.loads:
            program.at_most(program.claimed[interval], program.load[interval].start, present)
        # Whoever writes overwrites the pages with its start, without a load.
        if head.kind != Access.READ:
            start = program.start[head.operation]
            program.at_most(program.claimed[interval], start, present)
        for use in record.members:
            end = program.end[facts.uses[use].operation]
            program.at_most(end, program.released[interval], program.member[use, interval])
            version = facts.uses[use].writes
            if version != NONE and version in program.store:
                store = program.store[version]
                both = program.member[use, interval], store.present
                program.at_most(store.end, program.released[interval], *both)
