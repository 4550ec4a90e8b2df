"""Orders in which buffers are tried, the most awkward first.

An order is a word; its letters are what counts first, second, ... (those of MiniMalloc, and more):
T the fullest section that the buffer is in, A area, W duration, Z size, L latest begin, E
earliest begin; a word of a digit is a random order with that seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from formulations.placement.part import Part
from spmopt.core.table import Ints

SEARCHED = ("TWA", "WAT", "TAW", "L", "E")
LEARNED = ("TWA", "WAT", "TAW")
FITTED = ("WZ", "A", "Z", "TA", "E", "L")


def arrange(part: Part, word: str) -> Ints:
    """Buffers of ``part`` in the order ``word``; ties as they stand."""
    if word.isdigit():
        # By identity, so that what is left of a part keeps the order of the whole.
        draw = np.random.default_rng(int(word)).random(int(part.ids.max(initial=0)) + 1)
        return np.argsort(draw[part.ids])
    keys = [_KEYS[letter](part) for letter in reversed(word)]
    return np.lexsort(keys)


def _fullest(part: Part) -> Ints:
    totals = part.needs.sum(axis=0)
    most: Ints = np.where(part.needs > 0, totals, 0).max(axis=1, initial=0)
    return -most


_KEYS: Mapping[str, Callable[[Part], Ints]] = {
    "A": lambda part: -part.size * (part.upper - part.lower),
    "E": lambda part: part.lower,
    "L": lambda part: -part.lower,
    "T": _fullest,
    "W": lambda part: part.lower - part.upper,
    "Z": lambda part: -part.size,
}
