"""Placements at once, one buffer after the other, each where it fits.

First fit: the lowest offset. Best fit: the tightest hole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.placement.parts import Part
from spmopt.core.table import Ints

_ENDLESS = 1 << 61  # the room above all buffers; no sum of two leaves 64 bits


def fits(part: Part) -> Iterator[tuple[str, Ints]]:
    """Names of ways and offsets, way by way; those with buffers that overlap are left out."""
    for word in FITTED:
        order = Order(part, word).arrange_all()
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


@dataclass(frozen=True, slots=True)
class Order:
    """An order of the buffers of ``part``: keys by ``word``, multiplied by ``noise`` (k,) if any.

    Ties remain as they stand.
    """

    part: Part
    word: str
    noise: Floats | None = None

    def arrange(self, which: Ints, totals: Ints, origin: int = 0) -> Ints:
        """Buffers ``which``, where ``totals`` are the needs of the sections from ``origin`` on."""
        keys = [self._key(letter, which, totals, origin) for letter in reversed(self.word)]
        if self.noise is not None:
            shaken: Ints = which[np.lexsort([key * self.noise[which] for key in keys])]
            return shaken
        arranged: Ints = which[np.lexsort(keys)]
        return arranged

    def arrange_all(self) -> Ints:
        """All buffers."""
        return self.arrange(np.arange(len(self.part)), self.part.needs.sum(axis=0))

    def _key(self, letter: str, which: Ints, totals: Ints, origin: int) -> Ints:
        part = self.part
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
