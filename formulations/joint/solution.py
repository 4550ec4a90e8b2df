"""From a solution to a schedule in full, and from a residency plan to a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from formulations.joint.facts import JointFacts
from formulations.joint.program import JointProgram, Literal, Number
from spmopt.core.schedule import Commands, Placements, Residency, ResidencyPlan, Schedule, Steps
from spmopt.core.table import Ints


def decode(
    program: JointProgram, value: Callable[[Number], int], holds: Callable[[Literal], bool]
) -> Schedule:
    """Read a solution, given by functions from variables and literals to their values.

    Nothing is decided here: the step of a command is that of its slot, and in a step commands are
    queued by phase, then by start.
    """
    place = [value(position) for position in program.position]
    # Positions are a permutation: argsort inverts it.
    order = np.argsort(np.array(place, np.int64))
    mapping = [
        next(number for number, chosen in enumerate(mappings) if holds(chosen))
        for mappings in program.mapping
    ]
    residency, steps = [], {}
    for number, interval in enumerate(program.intervals):
        if holds(program.present(number)):
            covered = [place[i] for i in interval.operations if holds(program.covered[number, i])]
            steps[number] = min(covered), max(covered) + 1
            size = program.facts.size(interval.tensor)
            residency.append((interval.tensor, *steps[number], size))
    queue = sorted(
        (
            *(place[slot.operation], slot.phase, value(move.start)),
            *(int(move.kind), move.tensor, 0, program.facts.size(move.tensor), move.fetches),
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
        steps=Steps.listed(np.array(mapping, np.int64)).take(order),
        residency=Residency.of_rows(sorted(residency)),
        commands=Commands.of_rows([(row[0], *row[3:]) for row in queue]),
        placements=Placements.of_rows(
            [(tensor, *pages, *steps) for tensor, steps, pages in sorted(placements)]
        ),
    )


def hint(program: JointProgram, residency_plan: ResidencyPlan) -> Iterator[tuple[Literal, bool]]:
    """Yield literals and their values in a plan: order, mappings, which uses share an interval.

    A tensor that the residency plan holds in part, where it is used, is not resident; one of which
    it lets all go between two uses is in two intervals.
    """
    place = np.argsort(residency_plan.steps.operation).tolist()
    for (one, other), literal in program.order.items():
        if one < other:
            yield literal, place[one] < place[other]
    for step, operation in enumerate(residency_plan.steps.operation.tolist()):
        if len(program.mapping[operation]) > 1:
            for number, literal in enumerate(program.mapping[operation]):
                yield literal, number == int(residency_plan.steps.mapping[step])
    heads = _heads(program.facts, residency_plan, place)
    for (use, interval), literal in program.member.items():
        yield literal, heads.get(use) == program.intervals[interval].head


def decide_residency(
    program: JointProgram,
    other: JointProgram,
    value: Callable[[Number], int],
    holds: Callable[[Literal], bool],
) -> Iterator[tuple[Literal, bool]]:
    """Yield literals of ``program`` and their values in a solution of ``other``.

    ``other`` is of the same problem: its relaxation, or in one order only.
    """
    place = [value(position) for position in other.position]
    for (one, later), literal in program.order.items():
        if one < later:
            yield literal, place[one] < place[later]
    for ours, theirs in zip(program.mapping, other.mapping, strict=True):
        if len(ours) > 1:
            yield from zip(ours, map(holds, theirs), strict=True)
    for key, literal in program.member.items():
        member = other.member.get(key)
        yield literal, member is not None and holds(member)
    for version, store in program.store.items():
        yield store.present, holds(other.store[version].present)


def _heads(facts: JointFacts, residency_plan: ResidencyPlan, place: list[int]) -> dict[int, int]:
    """Return the first use of the interval that each resident use is in."""
    held: Ints = np.zeros((len(facts.of_tensor), facts.operations), np.int64)
    for tensor, begin, end, size_bytes in residency_plan.residency.rows():
        held[tensor, begin:end] = size_bytes
    heads: dict[int, int] = {}
    for tensor, uses in enumerate(facts.of_tensor):
        last = -1
        for use in sorted(uses, key=lambda use: place[facts.uses[use].operation]):
            step = place[facts.uses[use].operation]
            # The model holds tensors whole: a part counts as absent.
            if held[tensor, step] < facts.size(tensor):
                last = -1
                continue
            follows = last >= 0 and facts.uses[last].segment == facts.uses[use].segment
            since = place[facts.uses[last].operation] if follows else step
            together = follows and bool((held[tensor, since : step + 1] > 0).all())
            heads[use] = heads[last] if together else use
            last = use
    return heads
