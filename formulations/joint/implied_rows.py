"""Implied rows: rows that follow from the others, but that the solver would find late or never.

Linear relaxations see neither that intervals do not overlap nor implications; so (J22) and (J23)
are sums over all intervals that a use may be in. Without them the bound of an attention head's
training step is a fifth lower after half a minute.
"""

from __future__ import annotations

from collections.abc import Iterable

from ortools.sat.python.cp_model import LinearExpr

from formulations.joint.program import JointProgram, Literal, Move


def shares(program: JointProgram) -> None:
    """(J20) Operations, and the commands of a channel, fit into the makespan one after the other.

    So do an operation's streams into its duration.
    """
    durations = [end - start for start, end in zip(program.start, program.end, strict=True)]
    program.cp.add(sum(durations) <= program.makespan)
    for channel in program.channels:
        moves = [move for move in program.moves() if program.channel(move) == channel]
        program.cp.add(_cycles(moves) <= program.makespan)
        for operation, uses in enumerate(program.facts.of_operation):
            streams = [
                move
                for use in uses
                for move in program.streams[use]
                if program.channel(move) == channel
            ]
            program.cp.add(_cycles(streams) <= durations[operation])


def _cycles(moves: Iterable[Move]) -> LinearExpr:
    return LinearExpr.sum([move.cycles * move.present for move in moves])


def contiguity(program: JointProgram) -> None:
    """(J21) An interval includes all steps between its head and another one of its steps."""
    facts = program.facts
    for interval, record in enumerate(program.intervals):
        head = facts.uses[record.head].operation
        # Dependences need no literal; other pairs have one for each order.
        known = [(one, other, program.true) for one, other in facts.chain]
        free = [(one, other, ordered) for (one, other), ordered in program.order.items()]
        for one, other, ordered in known + free:
            after = (ordered, program.precedes(head, one))
            _spread(program, (interval, other), (interval, one), after)
            before = (ordered, program.precedes(other, head))
            _spread(program, (interval, one), (interval, other), before)


def _spread(
    program: JointProgram, outer: tuple[int, int], inner: tuple[int, int], when: tuple[Literal, ...]
) -> None:
    """``covered`` at ``outer`` gives ``covered`` at ``inner`` if all of ``when`` hold."""
    covered = program.covered.get(outer)
    impossible = any(literal.index == program.false.index for literal in when)
    # The row holds by itself: nothing to add.
    if covered is None or impossible:
        return
    between = program.covered.get(inner, program.false)
    program.cp.add_bool_or(~covered, between, *(~literal for literal in when))


def keep_through(program: JointProgram) -> None:
    """(J22) Bytes that a use finds there, kept from before step i, were in step i.

    ``sum_t pages_t (in an interval since before i, at its first use from i on) + scratch <= room``.
    """
    facts = program.facts
    for index in range(facts.operations):
        scratch = program.scratch_pages(index)
        held = LinearExpr.sum(
            [
                facts.pages(facts.size(tensor)) * literal
                for tensor in range(len(facts.of_tensor))
                for literal in _keep(program, index, tensor)
            ]
        )
        program.cp.add(held + scratch <= facts.problem.machine.spm_pages)


def _keep(program: JointProgram, operation: int, tensor: int) -> list[Literal]:
    """Literals of which one holds, at most, and then the tensor is resident in the step."""
    facts = program.facts
    uses = facts.of_tensor[tensor]
    for use in uses:
        # A use in the step itself is resident by its memberships alone.
        if facts.uses[use].operation == operation:
            return program.memberships(use)
    later = [use for use in uses if facts.before[operation, facts.uses[use].operation]]
    first = [use for use in later if not any(facts.use_before(other, use) for other in later)]
    if not first:
        return []
    return [
        program.member[first[0], interval]
        for interval in program.intervals_of(first[0])
        if facts.before[facts.uses[program.intervals[interval].head].operation, operation]
    ]


def store_or_join(program: JointProgram) -> None:
    """(J23) ``stored_v >= writer resident - reader in an interval since the write or before``.

    An interval with a head up to the writer holds the reader only if it holds the writer too.
    """
    facts = program.facts
    for version, store in program.store.items():
        contents = facts.versions[version]
        written = LinearExpr.sum(program.memberships(contents.writer))
        if contents.kept:
            program.cp.add(store.present >= written)
        for reader in contents.readers:
            together = LinearExpr.sum(
                [
                    program.member[reader, interval]
                    for interval in program.intervals_of(reader)
                    if (contents.writer, interval) in program.member
                ]
            )
            program.cp.add(store.present + together >= written)
