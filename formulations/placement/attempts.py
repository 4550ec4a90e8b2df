"""Attempts at one part: under a capacity, by searches and CP-SAT in turns; or downwards, by dives.

Each is quick where the other is stuck. Knowledge of searches remains from round to round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic

import numpy as np

from formulations.placement.branch import ScaledPart
from formulations.placement.cpsat import CpSat
from formulations.placement.greedy import DIVED, LEARNED, SEARCHED, Floats, height
from formulations.placement.parts import Part, Verdict
from formulations.placement.tree import TreeSearch, searchable
from spmopt.core.params import DEFAULTS, PlacementParams
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

OnImproved = Callable[[int | None, int], None]
"""Told the least height found, once all buffers have offsets, and a bound on it; bytes."""


@dataclass(frozen=True, kw_only=True)
class SearchLimit:
    """When to stop: after some time, or when told to; a callback for results until then."""

    time_limit_s: float
    params: PlacementParams = DEFAULTS.placement
    stop: Callable[[], bool] = bool  # never
    on_improved: OnImproved = lambda height_bytes, bound_bytes: None
    begun_s: float = field(default_factory=monotonic)

    def remaining_s(self) -> float:
        """Seconds left, 0 when told to stop."""
        return 0.0 if self.stop() else max(0.0, self.begun_s + self.time_limit_s - monotonic())

    def seconds_spent(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.begun_s

    def over(self) -> bool:
        """Whether none are left."""
        return self.remaining_s() <= 0


class PartProgress:
    """The lowest offsets found of a part, and the attempts at it.

    Attributes
    ----------
    offsets : (k,)
        Once found; ``method`` is their source.
    height
        Of these.
    under
        Attempts by capacity.
    """

    def __init__(self, part: Part, params: PlacementParams = DEFAULTS.placement) -> None:
        self.part, self.params = part, params
        self.offsets: Ints | None = None
        self.height = 0
        self.method = ""
        self.under: dict[int, CapacityAttempt] = {}

    def reaches(self, capacity: int) -> bool:
        """Whether offsets under ``capacity`` are known."""
        return self.offsets is not None and self.height <= capacity

    @cached_property
    def in_scale(self) -> ScaledPart | None:
        """For searches, if there can be any."""
        return ScaledPart.of(self.part) if searchable(self.part) else None

    @cached_property
    def cpsat(self) -> CpSat:
        """For CP-SAT."""
        return CpSat(self.part)

    @cached_property
    def dives(self) -> Dives | None:
        """Dives, if there can be any."""
        return None if self.in_scale is None else Dives(self.in_scale, self.params)


class CapacityAttempt:
    """Rounds of looking for offsets of a part under ``capacity``, in small steps.

    Attributes
    ----------
    offsets : (k,)
        Once found.
    method
        Their source, or the proof that there are none.
    effort
        So far, in nodes of a search or equal work.

    ``exploring`` is for one capacity of several, any of which would do.
    """

    def __init__(self, of: PartProgress, capacity: int, *, exploring: bool = False) -> None:
        self.verdict = Verdict.OPEN
        self.offsets: Ints | None = None
        self.method = ""
        self.effort = 0
        self._part = part = of.part
        self._cpsat = of.cpsat
        self._capacity = capacity
        self._round = self._learned = self._searched = 0
        self._params = params = of.params
        # Where there is room left, and another height would do, a conflict costs much.
        loose = exploring and capacity > part.load
        self._alone = params.alone_nodes * (_LOOSE if loose else 1)
        self._nodes = 0
        self._searches: dict[str, TreeSearch] = {}
        self._waiting: list[str] = []
        # Bytes that live at one time do not fit, wherever they are.
        if part.load > capacity:
            self.verdict, self.method = Verdict.INFEASIBLE, "load"
        elif (scaled := of.in_scale) is not None:
            self._searches = {w: TreeSearch(scaled.order(w), capacity) for w in SEARCHED}

    def step(self, limit: SearchLimit) -> None:
        """The next search of a round, and CP-SAT after the last, if open and within ``limit``."""
        if self._over(limit):
            return
        if not self._waiting:
            self._nodes = int(self._params.search_nodes * len(self._part) * 2**self._round)
            self._round += 1
            self._waiting = list(self._searches)
        if self._waiting:
            self._search(self._waiting.pop(0), limit)
        learned = self.effort - self._searched
        enough = self._searched > max(self._alone, learned / self._params.learning_share)
        if not self._waiting and (enough or not self._searches) and not self._over(limit):
            self._learn(limit)

    def _search(self, word: str, limit: SearchLimit) -> None:
        search = self._searches[word]
        before = search.nodes
        verdict = search.run(self._nodes, limit.over)
        self._searched += search.nodes - before
        self.effort += search.nodes - before
        # Unless all buffers are rectangles the search does not meet all placements: its end proves
        # nothing.
        if verdict is Verdict.INFEASIBLE and not self._part.rectangles:
            del self._searches[word]
        elif verdict is not Verdict.OPEN:
            found = verdict is Verdict.FOUND
            method = f"search, order {word}" if found else "search"
            self._end(verdict, search.offsets if found else None, method)

    def _learn(self, limit: SearchLimit) -> None:
        # Geometric restarts: no limit is far too small for long.
        conflicts = self._params.conflicts * 3**self._learned
        self._learned += 1
        # A conflict visits most of the sections' members; a tenth of a node is one of them.
        self.effort += len(LEARNED) * conflicts * np.count_nonzero(self._part.needs) // 10
        for word in LEARNED:
            if self._over(limit):
                return
            verdict, offsets = self._cpsat.solve(
                self._capacity,
                word,
                conflicts=conflicts,
                time_limit_s=limit.remaining_s(),
                stop=limit.over,
            )
            if verdict is not Verdict.OPEN:
                self._end(verdict, offsets, "CP-SAT" + f", order {word}" * (offsets is not None))

    def _over(self, limit: SearchLimit) -> bool:
        return self.verdict is not Verdict.OPEN or limit.over()

    def _end(self, verdict: Verdict, offsets: Ints | None, method: str) -> None:
        self.verdict, self.offsets, self.method = verdict, offsets, method


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

    def __init__(self, scaled: ScaledPart, params: PlacementParams = DEFAULTS.placement) -> None:
        self.nodes, self._params = 0, params
        self._scaled = scaled
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
        search = TreeSearch(self._scaled.order(word, np.exp(noise)), capacity)
        self._count += 1
        verdict = search.run(int(self._params.dive_nodes * noise.size), stop)
        self.nodes += search.nodes
        if verdict is not Verdict.FOUND:
            return None
        self._word, self._noise = word, noise
        found = height(self._scaled.part, search.offsets)
        if found < level:
            self._level, self._lowered = found, self._count
        return f"dive, order {word}", search.offsets

    def _shake(self) -> tuple[str, Floats]:
        """Word and noise (k,) of the next order."""
        random, size = self._random, len(self._scaled.part)
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
