"""Many short searches, each in an order that is a shaken copy of the last that was good.

How long a search takes has a heavy tail: where one is stuck after a million nodes, another, in
nearly the same order, is through after a few hundred (Gomes, Selman, Crato and Kautz, Journal of
Automated Reasoning 24, 2000). So each gets few nodes. And near an order that led low others do:
what counts of a buffer is multiplied by a noise, which goes on from that of the last order that
led as low as any before, and begins anew when it leads no lower for long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.placement.branch import Ground
from formulations.placement.greedy import height
from formulations.placement.orders import DIVED, Floats
from formulations.placement.search import End, Search
from spmopt.core.table import Ints

_NODES = 1.5  # for each buffer
_REACH = 3  # at most this part of the way to the bound at once
_SHAKES = ((1.0, 0.05), (0.3, 0.1), (0.1, 0.1), (0.03, 0.1))  # share of buffers, deviation
_HALVES = 4  # of the way to the bound, from which the first dives begin
_CLOSE = 128  # a part of the bound that is close enough for that
_ANEW = 0.03  # deviation of a new start
_TURN = 0.1  # how often to another word
_STALE = 25  # dives at least that lead no lower, before a new start


class Dives:
    """Searches of one part.

    Attributes
    ----------
    nodes
        Of all of them so far.
    """

    def __init__(self, ground: Ground) -> None:
        self.nodes = 0
        self._ground = ground
        self._random = np.random.default_rng(0)
        self._count = self._began = self._lowered = 0
        self._word = ""
        self._noise = np.zeros(0)
        self._level = 0

    def dive(self, bound: int, best: int, stop: Callable[[], bool]) -> tuple[str, Ints] | None:
        """Search once, above ``bound``; how, and offsets (k,).

        ``best`` is the least height known, from which a new start is not too far.
        """
        since = self._count - self._lowered
        if not self._level or since > max(_STALE, (self._count - self._began) // 2):
            self._began = self._lowered = self._count
            self._word, self._level = "", best + (best - bound) // 2
        level = self._level
        reach = (level - bound) // _REACH + 1
        capacity = max(bound, level - int(reach * self._random.random() ** 2))
        if not self._word and not self._began:
            # Where it is easy to come close, that is known after a few dives.
            reach = max((best - bound) >> max(0, _HALVES - self._count // 2), bound // _CLOSE)
            capacity = bound + min(reach, best - bound)
        word, noise = self._shaken()
        search = Search(self._ground.ordered(word, np.exp(noise)), capacity)
        self._count += 1
        end = search.run(int(_NODES * noise.size), stop)
        self.nodes += search.nodes
        if end is not End.FOUND:
            return None
        self._word, self._noise = word, noise
        found = height(self._ground.part, search.offsets)
        if found < level:
            self._level, self._lowered = found, self._count
        return f"dive, order {word}", search.offsets

    def _shaken(self) -> tuple[str, Floats]:
        """Word and noise (k,) of the next order."""
        random, size = self._random, len(self._ground.part)
        if not self._word:
            if not self._began:
                return DIVED[self._count % 2], np.zeros(size)
            return DIVED[self._count % len(DIVED)], random.normal(0.0, _ANEW, size)
        share, deviation = _SHAKES[random.integers(len(_SHAKES))]
        shaken = random.random(size) < share
        noise: Floats = self._noise + shaken * random.normal(0.0, deviation, size)
        turned = random.random() < _TURN
        return DIVED[random.integers(len(DIVED))] if turned else self._word, noise
