"""The scratchpad: its capacity, addresses, and pages that are used again."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExpr

from formulations.joint.facts import NONE
from formulations.joint.program import Program
from spmopt.core.timeline import Access


def capacity(program: Program) -> None:
    """(J15) What is resident and the scratch fit, in every step (R1)."""
    facts = program.facts
    held: list[list[LinearExpr]] = [[] for _ in range(facts.operations)]
    for (stay, operation), covered in program.covered.items():
        held[operation].append(program.stays[stay].pages * covered)
    for operation, terms in enumerate(held):
        total = LinearExpr.sum([*terms, program.scratch_pages(operation)])
        program.cp.add(total <= facts.instance.machine.spm_pages)


def addresses(program: Program) -> None:
    """(J16) Of two tenants one is gone, in steps, before the other comes, or lies below it (R8)."""
    for one, left in enumerate(program.tenants):
        for other in range(one):
            right = program.tenants[other]
            ways = [
                program.earlier[pair]
                for pair in ((one, other), (other, one))
                if pair in program.earlier
            ]
            for low, high in ((left, right), (right, left)):
                below = program.boolean()
                program.when(below).at_most(low.address + low.pages, high.address)
                ways.append(below)
            program.cp.add_bool_or(~left.present, ~right.present, *ways)
    for (one, other), earlier in program.earlier.items():
        finish, begin = program.tenants[one].finish, program.tenants[other].begin
        program.when(earlier).at_most(finish, begin)


def reuse(program: Program) -> None:
    """(J17) Who has pages after another waits, in time, until they are released."""
    for (one, other), earlier in program.earlier.items():
        released, claimed = program.tenants[one].released, program.tenants[other].claimed
        program.when(earlier).at_most(released, claimed)


def crowding(program: Program) -> None:
    """(J17') Without addresses: at no time more pages are claimed and not released than exist."""
    intervals, demands = [], []
    for tenant in program.tenants:
        size = program.time()
        intervals.append(
            program.cp.new_optional_interval_var(
                tenant.claimed, size, tenant.released, tenant.present, ""
            )
        )
        demands.append(tenant.pages)
    program.cp.add_cumulative(intervals, demands, program.facts.instance.machine.spm_pages)


def claims(program: Program) -> None:
    """(J18) A stay claims its pages with its load, and with the operation that overwrites them.

    It releases them when the operations that use it have ended, and its stores.
    """
    facts = program.facts
    for stay, record in enumerate(program.stays):
        head = facts.uses[record.head]
        present = program.present(stay)
        if record.loads:
            program.when(present).at_most(program.claimed[stay], program.load[stay].start)
        if head.kind != Access.READ:
            start = program.start[head.operation]
            program.when(present).at_most(program.claimed[stay], start)
        for use in record.members:
            end = program.end[facts.uses[use].operation]
            program.when(program.member[use, stay]).at_most(end, program.released[stay])
            version = facts.uses[use].writes
            if version != NONE and version in program.store:
                store = program.store[version]
                row = program.when(program.member[use, stay], store.present)
                row.at_most(store.end, program.released[stay])
