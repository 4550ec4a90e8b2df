"""Which tensors are resident in which steps."""

from __future__ import annotations

from formulations.joint.program import Literal, Program
from spmopt.core.timeline import Access


def membership(program: Program) -> None:
    """(J3) A use is in one stay at most, which is there, and whose head is its first use."""
    uses = program.facts.uses
    for stay, record in enumerate(program.stays):
        head = uses[record.head].operation
        for use in record.members:
            member = program.member[use, stay]
            program.cp.add_implication(member, program.present(stay))
            if use != record.head:
                program.cp.add_implication(member, program.precedes(head, uses[use].operation))
    for use in range(len(uses)):
        program.cp.add_at_most_one(program.memberships(use))


def coverage(program: Program) -> None:
    """(J4) A stay covers exactly the steps [begin, finish); a use in one of them is a member.

    ``covered`` of an operation that uses the tensor *is* its membership, so a stay ends, or has
    not begun, where a use of the tensor is not a member.
    """
    facts = program.facts
    for stay, record in enumerate(program.stays):
        head = facts.uses[record.head].operation
        present = program.present(stay)
        begin, finish = program.begin[stay], program.finish[stay]
        for operation in range(facts.operations):
            position = program.position[operation]
            covered = program.covered.get((stay, operation))
            outside = [present] if covered is None else [present, ~covered]
            if covered is not None:
                program.cp.add_implication(covered, present)
                program.when(covered).at_most(begin, position)
                program.when(covered).at_most(position + 1, finish)
            if operation == head:
                continue
            ahead, behind = program.precedes(operation, head), program.precedes(head, operation)
            program.when(*outside, ahead).at_most(position + 1, begin)
            program.when(*outside, behind).at_most(finish, position)
        if not record.loads:
            program.when(present).equal(begin, program.position[head])


def separation(program: Program) -> None:
    """(J5) Stays of one tensor do not meet: with no step between, they would be one stay (R2).

    Before a blind write the contents may be there up to the very step, at the same address.
    """
    facts = program.facts
    for one, left in enumerate(program.stays):
        for other, right in enumerate(program.stays):
            if one == other or left.tensor != right.tensor:
                continue
            first, second = (facts.uses[record.head].operation for record in (left, right))
            ordered = program.precedes(first, second)
            both: list[Literal] = [program.present(one), program.present(other), ordered]
            if facts.before[second, first]:
                continue
            if facts.uses[right.head].kind != Access.WRITE:
                program.when(*both).at_most(program.finish[one] + 1, program.begin[other])
                continue
            gap = program.boolean()
            program.when(*both, gap).at_most(program.finish[one] + 1, program.begin[other])
            program.when(*both, ~gap).equal(program.finish[one], program.begin[other])
            addresses = (program.tenants[one].address, program.tenants[other].address)
            program.when(*both, ~gap).equal(*addresses)


def issue(program: Program) -> None:
    """(J6) A load is issued in the first step of its stay, and nowhere if there is no stay.

    In the step of the head it is in the phase of the mode that this one runs in.
    """
    for stay, load in program.load.items():
        program.cp.add(sum(slot.chosen for slot in load.slots) == load.present)
        for slot in load.slots:
            program.cp.add_implication(slot.chosen, program.covered[stay, slot.operation])
            position = program.position[slot.operation]
            program.when(slot.chosen).equal(program.begin[stay], position)
            program.cp.add_implication(slot.chosen, slot.mode)
