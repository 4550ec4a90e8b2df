"""Bases for stays, one after the other; where one does not fit, it is cut as little as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import numpy as np

from formulations.contiguous.memory import Memory, Taken
from formulations.contiguous.stays import Stay
from spmopt.core.table import Ints

_FEW = 3000  # bases looked at
_IDLE = 0.3  # worth of a page between no two uses, one between two being worth 1
_FORBIDDEN = 1e12
_SHAKEN = 0.3  # deviation, of the logarithm

_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

Order = Callable[[Stay], tuple[float, ...]]

ORDERS: Mapping[str, Order] = {
    "peak": lambda stay: (-stay.peak, stay.begin),
    "area": lambda stay: (-stay.area,),
    "begin": lambda stay: (stay.begin, -stay.heights.size),
}
"""Orders in which stays are packed; those with a stationary operand come first in each."""


def shaken(random: np.random.Generator) -> Order:
    """By area, each made greater or less by chance."""
    return lambda stay: (-stay.area * random.lognormal(0.0, _SHAKEN),)


def pack(
    stays: list[Stay], memory: Memory, order: Order, owners: Iterable[int] | None = None
) -> bool:
    """Give each stay a base, cut its heights to fit; false if a stationary operand does not fit.

    A stay goes where the least is lost: pages between two uses, which are then moved again.
    With ``owners`` only these do, and ``memory`` has the others.
    """
    ranks = sorted(
        range(len(stays)) if owners is None else owners,
        key=lambda k: (not stays[k].stationary.size, order(stays[k])),
    )
    complete = True
    for owner in ranks:
        stay = stays[owner]
        taken = memory.around(stay.begin, stay.end, owner)
        bases, loss = _losses(stay, taken, memory.pages)
        best = int(loss.argmin())
        if loss[best] >= _FORBIDDEN:
            complete = False
            continue
        stay.base = int(bases[best])
        stay.heights = cut(stay, _room(stay, taken, memory.pages))
        memory.take(owner, int(stay.base), stay.begin, stay.heights)
    return complete


def _losses(stay: Stay, taken: Taken, pages: int) -> tuple[Ints, _Floats]:
    """Bases, lowest first, and what is lost at each."""
    bases = np.sort(np.concatenate(([0], taken.high, taken.low - stay.peak)))
    bases = bases[(bases >= 0) & (bases < pages) & (np.diff(bases, prepend=-1) > 0)]
    if bases.size > _FEW:
        bases = bases[np.linspace(0, bases.size - 1, _FEW).astype(np.int64)]
    loss = np.zeros(bases.size)
    used = set(stay.uses.tolist())
    for begin, end in pairwise(sorted({stay.begin, *used, stay.end})):
        # To the use at its end, which needs the pages too.
        last = min(end + 1, stay.end)
        wanted = int(stay.heights[begin - stay.begin : last - stay.begin].max())
        worth = 1.0 if begin in used and end in used and end < stay.end else _IDLE
        loss += worth * np.maximum(0, wanted - _room_above(bases, taken, begin, last, pages))
    for step in stay.stationary.tolist():
        full = stay.heights[step - stay.begin]
        short = _room_above(bases, taken, step, step + 1, pages) < full
        loss[short] += _FORBIDDEN
    return bases, loss


def _room_above(bases: Ints, taken: Taken, begin: int, end: int, pages: int) -> Ints:
    """Pages from each base on that are free in all steps ``[begin, end)``."""
    low, high = taken.where((taken.begin < end) & (taken.end > begin)).free_runs(pages)
    if not low.size:
        return np.zeros_like(bases)
    run = np.searchsorted(low, bases, side="right") - 1
    room: Ints = np.where(run >= 0, high[np.maximum(run, 0)] - bases, 0)
    return np.maximum(room, 0)


def _room(stay: Stay, taken: Taken, pages: int) -> Ints:
    """Pages from the base on that are free in each step of the stay."""
    room = np.full(stay.heights.size, pages - stay.base)
    above = taken.high > stay.base
    limits = np.maximum(taken.low[above] - stay.base, 0)
    begin = np.maximum(taken.begin[above] - stay.begin, 0)
    end = np.minimum(taken.end[above] - stay.begin, room.size)
    binding = np.flatnonzero(limits < stay.peak)
    for k in binding[np.argsort(-limits[binding], kind="stable")].tolist():
        room[begin[k] : end[k]] = limits[k]
    return room


def cut(stay: Stay, room: Ints) -> Ints:
    """Heights within ``room``: what is cut off comes back at a use, or as it first came."""
    if (stay.heights <= room).all():
        return stay.heights
    wanted, uses = stay.heights.tolist(), set((stay.uses - stay.begin).tolist())
    heights = []
    held = before = 0
    for k, (height, limit) in enumerate(zip(wanted, room.tolist(), strict=True)):
        grown = height if k in uses else held + max(0, height - before)
        held = min(height, limit, grown)
        before = height
        heights.append(held)
    return np.array(heights, np.int64)
