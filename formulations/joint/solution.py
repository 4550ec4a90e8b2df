"""From a solution to a schedule in full, and from a plan to a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from formulations.joint.facts import JointFacts
from formulations.joint.program import JointProgram, Literal, Number
from spmopt.core.schedule import Commands, Placements, Plan, Residency, Schedule, Steps
from spmopt.core.table import Ints


def decoded(
    program: JointProgram, value: Callable[[Number], int], holds: Callable[[Literal], bool]
) -> Schedule:
    """Read a solution, given by functions from variables and literals to their values.

    Nothing is decided here: the step of a command is that of its slot, and in a step commands are
    queued by phase, then by start.
    """
    place = [value(position) for position in program.position]
    order = np.argsort(np.array(place, np.int64))
    mode = [
        next(number for number, chosen in enumerate(modes) if holds(chosen))
        for modes in program.mode
    ]
    residency, steps = [], {}
    for number, interval in enumerate(program.intervals):
        if holds(program.present(number)):
            covered = [place[i] for i in interval.covers if holds(program.covered[number, i])]
            steps[number] = min(covered), max(covered) + 1
            size = program.facts.size(interval.tensor)
            residency.append((interval.tensor, *steps[number], size))
    queue = sorted(
        (
            *(place[slot.operation], slot.phase, value(move.start)),
            *(int(move.kind), move.tensor, 0, program.facts.size(move.tensor), move.passes),
        )
        for move in program.moves()
        if holds(move.present)
        for slot in move.slots
        if holds(slot.chosen)
    )
    placements = []
    for one in program.occupants:
        if holds(one.present):
            first = place[one.first]
            begin, end = steps[one.interval] if one.interval >= 0 else (first, first + 1)
            placements.append((one.tensor, (begin, end), (0, one.pages, value(one.address))))
    return Schedule(
        steps=Steps.listed(np.array(mode, np.int64)).take(order),
        residency=Residency.of_rows(sorted(residency)),
        commands=Commands.of_rows([(row[0], *row[3:]) for row in queue]),
        placements=Placements.of_rows(
            [(tensor, *pages, *steps) for tensor, steps, pages in sorted(placements)]
        ),
    )


def hinted(program: JointProgram, plan: Plan) -> Iterator[tuple[Literal, bool]]:
    """Give literals and what a plan says of them: order, modes, which uses share an interval.

    A tensor that the plan holds in part, where it is used, is not resident; one of which it
    lets all go between two uses is in two intervals.
    """
    place = np.argsort(plan.steps.operation).tolist()
    for (one, other), literal in program.order.items():
        if one < other:
            yield literal, place[one] < place[other]
    for step, operation in enumerate(plan.steps.operation.tolist()):
        if len(program.mode[operation]) > 1:
            for number, literal in enumerate(program.mode[operation]):
                yield literal, number == int(plan.steps.mode[step])
    heads = _heads(program.facts, plan, place)
    for (use, interval), literal in program.member.items():
        yield literal, heads.get(use) == program.intervals[interval].head


def decided(
    program: JointProgram,
    other: JointProgram,
    value: Callable[[Number], int],
    holds: Callable[[Literal], bool],
) -> Iterator[tuple[Literal, bool]]:
    """Give literals of ``program`` and what a solution of ``other`` says of them.

    ``other`` is of the same instance: its relaxation, or in one order only.
    """
    place = [value(position) for position in other.position]
    for (one, later), literal in program.order.items():
        if one < later:
            yield literal, place[one] < place[later]
    for ours, theirs in zip(program.mode, other.mode, strict=True):
        if len(ours) > 1:
            yield from zip(ours, map(holds, theirs), strict=True)
    for key, literal in program.member.items():
        member = other.member.get(key)
        yield literal, member is not None and holds(member)
    for version, store in program.store.items():
        yield store.present, holds(other.store[version].present)


def _heads(facts: JointFacts, plan: Plan, place: list[int]) -> dict[int, int]:
    """Return the first use of the interval that each resident use is in."""
    held: Ints = np.zeros((len(facts.of_tensor), facts.operations), np.int64)
    for tensor, begin, end, size_bytes in plan.residency.rows():
        held[tensor, begin:end] = size_bytes
    heads: dict[int, int] = {}
    for tensor, uses in enumerate(facts.of_tensor):
        last = -1
        for use in sorted(uses, key=lambda use: place[facts.uses[use].operation]):
            step = place[facts.uses[use].operation]
            if held[tensor, step] < facts.size(tensor):
                last = -1
                continue
            follows = last >= 0 and facts.uses[last].segment == facts.uses[use].segment
            since = place[facts.uses[last].operation] if follows else step
            together = follows and bool((held[tensor, since : step + 1] > 0).all())
            heads[use] = heads[last] if together else use
            last = use
    return heads
