"""What is written comes to DRAM before it is read from there."""

from __future__ import annotations

from formulations.joint.facts import NONE
from formulations.joint.program import Program


def needed_stores(program: Program) -> None:
    """(J7) A version whose writer is in a stay is stored if it is needed beyond (R5, R7).

    That is: if one that reads it is not in the same stay, or if it must be kept. One whose
    writer is in no stay was streamed out.
    """
    for version, contents in enumerate(program.facts.versions):
        if version not in program.store:
            continue
        stored = program.store[version].present
        for stay in program.stays_of(contents.writer):
            written = program.member[contents.writer, stay]
            if contents.kept:
                program.cp.add_implication(written, stored)
            for reader in contents.readers:
                member = program.member.get((reader, stay))
                inside = [] if member is None else [member]
                program.cp.add_bool_or(~written, stored, *inside)


def issued_stores(program: Program) -> None:
    """(J8) A store is issued in one step, of its writer's stay, before the next write (R5)."""
    facts = program.facts
    for version, store in program.store.items():
        contents = facts.versions[version]
        writer = facts.uses[contents.writer].operation
        program.cp.add_bool_or(~store.present, *program.memberships(contents.writer))
        program.cp.add(sum(slot.chosen for slot in store.slots) == store.present)
        for slot in store.slots:
            program.cp.add_implication(slot.chosen, slot.mode)
            if slot.operation != writer:
                program.cp.add_implication(slot.chosen, program.precedes(writer, slot.operation))
            if contents.next_writer != NONE:
                last = facts.uses[contents.next_writer].operation
                program.cp.add_implication(slot.chosen, program.precedes(slot.operation, last))
            for stay in program.stays_of(contents.writer):
                written = program.member[contents.writer, stay]
                covered = program.covered.get((stay, slot.operation), program.false)
                program.cp.add_bool_or(~slot.chosen, ~written, covered)
