"""A relaxation of the joint model without times: how much of the computation transfers can hide.

It decides order, mappings, which uses share an interval, and stores, by rows of the joint model. Of
starts and ends it knows only which command and which operation may run at once. A channel *hides*
cycles of an operation's computation by moving something meanwhile; other transfers, and all
commands of the channel, take their time one after the other. README.md says why that is a bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from ortools.sat.python.cp_model import LinearExpr

from formulations.joint.facts import NONE, JointFacts
from formulations.joint.hiding import END, START, Hiding
from formulations.joint.implied_rows import store_or_join
from formulations.joint.program import JointProgram, Literal, Number
from formulations.joint.residency_rows import mappings, membership, stores_needed
from formulations.joint.time_rows import positions
from formulations.joint.variables import create_program
from spmopt.core.table import Bools
from spmopt.core.timeline import Access


def relax(facts: JointFacts) -> JointProgram:
    """A program whose least ``makespan`` is a bound on that of the joint model, paged or not."""
    program = create_program(facts)
    for family in (positions, mappings, membership, stores_needed, store_or_join):
        family(program)
    for version, store in program.store.items():
        writer = facts.versions[version].writer
        program.cp.add_bool_or(~store.present, *program.memberships(writer))
    held = _hold_between(program)
    hiding = Hiding(program)
    for operation in range(facts.operations):
        _resident(program, operation, held, hiding)
    loads = {interval: _loads(program, interval, hiding) for interval in program.load}
    stores = {version: _stores(program, version, hiding) for version in program.store}
    _after_last(program, loads)
    _before_first(program, stores)
    hiding.close()
    program.cp.minimize(program.makespan)
    return program


def _hold_between(program: JointProgram) -> dict[tuple[int, int], Literal]:
    """Literals that hold if the tensor remains while an operation runs that does not use it.

    It remains if an interval has its head before and another member after. Where the operation uses
    the tensor, this use is a member then.
    """
    facts = program.facts
    held: dict[tuple[int, int], Literal] = {}
    for tensor, uses in enumerate(facts.of_tensor):
        own = {facts.uses[use].operation: use for use in uses}
        for operation in range(facts.operations):
            always: dict[int, list[Literal]] = {}
            for use, interval, when in _around(program, tensor, operation):
                if operation in own:
                    between = program.member.get((own[operation], interval), program.false)
                else:
                    if (tensor, operation) not in held:
                        held[tensor, operation] = program.boolean()
                    between = held[tensor, operation]
                    if all(literal.index == program.true.index for literal in when):
                        always.setdefault(use, []).append(program.member[use, interval])
                        continue
                outside = (~literal for literal in (program.member[use, interval], *when))
                program.cp.add_bool_or(between, *outside)
            for members in always.values():
                program.cp.add(LinearExpr.sum(members) <= held[tensor, operation])
    return held


def _around(
    program: JointProgram, tensor: int, operation: int
) -> Iterator[tuple[int, int, tuple[Literal, Literal]]]:
    """Uses and intervals that may hold them and have their head before the operation.

    And literals: the head runs before it, and the use after it.
    """
    uses = program.facts.uses
    for use in program.facts.of_tensor[tensor]:
        after = program.precedes(operation, uses[use].operation)
        for interval in program.intervals_of(use):
            head = uses[program.intervals[interval].head].operation
            ahead = program.precedes(head, operation)
            if program.false.index not in (after.index, ahead.index):
                yield use, interval, (ahead, after)


def _resident(
    program: JointProgram, operation: int, held: dict[tuple[int, int], Literal], hiding: Hiding
) -> None:
    """Bytes that the operation uses from the SPM, and that remain in it meanwhile.

    Loads of its own step, unless required-resident, may come while it runs.
    """
    facts = program.facts
    for use in facts.of_operation[operation]:
        record = facts.uses[use]
        for interval in program.intervals_of(use):
            comes = program.intervals[interval].head == use and record.kind != Access.WRITE
            instants = (END,) if comes and not hiding.must_be_resident(use) else (START, END)
            hiding.takes(operation, record.tensor, program.member[use, interval], instants)
    for tensor in range(len(facts.of_tensor)):
        if (tensor, operation) in held:
            around = [*_around(program, tensor, operation)]
            heads = {facts.uses[program.intervals[i].head].operation for _, i, _ in around}
            members = {facts.uses[use].operation for use, _, _ in around}
            hiding.takes(operation, tensor, held[tensor, operation], (START,), heads)
            hiding.takes(operation, tensor, held[tensor, operation], (END,), members)


def _loads(program: JointProgram, interval: int, hiding: Hiding) -> dict[int, Number]:
    """A load runs with operations after the one that wrote its contents, up to the head.

    If it is for a later operation it has its pages when this one ends.
    """
    facts, load = program.facts, program.load[interval]
    use = program.intervals[interval].head
    head, written = facts.uses[use].operation, facts.versions[facts.uses[use].reads].writer
    hidden: dict[int, Number] = {}
    for operation in hiding.computing:
        if operation == head:
            during = None if hiding.must_be_resident(use) else load.present
        else:
            when = [program.precedes(operation, head)]
            if written != NONE:
                when.append(program.precedes(facts.uses[written].operation, operation))
            during = hiding.runs(load, when)
            if during is not None:
                hiding.takes(operation, load.tensor, during, (END,), (head,))
        if during is not None:
            hidden[operation] = hiding.hide(operation, load, during)
    program.cp.add(LinearExpr.sum([*hidden.values()]) <= load.cycles * load.present)
    return hidden


def _stores(program: JointProgram, version: int, hiding: Hiding) -> dict[int, Number]:
    """A store runs with its writer, unless that keeps it required-resident, and later operations.

    With a later one it has its pages when this one starts; they are counted already if it uses
    the tensor, or that may remain.
    """
    facts, store = program.facts, program.store[version]
    writer = facts.versions[version].writer
    hidden: dict[int, Number] = {}
    for operation in hiding.computing:
        if operation == facts.uses[writer].operation:
            during = None if hiding.must_be_resident(writer) else store.present
        else:
            after = program.precedes(facts.uses[writer].operation, operation)
            during = hiding.runs(store, [after])
            if during is not None and not hiding.has(operation, store.tensor):
                hiding.takes(
                    operation, store.tensor, during, (START,), (facts.uses[writer].operation,)
                )
        if during is not None:
            hidden[operation] = hiding.hide(operation, store, during)
    program.cp.add(LinearExpr.sum([*hidden.values()]) <= store.cycles * store.present)
    return hidden


def _after_last(program: JointProgram, loads: Mapping[int, Mapping[int, Number]]) -> None:
    """After the last of several operations that load for themselves none of these loads is left.

    So of the operations after each of them, up to one that follows all, they do not hide those
    after the last.
    """
    facts = program.facts
    heads = {interval: program.intervals[interval].head for interval in loads}
    first = {
        facts.uses[use].operation
        for use in heads.values()
        if facts.versions[facts.uses[use].reads].writer == NONE
    }
    moved = [(facts.uses[heads[interval]].operation, hidden) for interval, hidden in loads.items()]
    _add_rows(program, facts.before, first, moved)


def _before_first(program: JointProgram, stores: Mapping[int, Mapping[int, Number]]) -> None:
    """Before the first of several operations none of the stores of their results has begun."""
    facts = program.facts
    writers = {version: facts.uses[facts.versions[version].writer].operation for version in stores}
    kept = {writer for version, writer in writers.items() if facts.versions[version].kept}
    moved = [(writers[version], hidden) for version, hidden in stores.items()]
    _add_rows(program, facts.before.T, kept, moved)


def _add_rows(
    program: JointProgram,
    before: Bools,
    among: Collection[int],
    moved: Sequence[tuple[int, Mapping[int, Number]]],
) -> None:
    """Add the rows of both; ``before`` is turned round for the latter.

    ``moved``: an operation that a command ends with (begins with), and the parts of others that it
    hides.
    """
    count = len(before)
    mappings = [operation.mappings for operation in program.facts.problem.operations]
    least = np.array([min(mapping.compute_cycles for mapping in each) for each in mappings])
    done = set()
    for until in [*range(count), None]:
        limit = np.ones(count, bool) if until is None else before[:, until]
        chosen = [one for one in among if limit[one]]
        last = [one for one in chosen if not before[one, chosen].any()]
        between = [before[one] & limit for one in last]
        left = min((int(least[each].sum()) for each in between), default=0)
        if len(last) < 2 or not left:
            continue
        follow = np.flatnonzero(np.any(between, axis=0)).tolist()
        key = (*last, NONE, *follow)
        if key in done:
            continue
        done.add(key)
        ends = {*last, *np.flatnonzero(before[:, last].any(axis=1)).tolist()}
        hidden = [
            cycles
            for operation, parts in moved
            if operation in ends
            for other, cycles in parts.items()
            if other in follow
        ]
        computation = [
            mapping.compute_cycles * literal
            for operation in follow
            for mapping, literal in zip(
                mappings[operation], program.mapping[operation], strict=True
            )
        ]
        program.cp.add(LinearExpr.sum(hidden) + left <= LinearExpr.sum(computation))
