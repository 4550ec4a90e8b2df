"""One part under one capacity: searches and CP-SAT in turns, each round with twice the effort.

Each is quick where the other is stuck. What searches learned stays from round to round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from time import monotonic

import numpy as np

from formulations.placement.branch import Ground
from formulations.placement.orders import LEARNED, SEARCHED
from formulations.placement.part import Part
from formulations.placement.sat import Answer, Learner
from formulations.placement.search import End, Search, searchable
from spmopt.core.table import Ints

_NODES, _CONFLICTS = 1.3, 80
_LAST_ROUND = 16  # the last with more effort than the one before
_ALONE = 24_000  # nodes that cost as much as loading the solver
_SHARE = 3  # most that learning may cost, in what searching did
_LOOSE = 10  # times as many where there is room left, and a conflict is dear


class Verdict(Enum):
    """What is known of a part under a capacity."""

    OPEN = "open"
    FOUND = "found"
    INFEASIBLE = "infeasible"  # proved


Better = Callable[[int | None, int], None]
"""Told the least height found, once all buffers have offsets, and a bound on it; bytes."""


def unheard(height_bytes: int | None, bound_bytes: int) -> None:
    """Nobody listens."""
    del height_bytes, bound_bytes


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When to stop: after some time, or when told to; and who is told what was found until then."""

    time_limit_s: float
    stop: Callable[[], bool] = bool  # never
    better: Better = unheard
    begun_s: float = field(default_factory=monotonic)

    def left_s(self) -> float:
        """Seconds left, 0 when told to stop."""
        return 0.0 if self.stop() else max(0.0, self.begun_s + self.time_limit_s - monotonic())

    def spent_s(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.begun_s

    def over(self) -> bool:
        """Whether none are."""
        return self.left_s() <= 0


@dataclass(frozen=True)
class Tools:
    """What all hunts and dives of one part share."""

    part: Part

    @cached_property
    def ground(self) -> Ground | None:
        """For searches, if there can be any."""
        return Ground.of(self.part) if searchable(self.part) else None

    @cached_property
    def learner(self) -> Learner:
        """For CP-SAT."""
        return Learner(self.part)


class Hunt:
    """Rounds of looking for offsets of a part under ``capacity``, in small steps.

    Attributes
    ----------
    offsets : (k,)
        Once found.
    method
        What found them, or proved that there are none.
    effort
        So far, in nodes of a search or what takes as long.

    ``exploring`` is for one capacity of several, any of which would do.
    """

    def __init__(self, tools: Tools, capacity: int, *, exploring: bool = False) -> None:
        self.verdict = Verdict.OPEN
        self.offsets: Ints | None = None
        self.method = ""
        self.effort = 0
        self._part = part = tools.part
        self._learner = tools.learner
        self._capacity = capacity
        self._round = self._learned = self._searched = 0
        self._alone = _ALONE * (_LOOSE if exploring and capacity > part.load else 1)
        self._nodes = 0
        self._searches: dict[str, Search] = {}
        self._waiting: list[str] = []
        if part.load > capacity:
            self.verdict, self.method = Verdict.INFEASIBLE, "load"
        elif (ground := tools.ground) is not None:
            self._searches = {w: Search(ground.ordered(w), capacity) for w in SEARCHED}

    def step(self, limit: Limit) -> None:
        """The next search of a round, and CP-SAT after the last, if open and within ``limit``."""
        if self._over(limit):
            return
        if not self._waiting:
            self._nodes = int(_NODES * len(self._part) * 2 ** min(self._round, _LAST_ROUND))
            self._round += 1
            self._waiting = list(self._searches)
        if self._waiting:
            self._search(self._waiting.pop(0), limit)
        learned = self.effort - self._searched
        enough = self._searched > max(self._alone, learned / _SHARE)
        if not self._waiting and (enough or not self._searches) and not self._over(limit):
            self._learn(limit)

    def _search(self, word: str, limit: Limit) -> None:
        search = self._searches[word]
        before = search.nodes
        end = search.run(self._nodes, limit.over)
        self._searched += search.nodes - before
        self.effort += search.nodes - before
        if end is End.FOUND:
            self._found(search.offsets, f"search, order {word}")
        elif end is End.EXHAUSTED and self._part.rectangles:
            self.verdict, self.method = Verdict.INFEASIBLE, "search"
        elif end is End.EXHAUSTED:
            del self._searches[word]

    def _learn(self, limit: Limit) -> None:
        conflicts = _CONFLICTS * 3 ** min(self._learned, _LAST_ROUND)
        self._learned += 1
        # A conflict visits most of the sections' members; a tenth of a node is one of them.
        self.effort += len(LEARNED) * conflicts * np.count_nonzero(self._part.needs) // 10
        for word in LEARNED:
            if self._over(limit):
                return
            answer, offsets = self._learner.solve(
                self._capacity,
                word,
                conflicts=conflicts,
                time_limit_s=limit.left_s(),
                stop=limit.over,
            )
            if offsets is not None:
                self._found(offsets, f"CP-SAT, order {word}")
            elif answer is Answer.INFEASIBLE:
                self.verdict, self.method = Verdict.INFEASIBLE, "CP-SAT"

    def _over(self, limit: Limit) -> bool:
        return self.verdict is not Verdict.OPEN or limit.over()

    def _found(self, offsets: Ints, method: str) -> None:
        self.verdict, self.offsets, self.method = Verdict.FOUND, offsets, method
