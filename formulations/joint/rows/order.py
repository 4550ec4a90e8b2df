"""Which operation runs when, and in which mode."""

from __future__ import annotations

from formulations.joint.program import Program


def order(program: Program) -> None:
    """(J1) One operation after the other, in an order that keeps the dependences (R9).

    ``end_i <= start_j`` and ``position_i < position_j`` where i precedes j; positions are the
    numbers of operations before.
    """
    facts = program.facts
    for one, other in facts.chain:
        program.cp.add(program.end[one] <= program.start[other])
    for (one, other), literal in program.order.items():
        program.when(literal).at_most(program.end[one], program.start[other])
        program.when(literal).at_most(program.position[one] + 1, program.position[other])
    if not program.order:
        return
    for operation in range(facts.operations):
        free = [literal for (_, other), literal in program.order.items() if other == operation]
        program.cp.add(
            program.position[operation] == int(facts.before[:, operation].sum()) + sum(free)
        )


def modes(program: Program) -> None:
    """(J2) One mode each; it takes its computation, and what is stationary is resident."""
    for index, operation in enumerate(program.facts.instance.operations):
        program.cp.add_exactly_one(program.mode[index])
        for mode, chosen in zip(operation.modes, program.mode[index], strict=True):
            done = program.start[index] + mode.compute_cycles
            program.when(chosen).at_most(done, program.end[index])
    for use, record in enumerate(program.facts.uses):
        for number, chosen in enumerate(program.mode[record.operation]):
            if program.operand(use, number).stationary:
                program.cp.add_bool_or(~chosen, *program.memberships(use))
