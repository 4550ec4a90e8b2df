"""Placements at once, one buffer after the other, each where it fits.

First fit: the lowest offset. Best fit: the tightest hole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from formulations.placement.parts import Part
from spmopt.core.table import Ints

_ENDLESS = 1 << 61  # the room above all buffers; no sum of two leaves 64 bits


def fits(part: Part) -> Iterator[tuple[str, Ints]]:
    """Names of ways and offsets, way by way; those with buffers that overlap are left out."""
    for word in FITTED:
        order = arrange_buffers(part, word)
        order = np.concatenate([order[part.fixed[order] >= 0], order[part.fixed[order] < 0]])
        for best in (True, False):
            offsets = fit(part, order, best=best)
            if offsets is not None:
                yield f"{'best' if best else 'first'} fit, order {word}", offsets


def fit(part: Part, order: Ints, *, best: bool) -> Ints | None:
    """Offsets (k,) of buffers taken in ``order``; None if a fixed one is in the way of another."""
    offsets = np.full(len(part), -1, dtype=np.int64)
    for one in order.tolist():
        others = np.flatnonzero(part.meets[one] & (offsets >= 0))
        below = offsets[others] - part.apart[one, others]
        above = offsets[others] + part.apart[others, one]
        fixed = int(part.fixed[one])
        if fixed >= 0:
            if ((below < fixed) & (fixed < above)).any():
                return None
            offsets[one] = fixed
            continue
        by_room = np.argsort(below)
        step = int(part.alignment[one])
        begin = np.maximum.accumulate(np.concatenate([[0], above[by_room]]))
        begin = -(-begin // step) * step
        room = np.append(below[by_room], _ENDLESS) - begin
        chosen = np.where(room >= 0, room, _ENDLESS).argmin() if best else (room >= 0).argmax()
        offsets[one] = begin[chosen]
    return offsets


def height(part: Part, offsets: Ints) -> int:
    """Where the topmost buffer ends."""
    return int((offsets + part.size).max(initial=0))


Floats = NDArray[np.float64]

SEARCHED = ("TWA", "WAT", "TAW", "L", "E")
LEARNED = ("TWA", "WAT", "TAW")
DIVED = ("TWA", "TE", "WAT", "WZ", "WA")
FITTED = ("Z", "WZ")


def arrange(
    part: Part,
    word: str,
    which: Ints,
    totals: Ints,
    origin: int = 0,
    *,
    noise: Floats | None = None,
) -> Ints:
    """Buffers ``which`` of ``part`` in the order ``word``; ties as they stand.

    ``totals`` are the needs of the sections from ``origin`` on; the key of a buffer is multiplied
    by its ``noise`` (k,).
    """
    keys = [_key(part, letter, which, totals, origin) for letter in reversed(word)]
    if noise is not None:
        shaken: Ints = which[np.lexsort([key * noise[which] for key in keys])]
        return shaken
    arranged: Ints = which[np.lexsort(keys)]
    return arranged


def arrange_buffers(part: Part, word: str) -> Ints:
    """All buffers of ``part`` in the order ``word``."""
    return arrange(part, word, np.arange(len(part)), part.needs.sum(axis=0))


def _key(part: Part, letter: str, which: Ints, totals: Ints, origin: int) -> Ints:
    size, lower, upper = part.size[which], part.lower[which], part.upper[which]
    begun: Ints = lower - part.lower.min()  # noise grows with it
    match letter:
        case "A":
            return -size * (upper - lower)
        case "E":
            return begun
        case "L":
            return -begun
        case "W":
            return lower - upper
        case "Z":
            return -size
    needs = part.needs[which, origin : origin + totals.size]
    fullest: Ints = np.where(needs > 0, totals, 0).max(axis=1, initial=0)
    return -fullest
