"""A plan as a hint: its order, its modes, and which uses are together in one stay."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.joint.facts import Facts
from formulations.joint.program import Literal, Program
from spmopt.core.schedule import Plan
from spmopt.core.table import Ints


def hinted(program: Program, plan: Plan) -> Iterator[tuple[Literal, bool]]:
    """Literals and what the plan says of them.

    A tensor that the plan holds in part, where it is used, is not resident; one of which it
    lets all go between two uses is in two stays.
    """
    place = np.argsort(plan.operation).tolist()
    for (one, other), literal in program.order.items():
        if one < other:
            yield literal, place[one] < place[other]
    for step, operation in enumerate(plan.operation.tolist()):
        if len(program.mode[operation]) > 1:
            for number, literal in enumerate(program.mode[operation]):
                yield literal, number == int(plan.mode[step])
    heads = _heads(program.facts, plan, place)
    for (use, stay), literal in program.member.items():
        yield literal, heads.get(use) == program.stays[stay].head


def _heads(facts: Facts, plan: Plan, place: list[int]) -> dict[int, int]:
    """The first use of the stay that each resident use is in."""
    held = _held(facts, plan)
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


def _held(facts: Facts, plan: Plan) -> Ints:
    """(m, n) Resident bytes."""
    held = np.zeros((len(facts.of_tensor), facts.operations), np.int64)
    rows = plan.residency
    columns = (getattr(rows, name).tolist() for name in ("tensor", "begin", "end", "size_bytes"))
    for tensor, begin, end, size_bytes in zip(*columns, strict=True):
        held[tensor, begin:end] = size_bytes
    return held
