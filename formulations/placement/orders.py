"""Orders in which buffers are tried, the most awkward first.

An order is a word; its letters are what counts first, second, ... (those of MiniMalloc, and more):
T the fullest section that the buffer is in, A area, W duration, Z size, L latest begin, E
earliest begin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.placement.part import Part
from spmopt.core.table import Ints

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

    ``totals`` is what is needed in the sections from ``origin`` on; what counts of a buffer is
    multiplied by its ``noise`` (k,).
    """
    keys = [_key(part, letter, which, totals, origin) for letter in reversed(word)]
    if noise is not None:
        shaken: Ints = which[np.lexsort([key * noise[which] for key in keys])]
        return shaken
    arranged: Ints = which[np.lexsort(keys)]
    return arranged


def arranged(part: Part, word: str) -> Ints:
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
