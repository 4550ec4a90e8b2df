"""The stays that a schedule may have: at most one for each use, the first use of the stay.

A stay is a run of steps in which a tensor is resident, whole and at one address. Schedules with
these need no others:

* A stay that holds no use of its tensor would load it for nothing.
* Of a stay that goes on over a blind write, what lies before the write and what lies after are
  two stays: the old contents are dead when their last use and store are over.
* A stay ends with its last use or store: what it holds afterwards is in DRAM or dead.
"""

from __future__ import annotations

from dataclasses import dataclass

from formulations.joint.facts import Facts
from spmopt.core.timeline import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A stay that may be, named by its first use.

    Attributes
    ----------
    head
        The first use. Unless it is a blind write, the tensor is loaded for it.
    members
        Uses that may be in the stay, the head included.
    covers
        Operations in whose steps the tensor may be resident, those of the members included.
    issues
        Operations in whose steps the load may be issued.
    """

    head: int
    tensor: int
    pages: int
    loads: bool
    members: tuple[int, ...]
    covers: tuple[int, ...]
    issues: tuple[int, ...]


def possible_stays(facts: Facts) -> tuple[Stay, ...]:
    """All stays of tensors that fit the scratchpad."""
    room = facts.instance.machine.spm_pages
    stays = []
    for head, use in enumerate(facts.uses):
        pages = facts.pages(facts.size(use.tensor))
        if pages <= room:
            stays.append(_stay(facts, head, pages))
    return tuple(stays)


def _stay(facts: Facts, head: int, pages: int) -> Stay:
    use = facts.uses[head]
    same = facts.of_tensor[use.tensor]
    members = tuple(
        other
        for other in same
        if facts.uses[other].segment == use.segment and not facts.use_before(other, head)
    )
    loads = use.kind != Access.WRITE
    covers = tuple(
        operation
        for operation in range(facts.operations)
        if _may_cover(facts, head, members, operation)
    )
    touching = {facts.uses[other].operation for other in same}
    issues = tuple(
        operation
        for operation in covers
        if operation == use.operation
        or (operation not in touching and not facts.before[use.operation, operation])
    )
    return Stay(
        head=head,
        tensor=use.tensor,
        pages=pages,
        loads=loads,
        members=members,
        covers=covers,
        issues=issues if loads else (),
    )


def _may_cover(facts: Facts, head: int, members: tuple[int, ...], operation: int) -> bool:
    """Whether the tensor may be resident in that step, but in no step of a use not in the stay."""
    begin, before = facts.uses[head].operation, facts.before
    if before[operation, begin] and facts.uses[head].kind == Access.WRITE:
        return False
    inside = {facts.uses[member].operation for member in members}
    for other in facts.of_tensor[facts.uses[head].tensor]:
        place = facts.uses[other].operation
        if place in inside:
            continue
        earlier = before[place, begin] and (place == operation or before[operation, place])
        later = before[begin, place] and (place == operation or before[place, operation])
        if place == operation or earlier or later:
            return False
    return True
