"""Attempts at one part: under a capacity, by searches and CP-SAT in turns; or downwards, by dives.

Each is quick where the other is stuck. Knowledge of searches remains from round to round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from formulations.placement import cpsat
from formulations.placement.greedy import DIVED, LEARNED, SEARCHED, Floats, Order, height
from formulations.placement.parts import Part
from formulations.placement.tree import TreeSearch, searchable
from spmopt.core.params import DEFAULTS, PlacementParams
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

# The shape of the distribution of dives; how long each is, and how many there are, are parameters.
_LOOSE = 10
_REACH = 3  # at most this part of the way to the bound at once
_SHAKEN = (1.0, 0.3, 0.1, 0.03)  # of the buffers, one of them by chance
_NOISE = 0.1  # deviation of the keys of some buffers; half of it for those of all
_HALVES = 4  # of the way to the bound, from which the first dives begin
_CLOSE = 128  # a part of the bound that is close enough for that
_ANEW = 0.03  # deviation of a new start
_TURN = 0.1  # how often to another word


class Attempt:
    """Rounds of looking for offsets of a part under ``capacity``, in small steps.

    Attributes
    ----------
    status
        ``unknown`` until there are offsets, or a proof that there are none.
    offsets : (k,)
        Once found.
    method
        Their source, or the proof that there are none.
    effort
        So far, in nodes of a search or equal work.

    ``exploring`` is for one capacity of several, any of which would do.
    """

    def __init__(self, part: Part, capacity: int, request: Request, *, exploring: bool) -> None:
        self.status = Status.UNKNOWN
        self.offsets: Ints | None = None
        self.method = ""
        self.effort = 0
        self._part, self._capacity, self._request = part, capacity, request
        self._searched = 0
        # Where there is room left, and another height would do, a conflict costs much.
        loose = exploring and capacity > part.load
        self._alone = request.params.placement.alone_nodes * (_LOOSE if loose else 1)
        words = SEARCHED if searchable(part) else ()
        self._searches = {word: TreeSearch(Order(part, word), capacity) for word in words}
        self._rounds = self._go_on()
        # Bytes that live at one time do not fit, wherever they are.
        if part.load > capacity:
            self._end(Status.INFEASIBLE, None, "load")

    def step(self) -> None:
        """The next search of a round, and CP-SAT after the last, while time is left."""
        if not self._over():
            next(self._rounds)

    def _go_on(self) -> Iterator[None]:
        """Rounds: each has twice the nodes, and each turn of CP-SAT three times the conflicts."""
        params, learned = self._request.params.placement, 0
        for number in count():
            nodes = int(params.search_nodes * len(self._part) * 2**number)
            words = list(self._searches)
            for word in words:
                self._search(word, nodes)
                if word != words[-1]:
                    yield
            share = (self.effort - self._searched) / params.learning_share
            enough = self._searched > max(self._alone, share)
            if (enough or not self._searches) and not self._over():
                # Geometric restarts: no limit is far too small for long.
                self._learn(params.conflicts * 3**learned)
                learned += 1
            yield

    def _search(self, word: str, nodes: int) -> None:
        search = self._searches[word]
        before = search.nodes
        status = search.run(nodes, self._request.is_over)
        self._searched += search.nodes - before
        self.effort += search.nodes - before
        # Unless all buffers are rectangles the search does not meet all placements: its end proves
        # nothing.
        if status is Status.INFEASIBLE and not self._part.rectangles:
            del self._searches[word]
        elif status is Status.INFEASIBLE:
            self._end(status, None, "search")
        elif status is Status.FEASIBLE:
            self._end(status, search.offsets, f"search, order {word}")

    def _learn(self, conflicts: int) -> None:
        # A conflict visits most of the sections' members; a tenth of a node is one of them.
        self.effort += len(LEARNED) * conflicts * int(np.count_nonzero(self._part.needs)) // 10
        for word in LEARNED:
            if self._over():
                return
            status, offsets = cpsat.solve(
                self._part,
                self._capacity,
                word,
                conflicts=conflicts,
                time_limit_s=self._request.remaining_s(),
                stop=self._request.is_over,
            )
            if status is not Status.UNKNOWN:
                self._end(status, offsets, "CP-SAT" + f", order {word}" * (offsets is not None))

    def _over(self) -> bool:
        return self.status is not Status.UNKNOWN or self._request.is_over()

    def _end(self, status: Status, offsets: Ints | None, method: str) -> None:
        self.status, self.offsets, self.method = status, offsets, method


class Dives:
    """Many short searches, each in an order that is a shaken copy of the last that was good.

    How long a search takes has a heavy tail: where one is stuck after a million nodes, another, in
    nearly the same order, is through after a few hundred (Gomes, Selman, Crato and Kautz, Journal
    of Automated Reasoning 24, 2000). So each gets few nodes. And near an order that led low others
    do: the key of a buffer is multiplied by a noise, which goes on from that of the last order
    that led as low as any before, and begins anew when it leads no lower for long.

    Attributes
    ----------
    nodes
        Of all of them so far.
    """

    def __init__(self, part: Part, params: PlacementParams = DEFAULTS.placement) -> None:
        self.nodes, self._params = 0, params
        self._part = part
        self._random = np.random.default_rng(0)
        self._count = self._began = self._lowered = 0
        self._word = ""
        self._noise = np.zeros(0)
        self._level = 0

    def dive(self, bound: int, best: int, stop: Callable[[], bool]) -> tuple[str, Ints] | None:
        """Search once, above ``bound``; return how, and offsets (k,).

        ``best`` is the least height known, from which a new start is not too far.
        """
        since = self._count - self._lowered
        if not self._level or since > max(
            self._params.stale_dives, (self._count - self._began) // 2
        ):
            self._began = self._lowered = self._count
            self._word, self._level = "", best + (best - bound) // 2
        level = self._level
        reach = (level - bound) // _REACH + 1
        capacity = max(bound, level - int(reach * self._random.random() ** 2))
        if not self._word and not self._began:
            # Where it is easy to come close, that is known after a few dives.
            reach = max((best - bound) >> max(0, _HALVES - self._count // 2), bound // _CLOSE)
            capacity = bound + min(reach, best - bound)
        word, noise = self._shake()
        search = TreeSearch(Order(self._part, word, np.exp(noise)), capacity)
        self._count += 1
        status = search.run(int(self._params.dive_nodes * noise.size), stop)
        self.nodes += search.nodes
        if status is not Status.FEASIBLE:
            return None
        self._word, self._noise = word, noise
        found = height(self._part, search.offsets)
        if found < level:
            self._level, self._lowered = found, self._count
        return f"dive, order {word}", search.offsets

    def _shake(self) -> tuple[str, Floats]:
        """Word and noise (k,) of the next order."""
        random, size = self._random, len(self._part)
        if not self._word:
            if not self._began:
                return DIVED[self._count % 2], np.zeros(size)
            return DIVED[self._count % len(DIVED)], random.normal(0.0, _ANEW, size)
        share = _SHAKEN[random.integers(len(_SHAKEN))]
        deviation = _NOISE if share < 1 else _NOISE / 2
        shaken = random.random(size) < share
        noise: Floats = self._noise + shaken * random.normal(0.0, deviation, size)
        turned = random.random() < _TURN
        return DIVED[random.integers(len(DIVED))] if turned else self._word, noise
