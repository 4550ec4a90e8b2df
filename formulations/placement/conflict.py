"""Why buffers do not fit under a capacity: the simplest reason that holds, and for how few.

Reasons, simplest first:

1. a fixed offset is no multiple of its alignment;
2. two fixed buffers live at the same time and overlap;
3. a buffer ends past the capacity, wherever it may go;
4. more bytes live at one time than there are;
5. none of these: every way to place them was tried.

The members of a conflict are irreducible: any of them left out, the others fit. Reasons 1 to 3
are so by themselves. For 4 buffers of one time are left out while the rest is too much
still, for 5 while the rest is proved not to fit; 4 needs that proof too where buffers have gaps,
alignments or fixed offsets, because then less than the capacity need not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from spmopt.core.errors import Conflict, Member, irreducible
from spmopt.core.placement import Buffer, Placed, overlap, separation
from spmopt.core.result import Status
from spmopt.core.table import Ints

Decide = Callable[[Sequence[Buffer]], Placed]
"""Whether some of the buffers fit; ``unknown`` once it has no more time."""

_Sized = TypeVar("_Sized", Buffer, Member)
_ADVICE = "give a larger --capacity"


def explain(buffers: Sequence[Buffer], capacity_bytes: int, decide: Decide) -> Conflict:
    """Explain why ``buffers`` do not fit under ``capacity_bytes``.

    Where ``decide`` gives up, members may be left that are not needed: the conflict is then not
    called irreducible.
    """
    found = clash(buffers) or _too_high(buffers, capacity_bytes)
    if found is not None:
        return found
    load = _too_much(buffers, capacity_bytes)
    if load is None:
        return _reduce(buffers, capacity_bytes, decide)
    names = {member.name for member in load.members}
    suspects = [buffer for buffer in buffers if buffer.name in names]
    if not any(b.gaps or b.alignment_bytes > 1 or b.fixed_bytes is not None for b in suspects):
        return load
    found = _reduce(suspects, capacity_bytes, decide)
    return load if found.irreducible and len(found.members) == len(suspects) else found


def clash(buffers: Sequence[Buffer]) -> Conflict | None:
    """Reasons 1 and 2: why the fixed buffers cannot be where they are, if they cannot."""
    return _misalign(buffers) or _overlapping(buffers)


def _reduce(buffers: Sequence[Buffer], capacity_bytes: int, decide: Decide) -> Conflict:
    """Leave out buffers as long as the rest is proved not to fit."""
    certain = True

    def fits(some: Sequence[Buffer]) -> bool:
        nonlocal certain
        status = decide(some).status
        certain &= status is not Status.UNKNOWN
        return status is not Status.INFEASIBLE

    crowd = irreducible(_smallest_first(buffers), fits)[::-1]
    found = _too_high(crowd, capacity_bytes) or _too_much(crowd, capacity_bytes)
    if found is None:
        height = max(decide(crowd).bound_bytes, capacity_bytes + 1)
        found = _try(crowd, capacity_bytes, height)
    return replace(found, irreducible=certain)


def _smallest_first(members: Sequence[_Sized]) -> list[_Sized]:
    """Left out in this order, few are left; from the end, equals are in the order given."""
    return sorted(members, key=lambda member: member.size_bytes, reverse=True)[::-1]


def _misalign(buffers: Sequence[Buffer]) -> Conflict | None:
    for buffer in buffers:
        offset, alignment = buffer.fixed_bytes or 0, buffer.alignment_bytes
        if offset % alignment:
            return Conflict(
                where=f"buffer {buffer.name}",
                need=f"by its alignment of {alignment} the next offset is at",
                required_bytes=-(-offset // alignment) * alignment,
                available_bytes=offset,
                members=(_member(buffer),),
                advice="change its offset or its alignment",
            )
    return None


def _overlapping(buffers: Sequence[Buffer]) -> Conflict | None:
    fixed = [buffer for buffer in buffers if buffer.fixed_bytes is not None]
    pair = overlap(fixed, [buffer.fixed_bytes or 0 for buffer in fixed])
    if pair is None:
        return None
    below, above = sorted((fixed[k] for k in pair), key=lambda buffer: buffer.fixed_bytes or 0)
    return Conflict(
        where=f"buffers {below.name} and {above.name}",
        need=(
            f"at fixed offsets {below.fixed_bytes} and {above.fixed_bytes} they overlap: "
            f"{above.name} must be above by"
        ),
        required_bytes=separation(below, above) or 0,
        available_bytes=(above.fixed_bytes or 0) - (below.fixed_bytes or 0),
        members=(_member(below), _member(above)),
        time=_common(below, above),
        advice="move one of them",
    )


def _too_high(buffers: Sequence[Buffer], capacity_bytes: int) -> Conflict | None:
    highest = max(buffers, key=_end, default=None)
    if highest is None or _end(highest) <= capacity_bytes:
        return None
    fixed = highest.fixed_bytes
    return Conflict(
        where=f"buffer {highest.name}",
        need="it needs" if fixed is None else f"at its fixed offset {fixed} it ends at",
        required_bytes=_end(highest),
        available_bytes=capacity_bytes,
        members=(_member(highest),),
        advice=_ADVICE,
    )


def _too_much(buffers: Sequence[Buffer], capacity_bytes: int) -> Conflict | None:
    times, load = _loads(buffers)
    if not load.size or int(load.max()) <= capacity_bytes:
        return None
    fullest = int(load.argmax())
    time = int(times[fullest])
    alive = [
        replace(_member(buffer), size_bytes=high - low)
        for buffer in buffers
        for lower, upper, low, high in buffer.pieces
        if lower <= time < upper and high > low
    ]
    crowd = irreducible(
        _smallest_first(alive),
        lambda kept: sum(member.size_bytes for member in kept) <= capacity_bytes,
    )
    return Conflict(
        where=f"time {time}",
        need=f"the {len(alive)} buffers that live then need",
        required_bytes=int(load[fullest]),
        available_bytes=capacity_bytes,
        members=tuple(reversed(crowd)),
        time=(time, time + 1),
        advice=_ADVICE,
    )


def _try(buffers: Sequence[Buffer], capacity_bytes: int, height_bytes: int) -> Conflict:
    return Conflict(
        where=f"{len(buffers)} buffers",
        need="however they are placed, they need at least",
        required_bytes=height_bytes,
        available_bytes=capacity_bytes,
        members=tuple(map(_member, buffers)),
        time=(min(b.lower for b in buffers), max(b.upper for b in buffers)),
        advice=_ADVICE,
    )


def _loads(buffers: Sequence[Buffer]) -> tuple[Ints, Ints]:
    """Times at which the load changes, and the bytes that live from then on."""
    pieces = [piece for buffer in buffers for piece in buffer.pieces]
    table = np.array(pieces, dtype=np.int64).reshape(-1, 4)
    times, place = np.unique(np.concatenate((table[:, 0], table[:, 1])), return_inverse=True)
    size = table[:, 3] - table[:, 2]
    change = np.zeros(times.size, np.int64)
    np.add.at(change, place, np.concatenate((size, -size)))
    return times, np.cumsum(change)


def _common(one: Buffer, other: Buffer) -> tuple[int, int] | None:
    """Times from when until when both need bytes; None if they never do."""
    shared = [
        (max(a[0], b[0]), min(a[1], b[1]))
        for a in one.pieces
        for b in other.pieces
        if max(a[0], b[0]) < min(a[1], b[1])
    ]
    return (shared[0][0], shared[-1][1]) if shared else None


def _end(buffer: Buffer) -> int:
    return (buffer.fixed_bytes or 0) + buffer.size_bytes


def _member(buffer: Buffer) -> Member:
    return Member(
        name=buffer.name,
        size_bytes=buffer.size_bytes,
        lifetime=(buffer.lower, buffer.upper),
        offset_bytes=buffer.fixed_bytes,
    )
